/** A process's event store: requests take time and may fail; subscriptions lag, drop, and deliver twice. */
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type {
  Position,
  ReadAllRange,
  StoredEvent,
  Subscriber,
  Subscription,
  AppendResult,
  EventStore,
  ProposedEvent,
} from "../../adapters/eventstore/port.ts"
import { START, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import type { StoreTimeline } from "./records.ts"
import type { TaskOwner } from "./schedule.ts"
import { ENVIRONMENT_OWNER } from "./schedule.ts"
import type { SimulatedNetwork } from "./wire.ts"
import { drawLatency, callRemote, neverSettles } from "./wire.ts"

/** The parts of the store that all processes of a run share. */
export interface SharedStoreState extends SimulatedNetwork {
  readonly store: MemoryEventStore
  readonly timeline: StoreTimeline
  /** Owners that crash before their next task. */
  readonly doomedOwners: Set<TaskOwner>
}

const MAX_REPEATED = 5

/** Subscribes to the store as a process does, with reconnects. */
function subscribe(
  shared: SharedStoreState,
  owner: TaskOwner,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
): Subscription {
  return new DroppingSubscription(shared, owner, range, subscriber)
}

class DroppingSubscription implements Subscription {
  readonly ended: Promise<void>
  readonly #shared: SharedStoreState
  readonly #owner: TaskOwner
  readonly #prefixes: Pick<ReadAllRange, "prefixes">
  readonly #subscriber: Subscriber
  readonly #end = Promise.withResolvers<void>()
  /** The position up to which events were delivered. */
  #position: Position
  /** The number of the current connection; callbacks of earlier connections are ignored. */
  #connection = 0
  #inner: Subscription | null = null
  /** The delivery in progress: batches are delivered one after another, also across reconnects. */
  #delivery: Promise<void> = Promise.resolve()

  constructor(
    shared: SharedStoreState,
    owner: TaskOwner,
    { after = START, ...prefixes }: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
  ) {
    this.#shared = shared
    this.#owner = owner
    this.#prefixes = prefixes
    this.#subscriber = subscriber
    this.#position = after
    this.ended = this.#end.promise
    this.#connect()
  }

  async stop(): Promise<void> {
    this.#connection += 1
    await this.#inner?.stop()
    await this.#delivery
    this.#end.resolve()
  }

  #connect(): void {
    const { store, schedule, chance, faults } = this.#shared
    this.#connection += 1
    const own = this.#connection
    let losses = 0
    const late = () => schedule.pause(this.#owner, drawLatency(this.#shared))
    // A reconnect may deliver some of the last events again.
    const twice = chance.happens(faults.duplicateDeliveries) ? chance.between(1, MAX_REPEATED) : 0
    const commit = this.#position.commit - BigInt(twice)
    const after = commit < 0n ? START : { commit, prepare: commit }
    this.#inner = store.subscribeAll(
      { after, ...this.#prefixes },
      {
        onEvents: async (events) => {
          await late()
          if (own !== this.#connection) return
          if (chance.happens(this.#shared.faults.droppedSubscribers)) this.#drop()
          else await this.#deliver(events, own)
        },
        onCaughtUp: async (head) => {
          const before = losses
          await late()
          if (own !== this.#connection || losses > before) return
          await this.#subscriber.onCaughtUp?.(head)
        },
        onInterrupted: (cause) => {
          losses += 1
          if (own === this.#connection) this.#subscriber.onInterrupted?.(cause)
        },
      },
    )
    this.#inner.ended.catch((error: unknown) => this.#end.reject(error))
  }

  #drop(): void {
    const { schedule } = this.#shared
    this.#shared.count("subscriber dropped")
    this.#connection += 1
    const own = this.#connection
    void this.#inner?.stop()
    this.#subscriber.onInterrupted?.(new Unavailable("fault: the consumer was too slow"))
    schedule.after(100 + drawLatency(this.#shared), this.#owner, () => {
      if (own === this.#connection) this.#connect()
    })
  }

  async #deliver(events: readonly StoredEvent[], own: number): Promise<void> {
    const { chance } = this.#shared
    const before = this.#delivery
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#delivery = promise
    try {
      await before
      for (let left = events; left.length > 0 && own === this.#connection;) {
        const size = chance.between(1, left.length)
        const part = left.slice(0, size)
        await this.#subscriber.onEvents(part)
        this.#position = (part.at(-1) as StoredEvent).position
        // Sometimes the same events are delivered again immediately.
        if (chance.happens(this.#shared.faults.duplicateDeliveries))
          this.#shared.count("delivered twice")
        else left = left.slice(size)
      }
    } finally {
      resolve()
    }
  }
}

type AppendFate = "stored" | "unavailable" | "request lost" | "answer lost" | "late"

/** The event store of a process. */
export function simulatedStoreOf(shared: SharedStoreState, owner: TaskOwner): EventStore {
  return {
    append: (stream, events, expected) => append(shared, owner, stream, events, expected),
    read: (stream, range) => {
      return pages(shared, owner, () => collect(shared.store.read(stream, range)))
    },
    readAll: (range) => {
      return pages(shared, owner, () => collect(shared.store.readAll(range)))
    },
    subscribeAll: (range, subscriber) => subscribe(shared, owner, range, subscriber),
    head: () => callRemote(shared, owner, () => readOverNetwork(shared, () => shared.store.head())),
    ready: async () => undefined,
    oldestAppendWaitMs: () => 0,
    close: async () => undefined,
  }
}

function drawFate({ chance, faults }: SimulatedNetwork): AppendFate {
  if (chance.happens(faults.unavailable)) return "unavailable"
  if (chance.happens(faults.lostRequest)) return "request lost"
  if (chance.happens(faults.lostAnswer)) return "answer lost"
  return chance.happens(faults.lateAppend) ? "late" : "stored"
}

async function append(
  shared: SharedStoreState,
  owner: TaskOwner,
  stream: string,
  events: readonly ProposedEvent[],
  expected: number,
): Promise<AppendResult> {
  if (!owner.isAlive) return neverSettles()
  const { chance, schedule, timeline } = shared
  const store = async (): Promise<AppendResult> => {
    try {
      const appended = await shared.store.append(stream, events, expected)
      timeline.recordAppend(schedule.now, owner.name, stream, appended.revision + 1, events)
      if (chance.happens(shared.faults.crashesAfterStore)) shared.doomedOwners.add(owner)
      return appended
    } catch (error) {
      shared.count(`append met ${error instanceof Error ? error.name : "nothing"}`)
      throw error
    }
  }
  const fate = drawFate(shared)
  shared.count(`append ${fate}`)
  if (fate === "stored") return callRemote(shared, owner, store)
  if (fate === "unavailable") {
    return callRemote(shared, owner, () => {
      throw new Unavailable("fault: the store cannot be reached")
    })
  }
  if (fate !== "request lost") {
    const delayMs = fate === "late" ? chance.between(100, 6_000) : drawLatency(shared)
    // No caller receives the store's response.
    schedule.after(delayMs, ENVIRONMENT_OWNER, () => void store().catch(() => undefined))
  }
  await schedule.pause(owner, chance.between(50, 1_500))
  throw new UnknownOutcome(`fault: ${fate}`)
}

/** Reads from the store, unless it cannot be reached. @throws Unavailable */
async function readOverNetwork<T>(
  { chance, faults }: SimulatedNetwork,
  read: () => Promise<T>,
): Promise<T> {
  if (chance.happens(faults.unavailable)) throw new Unavailable("fault: the store is unavailable")
  return read()
}

async function collect(read: AsyncIterable<readonly StoredEvent[]>): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of read) events.push(...page)
  return events
}

/** Returns events page by page; the store may become unavailable between two pages. */
async function* pages(
  shared: SharedStoreState,
  owner: TaskOwner,
  read: () => Promise<StoredEvent[]>,
): AsyncGenerator<readonly StoredEvent[]> {
  let events = await callRemote(shared, owner, () => readOverNetwork(shared, read))
  while (events.length > 0) {
    const size = shared.chance.between(1, events.length)
    yield events.slice(0, size)
    events = events.slice(size)
    if (events.length > 0)
      await callRemote(shared, owner, () => readOverNetwork(shared, async () => undefined))
  }
}
