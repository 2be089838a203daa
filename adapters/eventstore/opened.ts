/** What all kinds of event stores do alike: they refuse what means nothing, and what comes once they are closed. */
import {
  type Appended,
  type EventStore,
  type ReadAllRange,
  type ReadRange,
  type StoredEvent,
  type Subscriber,
  type Subscription,
  Unavailable,
} from "./port.ts"
import { type AppendProposal, checkProposal, checkRange } from "./proposal.ts"

/** What a kind of event store does by itself. Everything it is given was checked; errors are the port's. */
export interface StoreKind extends Pick<EventStore, "hidesBeginnings" | "head" | "ready"> {
  /** @param bytes what the append takes of `MAX_APPEND_BYTES` */
  readonly append: (proposal: AppendProposal, bytes: number) => Promise<Appended>
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
export function openStore(kind: StoreKind): EventStore {
  const running = new Set<Subscription>()
  let closing: Promise<void> | null = null
  const checkOpen = (): void => {
    if (closing !== null) throw new Unavailable("the event store is closed")
  }
  const close = async (): Promise<void> => {
    await Promise.all([...running].map((subscription) => subscription.stop()))
    await kind.close()
  }
  const { hidesBeginnings } = kind
  const appends = new Waits()
  return {
    ...(hidesBeginnings === undefined ? {} : { hidesBeginnings }),
    append: async (stream, events, expectedRevision) => {
      const bytes = checkProposal(stream, events, expectedRevision)
      checkOpen()
      return appends.of(kind.append({ stream, events, expectedRevision }, bytes))
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
      return started((stopping) => kind.follow(range, subscriber, stopping), running)
    },
    head: async () => {
      checkOpen()
      return kind.head()
    },
    ready: async () => {
      checkOpen()
      await kind.ready()
    },
    appendWaitMs: () => appends.longestMs(),
    close: () => (closing ??= close()),
  }
}

/** What is waited for, and since when. */
class Waits {
  /** In the order in which they began. */
  readonly #begun = new Map<symbol, number>()

  async of<T>(work: Promise<T>): Promise<T> {
    const one = Symbol("wait")
    this.#begun.set(one, performance.now())
    return work.finally(() => this.#begun.delete(one))
  }

  /** Since the oldest of them began, milliseconds; 0 where there is none. */
  longestMs(): number {
    const [oldest] = this.#begun.values()
    return oldest === undefined ? 0 : performance.now() - oldest
  }
}

/** Runs a subscription until it is stopped or ends by itself; it stands in `running` meanwhile. */
function started(
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
