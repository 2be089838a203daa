/** What all kinds of event stores do alike: they refuse what means nothing, and what comes once they are closed. */
import type {
  AppendResult,
  EventStore,
  ReadAllRange,
  ReadRange,
  StoredEvent,
  Subscriber,
  Subscription,
  ProposedEvent,
} from "./port.ts"
import { Unavailable, MAX_APPEND_BYTES, NO_STREAM, AppendTooLarge } from "./port.ts"

/** What a kind of event store does by itself. Everything it is given was checked; errors are the port's. */
export interface EventStoreBackend extends Pick<EventStore, "canHideEvents" | "head" | "ready"> {
  /** @param bytes what the append takes of `MAX_APPEND_BYTES` */
  readonly append: (proposal: AppendProposal, bytes: number) => Promise<AppendResult>
  readonly read: (stream: string, range: ReadRange) => AsyncIterable<readonly StoredEvent[]>
  readonly readAll: (range: ReadAllRange) => AsyncIterable<readonly StoredEvent[]>
  /** Hands over what a subscriber asked for until it is stopped; rejects with what that throws. */
  readonly follow: (
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
    stopping: AbortSignal,
  ) => Promise<void>
  /** Waits for the answers to appends under way, and disconnects. No subscription runs any more. */
  readonly close: () => Promise<void>
}

/** The event store of a kind. Once it is closed each call throws Unavailable. */
export function createEventStore(kind: EventStoreBackend): EventStore {
  const running = new Set<Subscription>()
  let closing: Promise<void> | null = null
  const checkOpen = (): void => {
    if (closing !== null) throw new Unavailable("the event store is closed")
  }
  const close = async (): Promise<void> => {
    await Promise.all([...running].map((subscription) => subscription.stop()))
    await kind.close()
  }
  const { canHideEvents } = kind
  const appends = new WaitTracker()
  return {
    ...(canHideEvents === undefined ? {} : { canHideEvents }),
    append: async (stream, events, expectedRevision) => {
      const bytes = checkProposal(stream, events, expectedRevision)
      checkOpen()
      return appends.track(kind.append({ stream, events, expectedRevision }, bytes))
    },
    read: async function* (stream, range = {}) {
      checkRange(range)
      checkOpen()
      yield* kind.read(stream, range)
    },
    readAll: async function* (range = {}) {
      checkRange(range)
      checkOpen()
      yield* kind.readAll(range)
    },
    subscribeAll: (range, subscriber) => {
      checkOpen()
      return startSubscription((stopping) => kind.follow(range, subscriber, stopping), running)
    },
    head: async () => {
      checkOpen()
      return kind.head()
    },
    ready: async () => {
      checkOpen()
      await kind.ready()
    },
    oldestAppendWaitMs: () => appends.longestMs(),
    close: () => (closing ??= close()),
  }
}

/** What is waited for, and since when. */
class WaitTracker {
  /** In the order in which they began. */
  readonly #startedAt = new Map<symbol, number>()

  async track<T>(work: Promise<T>): Promise<T> {
    const one = Symbol("wait")
    this.#startedAt.set(one, performance.now())
    return work.finally(() => this.#startedAt.delete(one))
  }

  /** Since the oldest of them began, milliseconds; 0 where there is none. */
  longestMs(): number {
    const [oldest] = this.#startedAt.values()
    return oldest === undefined ? 0 : performance.now() - oldest
  }
}

/** Runs a subscription until it is stopped or ends by itself; it stands in `running` meanwhile. */
function startSubscription(
  run: (stopping: AbortSignal) => Promise<void>,
  running: Set<Subscription>,
): Subscription {
  const stopping = new AbortController()
  const ended = run(stopping.signal).finally(() => running.delete(subscription))
  const subscription: Subscription = {
    stop: async () => {
      stopping.abort()
      // Whoever holds `ended` is told what ended it; here it only matters that nothing runs.
      await Promise.allSettled([ended])
    },
    ended,
  }
  running.add(subscription)
  return subscription
}

/** Longer stream names are refused: a store has to hold them in an index. */
const MAX_STREAM_NAME_BYTES = 1024

/** The highest revision a stream can reach: what four signed bytes hold. */
export const MAX_REVISION = 2_147_483_647

/** What is to be appended. */
export interface AppendProposal {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * Refuses an append that no store could keep unchanged, before anything is sent. Answers how
 * many bytes of `MAX_APPEND_BYTES` it takes.
 *
 * PostgreSQL cannot hold U+0000 in text, and a lone surrogate has no UTF-8: a store would replace it
 * in silence, and the stored text would no longer be the hashed one. In JSON both are escapes, so
 * nothing that was made by `JSON.stringify` is refused here. UUIDs in upper case would come back in
 * lower case for the same reason.
 *
 * @throws RangeError, TooLarge
 */
function checkProposal(
  stream: string,
  events: readonly ProposedEvent[],
  expectedRevision: number,
): number {
  if (events.length === 0) throw new RangeError("an append needs at least one event")
  if (stream === "") throw new RangeError("an append needs the name of a stream")
  if (stream.startsWith("$")) throw new RangeError("a name with $ is the event store's own")
  checkText("the name of a stream", stream)
  if (Buffer.byteLength(stream) > MAX_STREAM_NAME_BYTES) {
    throw new RangeError(`the name of a stream is over ${MAX_STREAM_NAME_BYTES} bytes`)
  }
  if (!Number.isInteger(expectedRevision) || expectedRevision < NO_STREAM) {
    throw new RangeError(`${expectedRevision} is not the revision of a stream`)
  }
  if (expectedRevision + events.length > MAX_REVISION) {
    throw new RangeError(`a stream ends at revision ${MAX_REVISION}`)
  }
  let bytes = 0
  for (const event of events) {
    if (!UUID.test(event.id)) throw new RangeError(`not a UUID in lower case: ${event.id}`)
    if (event.type === "") throw new RangeError("an event needs a type")
    checkText("the type of an event", event.type)
    checkText("the data of an event", event.data)
    checkText("the metadata of an event", event.metadata)
    bytes += Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata)
    bytes += 2 * event.type.length
  }
  if (bytes > MAX_APPEND_BYTES) {
    throw new AppendTooLarge(
      `stream ${stream}: ${bytes} bytes in one append, over ${MAX_APPEND_BYTES}`,
    )
  }
  return bytes
}

function checkText(what: string, text: string): void {
  if (text.includes("\0")) throw new RangeError(`${what} holds U+0000`)
  if (!text.isWellFormed()) throw new RangeError(`${what} holds a lone surrogate`)
}

/** Refuses a limit or a revision to read from that means nothing. @throws RangeError */
function checkRange(range: { readonly from?: number; readonly limit?: number }): void {
  const { from, limit } = range
  if (from !== undefined && !(Number.isInteger(from) && from >= 0)) {
    throw new RangeError(`a stream has no revision ${from}`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) {
    throw new RangeError(`a limit of ${limit} events reads nothing`)
  }
}
