/** The checks that all event stores share: valid arguments, and no calls after `close`. */
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

/** An event store without the shared checks. Arguments are valid; errors are the port's. */
export interface EventStoreBackend extends Pick<EventStore, "canHideEvents" | "head" | "ready"> {
  /** @param bytes how much of `MAX_APPEND_BYTES` the append uses */
  readonly append: (proposal: AppendProposal, bytes: number) => Promise<AppendResult>
  readonly read: (stream: string, range: ReadRange) => AsyncIterable<readonly StoredEvent[]>
  readonly readAll: (range: ReadAllRange) => AsyncIterable<readonly StoredEvent[]>
  /** Delivers events to a subscriber until it is stopped; rejects with the subscriber's error. */
  readonly follow: (
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
    stopping: AbortSignal,
  ) => Promise<void>
  /** Waits for the appends in progress, and disconnects. No subscription is running. */
  readonly close: () => Promise<void>
}

/** Adds the shared checks to an event store. After `close` each call throws Unavailable. */
export function createEventStore(backend: EventStoreBackend): EventStore {
  const running = new Set<Subscription>()
  let closing: Promise<void> | null = null
  const checkOpen = (): void => {
    if (closing !== null) throw new Unavailable("The event store is closed")
  }
  const close = async (): Promise<void> => {
    await Promise.all([...running].map((subscription) => subscription.stop()))
    await backend.close()
  }
  const { canHideEvents } = backend
  const appends = new WaitTracker()
  return {
    ...(canHideEvents === undefined ? {} : { canHideEvents }),
    append: async (stream, events, expectedRevision) => {
      const bytes = checkProposal(stream, events, expectedRevision)
      checkOpen()
      return appends.track(backend.append({ stream, events, expectedRevision }, bytes))
    },
    read: async function* (stream, range = {}) {
      checkRange(range)
      checkOpen()
      yield* backend.read(stream, range)
    },
    readAll: async function* (range = {}) {
      checkRange(range)
      checkOpen()
      yield* backend.readAll(range)
    },
    subscribeAll: (range, subscriber) => {
      checkOpen()
      return startSubscription((stopping) => backend.follow(range, subscriber, stopping), running)
    },
    head: async () => {
      checkOpen()
      return backend.head()
    },
    ready: async () => {
      checkOpen()
      await backend.ready()
    },
    oldestAppendWaitMs: () => appends.longestMs(),
    close: () => (closing ??= close()),
  }
}

class WaitTracker {
  readonly #startedAt = new Map<symbol, number>()

  async track<T>(work: Promise<T>): Promise<T> {
    const wait = Symbol("wait")
    this.#startedAt.set(wait, performance.now())
    return work.finally(() => this.#startedAt.delete(wait))
  }

  longestMs(): number {
    const [oldest] = this.#startedAt.values()
    return oldest === undefined ? 0 : performance.now() - oldest
  }
}

function startSubscription(
  run: (stopping: AbortSignal) => Promise<void>,
  running: Set<Subscription>,
): Subscription {
  const stopping = new AbortController()
  const ended = run(stopping.signal).finally(() => running.delete(subscription))
  const subscription: Subscription = {
    stop: async () => {
      stopping.abort()
      // The holder of `ended` gets the error.
      await Promise.allSettled([ended])
    },
    ended,
  }
  running.add(subscription)
  return subscription
}

/** A store must be able to index the name. */
const MAX_STREAM_NAME_BYTES = 1024

/** The highest revision of a stream: PostgreSQL stores it in four signed bytes. */
export const MAX_REVISION = 2_147_483_647

export interface AppendProposal {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * Rejects an append that no store can keep unchanged. Returns how many bytes of `MAX_APPEND_BYTES` it uses.
 *
 * PostgreSQL cannot store U+0000 in text, and a lone surrogate has no UTF-8: a store would replace it silently,
 * and the stored text would differ from the hashed one. `JSON.stringify` escapes both, so its output is never
 * rejected. Upper-case UUIDs would be returned in lower case.
 *
 * @throws RangeError, AppendTooLarge
 */
function checkProposal(
  stream: string,
  events: readonly ProposedEvent[],
  expectedRevision: number,
): number {
  if (events.length === 0) throw new RangeError("An append needs at least one event")
  if (stream === "") throw new RangeError("An append needs a stream name")
  if (stream.startsWith("$"))
    throw new RangeError("Stream names that start with $ are reserved for EventStoreDB")
  checkText("The stream name", stream)
  if (Buffer.byteLength(stream) > MAX_STREAM_NAME_BYTES) {
    throw new RangeError(
      `The stream name is ${Buffer.byteLength(stream)} bytes; the limit is ${MAX_STREAM_NAME_BYTES}`,
    )
  }
  if (!Number.isInteger(expectedRevision) || expectedRevision < NO_STREAM) {
    throw new RangeError(
      `Invalid expected revision ${expectedRevision}: use an integer from ${NO_STREAM}`,
    )
  }
  if (expectedRevision + events.length > MAX_REVISION) {
    throw new RangeError(`The append would go past revision ${MAX_REVISION}, the limit of a stream`)
  }
  let bytes = 0
  for (const event of events) {
    if (!UUID.test(event.id)) throw new RangeError(`Event id ${event.id} is not a lowercase UUID`)
    if (event.type === "") throw new RangeError("An event needs a type")
    checkText("The event type", event.type)
    checkText("The event data", event.data)
    checkText("The event metadata", event.metadata)
    bytes += Buffer.byteLength(event.data) + Buffer.byteLength(event.metadata)
    bytes += 2 * event.type.length
  }
  if (bytes > MAX_APPEND_BYTES) {
    throw new AppendTooLarge(
      `stream ${stream}: the append is ${bytes} bytes; the limit is ${MAX_APPEND_BYTES}`,
    )
  }
  return bytes
}

function checkText(label: string, text: string): void {
  if (text.includes("\0")) throw new RangeError(`${label} contains U+0000`)
  if (!text.isWellFormed()) throw new RangeError(`${label} contains a lone surrogate`)
}

/** @throws RangeError for a limit or a start revision that is invalid */
function checkRange(range: { readonly from?: number; readonly limit?: number }): void {
  const { from, limit } = range
  if (from !== undefined && !(Number.isInteger(from) && from >= 0)) {
    throw new RangeError(`Invalid start revision ${from}: use an integer from 0`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1)) {
    throw new RangeError(`Invalid limit ${limit}: use an integer from 1`)
  }
}
