import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Position, ReadRange, StoredEvent } from "../port.ts"
import { comparePositions, laterPosition, START, Unavailable } from "../port.ts"
import type { EventStoreDbConnection } from "./connection.ts"
import type { EventStoreDbSession } from "./session.ts"
import { requireNotHidden, MAX_REDIRECTS, NotLeader, storeErrorFromGrpc } from "./session.ts"
import {
  allStreamsReadRequest,
  newestEventRequest,
  streamReadRequest,
  settingsStream,
  toStoredEvent,
} from "./read-requests.ts"

/** A node that answers probes but sends no events is given up after this many silent intervals. */
const MAX_SILENCES = 6

/** From this many new events, reading the newest event is faster than reading them. */
const MAX_EVENTS_TO_HEAD = 64

interface ReadScope {
  readonly limit: number
  readonly isWanted: (event: StoredEvent) => boolean
  /** The last position to read. */
  readonly upTo: Position | null
  /** A position that the node must have, in addition to the positions known before the request. */
  readonly requiredPosition: Position
  /** Whether the server may scan any number of events before it finds a match. */
  readonly isSearch: boolean
  /** Ends the read early, as if no more events came. */
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

interface AllRange {
  readonly after: Position
  readonly upTo: Position
  readonly prefixes?: readonly string[] | undefined
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads events in pages and buffers the next page while the caller handles one. A read is valid
 * only once it has ended without an error: only then is the node known to be up to date.
 */
export class EventStoreDbReader {
  readonly #connection: EventStoreDbConnection
  readonly #timeoutMs: number
  #firstHeadSearch: Promise<void> | null = null

  /** After `timeoutMs` without events, the node gets a probe and as much time to answer it. */
  constructor(connection: EventStoreDbConnection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** Reads one stream. @throws Unavailable, AccessDenied, CorruptStream */
  async *read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    // No stream has this name, and the server does not answer it with "not found".
    if (stream === "") return
    const limit = range.limit ?? UNLIMITED_SCOPE.limit
    let isEmpty = true
    for await (const page of this.#readPages(streamReadRequest(stream, range), {
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
   * Checks that an empty stream never existed. A stream that was deleted, but not permanently,
   * looks the same and would be started a second time; its settings show the deletion.
   *
   * @throws Unavailable, AccessDenied, CorruptStream
   */
  async #requireNeverDeleted(stream: string): Promise<void> {
    const newest = streamReadRequest(settingsStream(stream), { direction: "backwards", limit: 1 })
    for await (const [settings] of this.#readPages(newest, { ...UNLIMITED_SCOPE, limit: 1 })) {
      requireNotHidden(stream, settings)
    }
  }

  /** Reads all streams after a position, up to and including another. @throws Unavailable, AccessDenied */
  async *readAll(range: AllRange): AsyncGenerator<readonly StoredEvent[]> {
    const { after, upTo, prefixes, limit = UNLIMITED_SCOPE.limit, signal } = range
    if (comparePositions(after, upTo) >= 0 || prefixes?.length === 0) return
    yield* this.#readPages(allStreamsReadRequest(after, prefixes), {
      limit,
      isWanted: ({ position }) => comparePositions(position, after) > 0,
      upTo,
      requiredPosition: upTo,
      isSearch: true,
      signal,
    })
  }

  /**
   * Returns the position of the newest event that is not the server's own; `START` if there is none
   * or the signal aborts first. It searches only after the known position, because a million of the
   * server's own events may be at the end.
   *
   * @throws Unavailable, AccessDenied
   */
  async head(signal?: AbortSignal): Promise<Position> {
    const { knownPositions } = this.#connection
    // The first search may scan a million events: concurrent callers wait for it and search after its result.
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
    const knownBefore = knownPositions.newest
    const { readEnd, node } = await session.readEnd(2 * this.#timeoutMs)
    await node.requirePosition(knownBefore)
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
      const scope = {
        ...UNLIMITED_SCOPE,
        limit: 1,
        isSearch: true,
        requiredPosition: readEnd,
        signal,
      }
      const newest = this.#readPages(newestEventRequest(), scope)
      while ((await newest.next()).done !== true);
    }
    // An aborted search has not covered the range.
    if (signal?.aborted !== true) knownPositions.noteSearched(readEnd)
    return knownPositions.newest
  }

  /** Retries with the leader that the session learned from a node that does not lead. */
  async *#readPages(request: ReadReq, scope: ReadScope): AsyncGenerator<readonly StoredEvent[]> {
    for (let attempt = 1; ; attempt += 1) {
      let isBegun = false
      try {
        for await (const page of this.#readPagesOnce(request, scope)) {
          isBegun = true
          yield page
        }
        return
      } catch (error) {
        if (!(error instanceof NotLeader) || isBegun || attempt > MAX_REDIRECTS) throw error
      }
    }
  }

  async *#readPagesOnce(
    request: ReadReq,
    scope: ReadScope,
  ): AsyncGenerator<readonly StoredEvent[]> {
    const { session, knownPositions } = this.#connection
    const knownBefore = knownPositions.newest
    const buffer = new PageBuffer(scope.limit)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const events = grpc.read(request, ...parameters)
      buffer.attach(events)
      events.on("data", (answer: ReadResp) => pushIfInScope(answer, scope, buffer))
      return events
    })
    const end = (): void => buffer.end()
    scope.signal?.addEventListener("abort", end)
    if (scope.signal?.aborted === true) end()
    const onSilence = this.#createSilenceHandler(session, scope, buffer)
    try {
      for (;;) {
        const page = await buffer.takePage(this.#timeoutMs, onSilence)
        const [first, last] = [page?.[0], page?.at(-1)]
        if (page === null || first === undefined || last === undefined) break
        if (!isSystemEvent(first)) node.noteSeen(laterPosition(first.position, last.position), page)
        yield page
      }
      if (scope.signal?.aborted !== true)
        await node.requirePosition(laterPosition(knownBefore, scope.requiredPosition))
    } finally {
      // A call that was not read to its end would keep the client open.
      call.cancel()
      scope.signal?.removeEventListener("abort", end)
    }
  }

  /**
   * Handles silence. A server that scans millions of other streams' events has nothing to send, and
   * a busy one is slow: a node that answers a probe meanwhile is alive.
   */
  #createSilenceHandler(
    session: EventStoreDbSession,
    { isSearch }: ReadScope,
    buffer: PageBuffer,
  ): () => void {
    let silences = 0
    return () => {
      silences += 1
      if (!isSearch && silences > MAX_SILENCES) {
        session.retire()
        const silentMs = silences * this.#timeoutMs
        buffer.fail(new Unavailable(`The event store sent nothing for ${silentMs} ms`))
        return
      }
      session.readEnd(this.#timeoutMs).catch((cause: Error) => buffer.fail(cause))
    }
  }
}

function isSystemEvent({ stream }: StoredEvent): boolean {
  return stream.startsWith("$")
}

function pushIfInScope(answer: ReadResp, scope: ReadScope, buffer: PageBuffer): void {
  const record = answer.getEvent()?.getEvent()
  if (record === undefined) return
  const event = toStoredEvent(record)
  if (scope.upTo !== null && comparePositions(event.position, scope.upTo) > 0) buffer.end()
  else if (scope.isWanted(event)) buffer.push(event)
}

const PAGE_EVENTS = 500
const PAGE_CHARACTERS = 1024 * 1024

interface PausableCall {
  readonly on: (event: "error" | "end", listener: (cause: Error) => void) => unknown
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly cancel: () => void
}

/**
 * Turns a call, which sends as fast as it can, into pages for a caller. One page is buffered; the
 * call is paused while it is full.
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

  constructor(limit: number) {
    this.#remaining = limit
  }

  /** Takes end and failure from this call, pauses it, and cancels it at the end. */
  attach(source: PausableCall): void {
    this.#source = source
    source.on("error", (cause) => this.fail(storeErrorFromGrpc(cause)))
    source.on("end", () => this.end())
  }

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

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    // Otherwise the server would go on sending while the caller handles the last page.
    this.#source?.cancel()
    this.#wake()
  }

  fail(cause: Error): void {
    if (!this.#hasEnded) this.#failure = cause
    this.end()
  }

  /**
   * Returns the next page; null after the last. `onSilence` is called whenever no event arrived for `timeoutMs`.
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
