/** The event store as one process has it: everything takes its time, and may go wrong; subscriptions are late, dropped, and deliver twice. */
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type {
  Position,
  ReadAllRange,
  StoredEvent,
  Subscriber,
  Subscription,
  Appended,
  EventStore,
  ProposedEvent,
} from "../../adapters/eventstore/port.ts"
import { START, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import type { Truth } from "./records.ts"
import type { Owner } from "./schedule.ts"
import { WORLD } from "./schedule.ts"
import type { Wire } from "./wire.ts"
import { latency, ask, never } from "./wire.ts"

/** What every process of a run shares of the store. */
export interface Shared extends Wire {
  readonly store: MemoryEventStore
  readonly truth: Truth
  /** Who dies before they do anything more. */
  readonly doomed: Set<Owner>
}

const MOST_TWICE = 5

/** Follows the store as a process does, over every drop. */
function subscribe(
  shared: Shared,
  owner: Owner,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
): Subscription {
  return new Dropping(shared, owner, range, subscriber)
}

class Dropping implements Subscription {
  readonly ended: Promise<void>
  readonly #shared: Shared
  readonly #owner: Owner
  readonly #prefixes: Pick<ReadAllRange, "prefixes">
  readonly #subscriber: Subscriber
  readonly #end = Promise.withResolvers<void>()
  /** What was handed over. */
  #place: Position
  /** Which of the connections is the one that counts, and how often it lost the store. */
  #connection = 0
  #inner: Subscription | null = null
  /** What is being handed over: batches come one at a time, over every drop. */
  #handing: Promise<void> = Promise.resolve()

  constructor(
    shared: Shared,
    owner: Owner,
    { after = START, ...prefixes }: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
  ) {
    this.#shared = shared
    this.#owner = owner
    this.#prefixes = prefixes
    this.#subscriber = subscriber
    this.#place = after
    this.ended = this.#end.promise
    this.#connect()
  }

  async stop(): Promise<void> {
    this.#connection += 1
    await this.#inner?.stop()
    await this.#handing
    this.#end.resolve()
  }

  #connect(): void {
    const { store, schedule, chance, faults } = this.#shared
    this.#connection += 1
    const own = this.#connection
    let losses = 0
    const late = () => schedule.pause(this.#owner, latency(this.#shared))
    // Where it is not known what was handled, a little of it is delivered once more.
    const twice = chance.happens(faults.doubles) ? chance.between(1, MOST_TWICE) : 0
    const commit = this.#place.commit - BigInt(twice)
    const after = commit < 0n ? START : { commit, prepare: commit }
    this.#inner = store.subscribeAll(
      { after, ...this.#prefixes },
      {
        onEvents: async (events) => {
          await late()
          if (own !== this.#connection) return
          if (chance.happens(this.#shared.faults.drops)) this.#drop()
          else await this.#hand(events, own)
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
    schedule.after(100 + latency(this.#shared), this.#owner, () => {
      if (own === this.#connection) this.#connect()
    })
  }

  async #hand(events: readonly StoredEvent[], own: number): Promise<void> {
    const { chance } = this.#shared
    const before = this.#handing
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#handing = promise
    try {
      await before
      for (let left = events; left.length > 0 && own === this.#connection;) {
        const size = chance.between(1, left.length)
        const part = left.slice(0, size)
        await this.#subscriber.onEvents(part)
        this.#place = (part.at(-1) as StoredEvent).position
        // Now and then the same comes again at once.
        if (chance.happens(this.#shared.faults.doubles)) this.#shared.count("delivered twice")
        else left = left.slice(size)
      }
    } finally {
      resolve()
    }
  }
}

/** What becomes of an append. */
type Fate = "stored" | "unavailable" | "request lost" | "answer lost" | "late"

/** The store as a process has it. */
export function storeOf(shared: Shared, owner: Owner): EventStore {
  return {
    append: (stream, events, expected) => append(shared, owner, stream, events, expected),
    read: (stream, range) => {
      return pages(shared, owner, () => collect(shared.store.read(stream, range)))
    },
    readAll: (range) => {
      return pages(shared, owner, () => collect(shared.store.readAll(range)))
    },
    subscribeAll: (range, subscriber) => subscribe(shared, owner, range, subscriber),
    head: () => ask(shared, owner, () => reached(shared, () => shared.store.head())),
    ready: async () => undefined,
    appendWaitMs: () => 0,
    close: async () => undefined,
  }
}

function drawFate({ chance, faults }: Wire): Fate {
  if (chance.happens(faults.unavailable)) return "unavailable"
  if (chance.happens(faults.lostRequest)) return "request lost"
  if (chance.happens(faults.lostAnswer)) return "answer lost"
  return chance.happens(faults.lateAppend) ? "late" : "stored"
}

async function append(
  shared: Shared,
  owner: Owner,
  stream: string,
  events: readonly ProposedEvent[],
  expected: number,
): Promise<Appended> {
  if (!owner.isAlive) return never()
  const { chance, schedule, truth } = shared
  const store = async (): Promise<Appended> => {
    try {
      const appended = await shared.store.append(stream, events, expected)
      truth.note(schedule.now, owner.name, stream, appended.revision + 1, events)
      if (chance.happens(shared.faults.crashesStored)) shared.doomed.add(owner)
      return appended
    } catch (error) {
      shared.count(`append met ${error instanceof Error ? error.name : "nothing"}`)
      throw error
    }
  }
  const fate = drawFate(shared)
  shared.count(`append ${fate}`)
  if (fate === "stored") return ask(shared, owner, store)
  if (fate === "unavailable") {
    return ask(shared, owner, () => {
      throw new Unavailable("fault: the store cannot be reached")
    })
  }
  if (fate !== "request lost") {
    const onItsWay = fate === "late" ? chance.between(100, 6_000) : latency(shared)
    // Nobody hears what the store says to it.
    schedule.after(onItsWay, WORLD, () => void store().catch(() => undefined))
  }
  await schedule.pause(owner, chance.between(50, 1_500))
  throw new UnknownOutcome(`fault: ${fate}`)
}

/** What the store gives, unless it cannot be reached. @throws Unavailable */
async function reached<T>({ chance, faults }: Wire, read: () => Promise<T>): Promise<T> {
  if (chance.happens(faults.unavailable)) throw new Unavailable("fault: the store is away")
  return read()
}

async function collect(read: AsyncIterable<readonly StoredEvent[]>): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of read) events.push(...page)
  return events
}

/** What is read, page by page; the store may be lost between two of them. */
async function* pages(
  shared: Shared,
  owner: Owner,
  read: () => Promise<StoredEvent[]>,
): AsyncGenerator<readonly StoredEvent[]> {
  let events = await ask(shared, owner, () => reached(shared, read))
  while (events.length > 0) {
    const size = shared.chance.between(1, events.length)
    yield events.slice(0, size)
    events = events.slice(size)
    if (events.length > 0) await ask(shared, owner, () => reached(shared, async () => undefined))
  }
}
