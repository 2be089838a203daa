/** A subscription as a slow and forgetful network makes it: late, dropped, and delivering twice. */
import type {
  Position,
  ReadAllRange,
  StoredEvent,
  Subscriber,
  Subscription,
} from "../../adapters/eventstore/port.ts"
import { START, Unavailable } from "../../adapters/eventstore/port.ts"
import type { Owner } from "./schedule.ts"
import type { Shared } from "./shared.ts"
import { latency } from "./wire.ts"

const MOST_TWICE = 5

/** Follows the store as a process does, over every drop. */
export function subscribe(
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
