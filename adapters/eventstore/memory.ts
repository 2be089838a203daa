import { Bell } from "./bell.ts"
import { follow, type Page, type Place, positionOf, type Tail } from "./follow.ts"
import {
  type Appended,
  type EventStore,
  type Position,
  type ProposedEvent,
  type ReadAllRange,
  type ReadRange,
  START,
  type StoredEvent,
  type Subscriber,
  type Subscription,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "./port.ts"
import { checkProposal, checkRange } from "./proposal.ts"

const PAGE_EVENTS = 500

/** An append on its way into the store, as a fault is chosen for it. */
export interface AppendAttempt {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

/** What happens to an append; `stored-unknown` keeps the events, and nobody hears of it. */
export type AppendFault = "none" | "stored-unknown" | "unstored-unknown" | "unavailable"

/** How a memory store is to behave. */
export interface MemoryEventStoreOptions {
  /** Chooses what happens to each append, before anything is stored; default always `none`. */
  readonly faults?: (attempt: AppendAttempt) => AppendFault
}

/** The memory store, and what a simulation may do to it. */
export interface MemoryEventStore extends EventStore {
  /** Loses the store for every subscription and brings it back at once. */
  readonly interrupt: (cause: Error) => void
  /**
   * Lets reads of a stream give other events than it has, as a damaged store does. Among all streams
   * they are as they were.
   */
  readonly rewrite: (
    stream: string,
    change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
  ) => void
}

/**
 * Opens an empty store that keeps its events in the memory of this process.
 *
 * It is deterministic: it has no timers, everything happens in microtasks, and an append takes its
 * place in the global order within the call itself.
 */
export function openMemoryEventStore(options: MemoryEventStoreOptions = {}): MemoryEventStore {
  const store = new InMemory(options.faults ?? (() => "none"))
  return {
    append: (stream, events, expectedRevision) => store.append(stream, events, expectedRevision),
    read: (stream, range) => store.read(stream, range),
    readAll: (range) => store.readAll(range),
    subscribeAll: (range, subscriber) => store.subscribeAll(range, subscriber),
    head: () => store.head(),
    ready: async () => void (await store.head()),
    close: () => store.close(),
    interrupt: (cause) => store.interrupt(cause),
    rewrite: (stream, change) => store.rewrite(stream, change),
  }
}

class InMemory {
  readonly #faults: (attempt: AppendAttempt) => AppendFault
  readonly #all: StoredEvent[] = []
  readonly #streams = new Map<string, StoredEvent[]>()
  readonly #moved = new Bell()
  readonly #running = new Set<Subscription>()
  readonly #lostListeners = new Set<(cause: Error) => void>()
  #losses = 0
  #closed = false

  constructor(faults: (attempt: AppendAttempt) => AppendFault) {
    this.#faults = faults
  }

  async append(
    stream: string,
    events: readonly ProposedEvent[],
    expectedRevision: number,
  ): Promise<Appended> {
    checkProposal(stream, events, expectedRevision)
    this.#checkOpen()
    switch (this.#faults({ stream, events, expectedRevision })) {
      case "unavailable":
        throw new Unavailable("fault: the store cannot be reached")
      case "unstored-unknown":
        throw new UnknownOutcome("fault: the append was lost on its way")
      case "stored-unknown":
        this.#store(stream, events, expectedRevision)
        throw new UnknownOutcome("fault: the answer was lost on its way")
      case "none":
        return this.#store(stream, events, expectedRevision)
    }
  }

  async *read(stream: string, range: ReadRange = {}): AsyncGenerator<readonly StoredEvent[]> {
    checkRange(range)
    this.#checkOpen()
    const stored = this.#streams.get(stream) ?? []
    const forwards = range.direction !== "backwards"
    const { from = forwards ? 0 : Infinity, limit = Infinity } = range
    const wanted = forwards
      ? stored.slice(indexFrom(stored, from))
      : stored.slice(0, indexFrom(stored, from + 1)).toReversed()
    const count = Math.min(wanted.length, limit)
    for (let given = 0; given < count; given += PAGE_EVENTS) {
      yield wanted.slice(given, Math.min(given + PAGE_EVENTS, count))
    }
  }

  async *readAll(range: ReadAllRange = {}): AsyncGenerator<readonly StoredEvent[]> {
    checkRange(range)
    this.#checkOpen()
    let left = range.limit ?? Infinity
    const { after = START, prefixes } = range
    for await (const { events } of this.#pages(after.commit, this.#head(), prefixes)) {
      const wanted = events.length > left ? events.slice(0, left) : events
      left -= wanted.length
      if (wanted.length > 0) yield wanted
      if (left === 0) return
    }
  }

  subscribeAll(
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
  ): Subscription {
    this.#checkOpen()
    return follow(this.#tail, range, subscriber, this.#running)
  }

  async head(): Promise<Position> {
    this.#checkOpen()
    return positionOf(this.#head())
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#running].map((subscription) => subscription.stop()))
  }

  rewrite(
    stream: string,
    change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
  ): void {
    this.#streams.set(stream, [...change(this.#streams.get(stream) ?? [])])
  }

  interrupt(cause: Error): void {
    this.#losses += 1
    for (const listener of [...this.#lostListeners]) listener(cause)
    this.#moved.ring()
  }

  #store(stream: string, events: readonly ProposedEvent[], expectedRevision: number): Appended {
    const stored = this.#streams.get(stream) ?? []
    const actual = stored.length - 1
    if (actual !== expectedRevision) {
      const answered = firstAnswer(stored, events, expectedRevision)
      if (answered === null) throw new WrongRevision(stream, expectedRevision, actual)
      return answered
    }
    for (const { id, type, data, metadata } of events) {
      const position = positionOf(BigInt(this.#all.length))
      const event = { stream, revision: stored.length, position, id, type, data, metadata }
      stored.push(event)
      this.#all.push(event)
    }
    this.#streams.set(stream, stored)
    this.#moved.ring()
    return { revision: stored.length - 1, position: positionOf(this.#head()) }
  }

  async *#pages(
    after: Place,
    upTo: Place,
    prefixes: readonly string[] | undefined,
  ): AsyncGenerator<Page> {
    const last = Number(upTo)
    for (let place = Number(after); place < last; place += PAGE_EVENTS) {
      const end = Math.min(place + PAGE_EVENTS, last)
      const events = this.#all
        .slice(place + 1, end + 1)
        .filter(({ stream }) => prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true)
      yield { events, end: BigInt(end) }
    }
  }

  readonly #tail: Tail = {
    headAfter: async (known, signal) => {
      while (!signal.aborted) {
        const head = { place: this.#head(), losses: this.#losses }
        if (known === null || head.place > known.place || head.losses > known.losses) return head
        await this.#moved.wait(signal)
      }
      return null
    },
    pages: (after, head, prefixes) => this.#pages(after, head.place, prefixes),
    isCurrent: (head) => head.losses === this.#losses,
    onLost: (listener) => {
      this.#lostListeners.add(listener)
      return () => void this.#lostListeners.delete(listener)
    },
  }

  #head(): Place {
    return BigInt(this.#all.length - 1)
  }

  #checkOpen(): void {
    if (this.#closed) throw new Unavailable("the event store is closed")
  }
}

/** Where the events from a revision on begin. Nothing is missing, unless somebody rewrote the stream. */
function indexFrom(stored: readonly StoredEvent[], revision: number): number {
  if (stored[revision]?.revision === revision) return revision
  const index = stored.findIndex((one) => one.revision >= revision)
  return index === -1 ? stored.length : index
}

/** The answer of the first time, when exactly these events already follow the expected revision. */
function firstAnswer(
  stored: readonly StoredEvent[],
  events: readonly ProposedEvent[],
  expectedRevision: number,
): Appended | null {
  const known = stored.slice(expectedRevision + 1, expectedRevision + 1 + events.length)
  const last = known.at(-1)
  if (last === undefined || known.length < events.length) return null
  if (!known.every(({ id }, index) => id === events[index]?.id)) return null
  return { revision: last.revision, position: last.position }
}
