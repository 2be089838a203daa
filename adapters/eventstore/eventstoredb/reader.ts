import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Position, ReadRange, StoredEvent } from "../port.ts"
import { comparePositions, later, START, Unavailable } from "../port.ts"
import type { Connection } from "./connection.ts"
import type { Session } from "./session.ts"
import { checkNotHidden, MOST_REDIRECTS, NotLeader, refusal } from "./session.ts"
import {
  allRequest,
  newestRequest,
  streamRequest,
  settingsStream,
  storedEvent,
} from "./read-requests.ts"

/** A node that answers, and sends nothing of what it was asked for, is given up after so many silences. */
const MOST_SILENCES = 6

/** With so many new events or more it is quicker to ask for the newest than to read them. */
const FEW_EVENTS = 64

/** Which of the events that the server sends are wanted, and how far. */
interface Wanted {
  readonly limit: number
  readonly has: (event: StoredEvent) => boolean
  /** The last place that is wanted. */
  readonly upTo: Position | null
  /** What the node must have, in addition to what was known before the question. */
  readonly holds: Position
  /** Whether the server may look at any number of events before it finds one. */
  readonly isSearch: boolean
  /** Ends it early, as if nothing more came. */
  readonly signal: AbortSignal | undefined
}

const EVERYTHING: Wanted = {
  limit: Number.POSITIVE_INFINITY,
  has: () => true,
  upTo: null,
  holds: START,
  isSearch: false,
  signal: undefined,
}

/** Which part of all streams to read. */
interface AllRange {
  readonly after: Position
  readonly upTo: Position
  readonly prefixes?: readonly string[] | undefined
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads events in pages; while the reader is busy with one the next one comes. What was read stands
 * only once the read has come to its end: a node that turns out to be behind has shown too little.
 */
export class Reader {
  readonly #connection: Connection
  readonly #timeoutMs: number
  /** The first search for the newest event, while it lasts. */
  #searching: Promise<void> | null = null

  /** When nothing came for `timeoutMs`, the node is asked whether it is there; it has as long for it. */
  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** One stream. @throws Unavailable, AccessDenied, DamagedStream */
  async *read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    // No stream has this name, and the server has no answer for it that says so.
    if (stream === "") return
    const limit = range.limit ?? EVERYTHING.limit
    let isEmpty = true
    for await (const page of this.#pages(streamRequest(stream, range), { ...EVERYTHING, limit })) {
      isEmpty = false
      yield page
    }
    const isFromStart = range.direction !== "backwards" && (range.from ?? 0) === 0
    if (isEmpty && isFromStart) await this.#checkNew(stream)
  }

  /**
   * Sees that a stream of which nothing is shown was never there. One that was deleted, and not for good,
   * looks the same, and would be begun a second time; what it was told is in its settings.
   *
   * @throws Unavailable, AccessDenied, DamagedStream
   */
  async #checkNew(stream: string): Promise<void> {
    const newest = streamRequest(settingsStream(stream), { direction: "backwards", limit: 1 })
    for await (const [settings] of this.#pages(newest, { ...EVERYTHING, limit: 1 })) {
      checkNotHidden(stream, settings)
    }
  }

  /** All streams strictly after a place, up to and with another. @throws Unavailable, AccessDenied */
  async *all(range: AllRange): AsyncGenerator<readonly StoredEvent[]> {
    const { after, upTo, prefixes, limit = EVERYTHING.limit, signal } = range
    if (comparePositions(after, upTo) >= 0 || prefixes?.length === 0) return
    yield* this.#pages(allRequest(after, prefixes), {
      limit,
      has: ({ position }) => comparePositions(position, after) > 0,
      upTo,
      holds: upTo,
      isSearch: true,
      signal,
    })
  }

  /**
   * The place of the newest event that is not the server's own, `START` when there is none, or when the
   * signal aborts before it is known. Only what is behind the place known so far is looked at: there may
   * be a million of the server's own events at the end.
   *
   * @throws Unavailable, AccessDenied
   */
  async head(signal?: AbortSignal): Promise<Position> {
    const { known } = this.#connection
    // The first search may step over a million events: callers of that time search after what it finds.
    while (known.end === START && this.#searching !== null) await this.#searching
    if (known.end !== START) return this.#newestPlace(signal)
    const searching = this.#newestPlace(signal)
    this.#searching = searching.then(
      () => undefined,
      () => undefined,
    )
    return searching.finally(() => (this.#searching = null))
  }

  async #newestPlace(signal?: AbortSignal): Promise<Position> {
    const { known, session } = this.#connection
    const seen = known.newest
    const { end, node } = await session.end(2 * this.#timeoutMs)
    await node.hold(seen)
    const from = known.end
    if (comparePositions(end, from) <= 0) return known.newest
    let found = 0
    if (from !== START) {
      for await (const page of this.all({ after: from, upTo: end, limit: FEW_EVENTS, signal })) {
        found += page.length
      }
    }
    if (from === START || found === FEW_EVENTS) {
      const wanted = { ...EVERYTHING, limit: 1, isSearch: true, holds: end, signal }
      const newest = this.#pages(newestRequest(), wanted)
      while ((await newest.next()).done !== true);
    }
    // Whoever was called off has not looked at all of it.
    if (signal?.aborted !== true) known.searchedTo(end)
    return known.newest
  }

  /** A node that does not lead is asked for nothing: the session knows by then which one does. */
  async *#pages(request: ReadReq, wanted: Wanted): AsyncGenerator<readonly StoredEvent[]> {
    for (let tries = 1; ; tries += 1) {
      let isBegun = false
      try {
        for await (const page of this.#pagesOnce(request, wanted)) {
          isBegun = true
          yield page
        }
        return
      } catch (error) {
        if (!(error instanceof NotLeader) || isBegun || tries > MOST_REDIRECTS) throw error
      }
    }
  }

  async *#pagesOnce(request: ReadReq, wanted: Wanted): AsyncGenerator<readonly StoredEvent[]> {
    const { session, known } = this.#connection
    const seen = known.newest
    const flow = new PageFlow(wanted.limit)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const begun = grpc.read(request, ...parameters)
      flow.from(begun)
      begun.on("data", (answer: ReadResp) => take(answer, wanted, flow))
      return begun
    })
    const end = (): void => flow.end()
    wanted.signal?.addEventListener("abort", end)
    if (wanted.signal?.aborted === true) end()
    const onSilence = this.#giverUp(session, wanted, flow)
    try {
      for (;;) {
        const page = await flow.next(this.#timeoutMs, onSilence)
        const [first, last] = [page?.[0], page?.at(-1)]
        if (page === null || first === undefined || last === undefined) break
        if (!isServersOwn(first)) node.saw(later(first.position, last.position), page)
        yield page
      }
      if (wanted.signal?.aborted !== true) await node.hold(later(seen, wanted.holds))
    } finally {
      // A call that was not read to its end would keep the client from going.
      call.cancel()
      wanted.signal?.removeEventListener("abort", end)
    }
  }

  /**
   * What is done when nothing comes. A server that looks through millions of other people's events has
   * nothing to send, and one that is busy takes its time: a node that answers another question
   * meanwhile is there.
   */
  #giverUp(session: Session, { isSearch }: Wanted, flow: PageFlow): () => void {
    let silences = 0
    return () => {
      silences += 1
      if (!isSearch && silences > MOST_SILENCES) {
        session.retire()
        const silentMs = silences * this.#timeoutMs
        flow.fail(new Unavailable(`the event store sent nothing for ${silentMs} ms`))
        return
      }
      session.end(this.#timeoutMs).catch((cause: Error) => flow.fail(cause))
    }
  }
}

/** Streams whose names begin so are the server's own. */
function isServersOwn({ stream }: StoredEvent): boolean {
  return stream.startsWith("$")
}

/** Hands an event on if it is wanted. */
function take(answer: ReadResp, wanted: Wanted, flow: PageFlow): void {
  const record = answer.getEvent()?.getEvent()
  if (record === undefined) return
  const event = storedEvent(record)
  if (wanted.upTo !== null && comparePositions(event.position, wanted.upTo) > 0) flow.end()
  else if (wanted.has(event)) flow.push(event)
}

/** A page is given when it has so many events, or so many characters of text. */
const PAGE_EVENTS = 500
const PAGE_CHARACTERS = 1024 * 1024

/** As much of a call as a flow uses. */
interface Source {
  readonly on: (event: "error" | "end", listener: (cause: Error) => void) => unknown
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly cancel: () => void
}

/**
 * The way of events from a call, which sends as fast as it can, to a reader who takes a page at a
 * time. One page waits; the call is paused while it is full.
 */
class PageFlow {
  #left: number
  #source: Source | null = null
  #page: StoredEvent[] = []
  #characters = 0
  #isOver = false
  #failure: Error | null = null
  #received = 0
  #wake: () => void = () => undefined

  /** It ends by itself after `limit` events. */
  constructor(limit: number) {
    this.#left = limit
  }

  /** Takes its end and its failure from this call; pauses it, and breaks it off at the end. */
  from(source: Source): void {
    this.#source = source
    source.on("error", (cause) => this.fail(refusal(cause)))
    source.on("end", () => this.end())
  }

  /** Adds an event, unless it has ended. */
  push(event: StoredEvent): void {
    if (this.#isOver) return
    this.#received += 1
    this.#page.push(event)
    this.#characters += event.data.length + event.metadata.length
    this.#left -= 1
    if (this.#left === 0) this.end()
    if (!this.#isFull()) return
    this.#source?.pause()
    this.#wake()
  }

  /** Nothing more is wanted, or nothing more comes. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    // Else the server would go on sending while the reader is busy with the last page.
    this.#source?.cancel()
    this.#wake()
  }

  /** The reader is told instead of being given what is left. */
  fail(cause: Error): void {
    if (!this.#isOver) this.#failure = cause
    this.end()
  }

  /**
   * The next page; null behind the last. `onSilence` is called whenever the reader waited for
   * `timeoutMs` and nothing came.
   *
   * @throws Unavailable, AccessDenied
   */
  async next(timeoutMs: number, onSilence: () => void): Promise<readonly StoredEvent[] | null> {
    while (!this.#isOver && !this.#isFull()) await this.#something(timeoutMs, onSilence)
    if (this.#failure !== null) throw this.#failure
    const page = this.#page
    this.#page = []
    this.#characters = 0
    if (!this.#isOver) this.#source?.resume()
    return page.length === 0 ? null : page
  }

  #isFull(): boolean {
    return this.#page.length >= PAGE_EVENTS || this.#characters >= PAGE_CHARACTERS
  }

  /** Waits for a full page or the end. */
  async #something(timeoutMs: number, onSilence: () => void): Promise<void> {
    let received = this.#received
    const timer = setInterval(() => {
      if (this.#received === received) onSilence()
      received = this.#received
    }, timeoutMs)
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    clearInterval(timer)
  }
}
