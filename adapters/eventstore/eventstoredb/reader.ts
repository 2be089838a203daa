import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import {
  comparePositions,
  type Position,
  type ReadRange,
  START,
  type StoredEvent,
  Unavailable,
} from "../port.ts"
import type { Connection } from "./connection.ts"
import { PageFlow } from "./page-flow.ts"
import { allRequest, newestRequest, streamRequest } from "./read-requests.ts"
import { storedEvent } from "./records.ts"

/** Which of the events that the server sends are wanted, and how far. */
interface Wanted {
  readonly limit: number
  readonly has: (event: StoredEvent) => boolean
  /** The last place that is wanted. */
  readonly upTo: Position | null
  /** Whether the server may look at any number of events before it finds one. */
  readonly isSearch: boolean
  /** Ends it early, as if nothing more came. */
  readonly signal: AbortSignal | undefined
}

const EVERYTHING: Wanted = {
  limit: Number.POSITIVE_INFINITY,
  has: () => true,
  upTo: null,
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

/** Reads events in pages; while the reader is busy with one the next one comes. */
export class Reader {
  readonly #connection: Connection
  readonly #timeoutMs: number

  /** A read fails when nothing came for `timeoutMs`. */
  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** One stream. @throws Unavailable, AccessDenied */
  async *read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    // No stream has this name, and the server has no answer for it that says so.
    if (stream === "") return
    const limit = range.limit ?? EVERYTHING.limit
    yield* this.#pages(streamRequest(stream, range), { ...EVERYTHING, limit })
  }

  /** All streams strictly after a place, up to and with another. @throws Unavailable, AccessDenied */
  async *all(range: AllRange): AsyncGenerator<readonly StoredEvent[]> {
    const { after, upTo, prefixes, limit = EVERYTHING.limit, signal } = range
    if (comparePositions(after, upTo) >= 0 || prefixes?.length === 0) return
    yield* this.#pages(allRequest(after, prefixes), {
      limit,
      has: ({ position }) => comparePositions(position, after) > 0,
      upTo,
      isSearch: true,
      signal,
    })
  }

  /**
   * The place of the newest event, `START` when there is none, or when the signal aborts before it is
   * known. @throws Unavailable, AccessDenied
   */
  async head(signal?: AbortSignal): Promise<Position> {
    const wanted = { ...EVERYTHING, limit: 1, signal }
    for await (const [newest] of this.#pages(newestRequest(), wanted)) {
      if (newest !== undefined) return newest.position
    }
    return START
  }

  async *#pages(request: ReadReq, wanted: Wanted): AsyncGenerator<readonly StoredEvent[]> {
    const { session } = this.#connection
    const flow = new PageFlow(wanted.limit)
    const call = await session.call((grpc, ...parameters) => {
      const begun = grpc.read(request, ...parameters)
      flow.from(begun)
      begun.on("data", (answer: ReadResp) => take(answer, wanted, flow))
      return begun
    })
    const end = (): void => flow.end()
    wanted.signal?.addEventListener("abort", end)
    if (wanted.signal?.aborted === true) end()
    const onSilence = (): void => {
      if (wanted.isSearch) {
        // A server that looks through millions of other people's events has nothing to send. One
        // that answers meanwhile is only searching.
        this.head().catch((cause: Error) => flow.fail(cause))
        return
      }
      session.retire()
      flow.fail(new Unavailable(`the event store sent nothing for ${this.#timeoutMs} ms`))
    }
    try {
      for (;;) {
        const page = await flow.next(this.#timeoutMs, onSilence)
        if (page === null) return
        yield page
      }
    } finally {
      // A call that was not read to its end would keep the client from going.
      call.cancel()
      wanted.signal?.removeEventListener("abort", end)
    }
  }
}

/** Hands an event on if it is wanted. */
function take(answer: ReadResp, wanted: Wanted, flow: PageFlow): void {
  const record = answer.getEvent()?.getEvent()
  if (record === undefined) return
  const event = storedEvent(record)
  if (wanted.upTo !== null && comparePositions(event.position, wanted.upTo) > 0) flow.end()
  else if (wanted.has(event)) flow.push(event)
}
