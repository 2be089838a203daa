import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Position, ReadRange, StoredEvent } from "../port.ts"
import { comparePositions, laterPosition, START, Unavailable } from "../port.ts"
import type { EventStoreDbConnection } from "./connection.ts"
import type { EventStoreDbSession } from "./session.ts"
import { requireNotHidden, MAX_REDIRECTS, NotLeader, storeErrorFromGrpc } from "./session.ts"
import {
  readAllRequest,
  readNewestRequest,
  readStreamRequest,
  settingsStream,
  toStoredEvent,
} from "./read-requests.ts"

/** A node that answers, and sends nothing of what it was asked for, is given up after so many silences. */
const MAX_SILENCES = 6

/** With so many new events or more it is quicker to ask for the newest than to read them. */
const MAX_EVENTS_TO_HEAD = 64

/** Which of the events that the server sends are wanted, and how far. */
interface ReadScope {
  readonly limit: number
  readonly isWanted: (event: StoredEvent) => boolean
  /** The last place that is wanted. */
  readonly upTo: Position | null
  /** What the node must have, in addition to what was known before the question. */
  readonly requiredPosition: Position
  /** Whether the server may look at any number of events before it finds one. */
  readonly isSearch: boolean
  /** Ends it early, as if nothing more came. */
  readonly signal: AbortSignal | undefined
}

const UNLIMITED_SCOPE: ReadScope = {
  limit: Number.POSITIVE_INFINITY,
  isWanted: () => true,
  upTo: null,
  requiredPosition: START,
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
export class EventStoreDbReader {
  readonly #connection: EventStoreDbConnection
  readonly #timeoutMs: number
  /** The first search for the newest event, while it lasts. */
  #firstHeadSearch: Promise<void> | null = null

  /** When nothing came for `timeoutMs`, the node is asked whether it is there; it has as long for it. */
  constructor(connection: EventStoreDbConnection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** One stream. @throws Unavailable, AccessDenied, CorruptStream */
  async *read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    // No stream has this name, and the server has no answer for it that says so.
    if (stream === "") return
    const limit = range.limit ?? UNLIMITED_SCOPE.limit
    let isEmpty = true
    for await (const page of this.#readPages(readStreamRequest(stream, range), {
      ...UNLIMITED_SCOPE,
      limit,
    })) {
      isEmpty = false
      yield page
    }
    const isFromStart = range.direction !== "backwards" && (range.from ?? 0) === 0
    if (isEmpty && isFromStart) await this.#requireNeverDeleted(stream)
  }

  /**
   * Sees that a stream of which nothing is shown was never there. One that was deleted, and not for good,
   * looks the same, and would be begun a second time; what it was told is in its settings.
   *
   * @throws Unavailable, AccessDenied, CorruptStream
   */
  async #requireNeverDeleted(stream: string): Promise<void> {
    const newest = readStreamRequest(settingsStream(stream), { direction: "backwards", limit: 1 })
    for await (const [settings] of this.#readPages(newest, { ...UNLIMITED_SCOPE, limit: 1 })) {
      requireNotHidden(stream, settings)
    }
  }

  /** All streams strictly after a place, up to and with another. @throws Unavailable, AccessDenied */
  async *readAll(range: AllRange): AsyncGenerator<readonly StoredEvent[]> {
    const { after, upTo, prefixes, limit = UNLIMITED_SCOPE.limit, signal } = range
    if (comparePositions(after, upTo) >= 0 || prefixes?.length === 0) return
    yield* this.#readPages(readAllRequest(after, prefixes), {
      limit,
      isWanted: ({ position }) => comparePositions(position, after) > 0,
      upTo,
      requiredPosition: upTo,
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
    const { knownPositions } = this.#connection
    // The first search may step over a million events: callers of that time search after what it finds.
    while (knownPositions.knownUpTo === START && this.#firstHeadSearch !== null)
      await this.#firstHeadSearch
    if (knownPositions.knownUpTo !== START) return this.#findHead(signal)
    const searching = this.#findHead(signal)
    this.#firstHeadSearch = searching.then(
      () => undefined,
      () => undefined,
    )
    return searching.finally(() => (this.#firstHeadSearch = null))
  }

  async #findHead(signal?: AbortSignal): Promise<Position> {
    const { knownPositions, session } = this.#connection
    const seen = knownPositions.newest
    const { readEnd, node } = await session.readEnd(2 * this.#timeoutMs)
    await node.requirePosition(seen)
    const from = knownPositions.knownUpTo
    if (comparePositions(readEnd, from) <= 0) return knownPositions.newest
    let found = 0
    if (from !== START) {
      for await (const page of this.readAll({
        after: from,
        upTo: readEnd,
        limit: MAX_EVENTS_TO_HEAD,
        signal,
      })) {
        found += page.length
      }
    }
    if (from === START || found === MAX_EVENTS_TO_HEAD) {
      const wanted = {
        ...UNLIMITED_SCOPE,
        limit: 1,
        isSearch: true,
        requiredPosition: readEnd,
        signal,
      }
      const newest = this.#readPages(readNewestRequest(), wanted)
      while ((await newest.next()).done !== true);
    }
    // Whoever was called off has not looked at all of it.
    if (signal?.aborted !== true) knownPositions.noteSearched(readEnd)
    return knownPositions.newest
  }

  /** A node that does not lead is asked for nothing: the session knows by then which one does. */
  async *#readPages(request: ReadReq, wanted: ReadScope): AsyncGenerator<readonly StoredEvent[]> {
    for (let tries = 1; ; tries += 1) {
      let isBegun = false
      try {
        for await (const page of this.#readPagesOnce(request, wanted)) {
          isBegun = true
          yield page
        }
        return
      } catch (error) {
        if (!(error instanceof NotLeader) || isBegun || tries > MAX_REDIRECTS) throw error
      }
    }
  }

  async *#readPagesOnce(
    request: ReadReq,
    wanted: ReadScope,
  ): AsyncGenerator<readonly StoredEvent[]> {
    const { session, knownPositions } = this.#connection
    const seen = knownPositions.newest
    const flow = new PageBuffer(wanted.limit)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const begun = grpc.read(request, ...parameters)
      flow.attach(begun)
      begun.on("data", (answer: ReadResp) => pushIfWanted(answer, wanted, flow))
      return begun
    })
    const end = (): void => flow.end()
    wanted.signal?.addEventListener("abort", end)
    if (wanted.signal?.aborted === true) end()
    const onSilence = this.#createSilenceHandler(session, wanted, flow)
    try {
      for (;;) {
        const page = await flow.takePage(this.#timeoutMs, onSilence)
        const [first, last] = [page?.[0], page?.at(-1)]
        if (page === null || first === undefined || last === undefined) break
        if (!isSystemEvent(first)) node.noteSeen(laterPosition(first.position, last.position), page)
        yield page
      }
      if (wanted.signal?.aborted !== true)
        await node.requirePosition(laterPosition(seen, wanted.requiredPosition))
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
  #createSilenceHandler(
    session: EventStoreDbSession,
    { isSearch }: ReadScope,
    flow: PageBuffer,
  ): () => void {
    let silences = 0
    return () => {
      silences += 1
      if (!isSearch && silences > MAX_SILENCES) {
        session.retire()
        const silentMs = silences * this.#timeoutMs
        flow.fail(new Unavailable(`the event store sent nothing for ${silentMs} ms`))
        return
      }
      session.readEnd(this.#timeoutMs).catch((cause: Error) => flow.fail(cause))
    }
  }
}

/** Streams whose names begin so are the server's own. */
function isSystemEvent({ stream }: StoredEvent): boolean {
  return stream.startsWith("$")
}

/** Hands an event on if it is wanted. */
function pushIfWanted(answer: ReadResp, wanted: ReadScope, flow: PageBuffer): void {
  const record = answer.getEvent()?.getEvent()
  if (record === undefined) return
  const event = toStoredEvent(record)
  if (wanted.upTo !== null && comparePositions(event.position, wanted.upTo) > 0) flow.end()
  else if (wanted.isWanted(event)) flow.push(event)
}

/** A page is given when it has so many events, or so many characters of text. */
const PAGE_EVENTS = 500
const PAGE_CHARACTERS = 1024 * 1024

/** As much of a call as a flow uses. */
interface PausableCall {
  readonly on: (event: "error" | "end", listener: (cause: Error) => void) => unknown
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly cancel: () => void
}

/**
 * The way of events from a call, which sends as fast as it can, to a reader who takes a page at a
 * time. One page waits; the call is paused while it is full.
 */
class PageBuffer {
  #remaining: number
  #source: PausableCall | null = null
  #page: StoredEvent[] = []
  #characters = 0
  #hasEnded = false
  #failure: Error | null = null
  #received = 0
  #wake: () => void = () => undefined

  /** It ends by itself after `limit` events. */
  constructor(limit: number) {
    this.#remaining = limit
  }

  /** Takes its end and its failure from this call; pauses it, and breaks it off at the end. */
  attach(source: PausableCall): void {
    this.#source = source
    source.on("error", (cause) => this.fail(storeErrorFromGrpc(cause)))
    source.on("end", () => this.end())
  }

  /** Adds an event, unless it has ended. */
  push(event: StoredEvent): void {
    if (this.#hasEnded) return
    this.#received += 1
    this.#page.push(event)
    this.#characters += event.data.length + event.metadata.length
    this.#remaining -= 1
    if (this.#remaining === 0) this.end()
    if (!this.#isFull()) return
    this.#source?.pause()
    this.#wake()
  }

  /** Nothing more is wanted, or nothing more comes. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    // Else the server would go on sending while the reader is busy with the last page.
    this.#source?.cancel()
    this.#wake()
  }

  /** The reader is told instead of being given what is left. */
  fail(cause: Error): void {
    if (!this.#hasEnded) this.#failure = cause
    this.end()
  }

  /**
   * The next page; null behind the last. `onSilence` is called whenever the reader waited for
   * `timeoutMs` and nothing came.
   *
   * @throws Unavailable, AccessDenied
   */
  async takePage(timeoutMs: number, onSilence: () => void): Promise<readonly StoredEvent[] | null> {
    while (!this.#hasEnded && !this.#isFull()) await this.#waitForPage(timeoutMs, onSilence)
    if (this.#failure !== null) throw this.#failure
    const page = this.#page
    this.#page = []
    this.#characters = 0
    if (!this.#hasEnded) this.#source?.resume()
    return page.length === 0 ? null : page
  }

  #isFull(): boolean {
    return this.#page.length >= PAGE_EVENTS || this.#characters >= PAGE_CHARACTERS
  }

  /** Waits for a full page or the end. */
  async #waitForPage(timeoutMs: number, onSilence: () => void): Promise<void> {
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
