import {
  HeadTracker,
  followStore,
  type EventPage,
  type SequenceNumber,
  positionFromSequence,
  type FollowSource,
} from "./follow.ts"
import {
  type AppendResult,
  type EventStore,
  type Position,
  type ProposedEvent,
  type ReadAllRange,
  type ReadRange,
  START,
  type StoredEvent,
  type Subscriber,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "./port.ts"
import type { EventStoreBackend, AppendProposal } from "./create-event-store.ts"
import { createEventStore } from "./create-event-store.ts"

const PAGE_EVENTS = 500

/** What happens to an append; `stored-unknown` keeps the events, and nobody hears of it. */
export type AppendFault = "none" | "stored-unknown" | "unstored-unknown" | "unavailable"

/** How a memory store is to behave. */
export interface MemoryEventStoreOptions {
  /** Chooses what happens to each append, before anything is stored; default always `none`. */
  readonly chooseFault?: (attempt: AppendProposal) => AppendFault
}

/** The memory store, and what a simulation may do to it. */
export interface MemoryEventStore extends EventStore {
  /** Loses the store for every subscription and brings it back at once. */
  readonly interrupt: (cause: Error) => void
  /**
   * Lets reads of a stream give other events than it has, as a damaged store does. Among all streams
   * they are as they were.
   */
  readonly rewriteStream: (
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
  const store = new MemoryBackend(options.chooseFault ?? (() => "none"))
  return {
    ...createEventStore(store),
    interrupt: (cause) => store.interrupt(cause),
    rewriteStream: (stream, change) => store.rewriteStream(stream, change),
  }
}

class MemoryBackend implements EventStoreBackend {
  readonly #chooseFault: (attempt: AppendProposal) => AppendFault
  readonly #all: StoredEvent[] = []
  readonly #streams = new Map<string, StoredEvent[]>()
  readonly #headTracker = new HeadTracker()

  constructor(faults: (attempt: AppendProposal) => AppendFault) {
    this.#chooseFault = faults
    this.#headTracker.advanceTo(this.#head())
  }

  async append(proposal: AppendProposal): Promise<AppendResult> {
    switch (this.#chooseFault(proposal)) {
      case "unavailable":
        throw new Unavailable("fault: the store cannot be reached")
      case "unstored-unknown":
        throw new UnknownOutcome("fault: the append was lost on its way")
      case "stored-unknown":
        this.#store(proposal)
        throw new UnknownOutcome("fault: the answer was lost on its way")
      case "none":
        return this.#store(proposal)
    }
  }

  async *read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    const stored = this.#streams.get(stream) ?? []
    const forwards = range.direction !== "backwards"
    const { from = forwards ? 0 : Infinity, limit = Infinity } = range
    const wanted = forwards
      ? stored.slice(indexOfRevision(stored, from))
      : stored.slice(0, indexOfRevision(stored, from + 1)).toReversed()
    const count = Math.min(wanted.length, limit)
    for (let given = 0; given < count; given += PAGE_EVENTS) {
      yield wanted.slice(given, Math.min(given + PAGE_EVENTS, count))
    }
  }

  async *readAll(range: ReadAllRange): AsyncGenerator<readonly StoredEvent[]> {
    let left = range.limit ?? Infinity
    const { after = START, prefixes } = range
    for await (const { events } of this.#pages(after.commit, this.#head(), prefixes)) {
      const wanted = events.length > left ? events.slice(0, left) : events
      left -= wanted.length
      if (wanted.length > 0) yield wanted
      if (left === 0) return
    }
  }

  async follow(
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
    stopping: AbortSignal,
  ): Promise<void> {
    const tail: FollowSource = {
      headTracker: this.#headTracker,
      readPages: (after, head, prefixes) => this.#pages(after, head.sequence, prefixes),
    }
    await followStore(tail, range, subscriber, stopping)
  }

  async head(): Promise<Position> {
    return positionFromSequence(this.#head())
  }

  async ready(): Promise<void> {}

  async close(): Promise<void> {}

  rewriteStream(
    stream: string,
    change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
  ): void {
    this.#streams.set(stream, [...change(this.#streams.get(stream) ?? [])])
  }

  interrupt(cause: Error): void {
    this.#headTracker.markLost(cause)
    this.#headTracker.advanceTo(this.#head())
  }

  #store({ stream, events, expectedRevision }: AppendProposal): AppendResult {
    const stored = this.#streams.get(stream) ?? []
    const actual = stored.length - 1
    if (actual !== expectedRevision) {
      const answered = findRepeatedAppend(stored, events, expectedRevision)
      if (answered === null) throw new WrongRevision(stream, expectedRevision, actual)
      return answered
    }
    for (const { id, type, data, metadata } of events) {
      const position = positionFromSequence(BigInt(this.#all.length))
      const event = { stream, revision: stored.length, position, id, type, data, metadata }
      stored.push(event)
      this.#all.push(event)
    }
    this.#streams.set(stream, stored)
    this.#headTracker.advanceTo(this.#head())
    return { revision: stored.length - 1, position: positionFromSequence(this.#head()) }
  }

  async *#pages(
    after: SequenceNumber,
    upTo: SequenceNumber,
    prefixes: readonly string[] | undefined,
  ): AsyncGenerator<EventPage> {
    const last = Number(upTo)
    for (let place = Number(after); place < last; place += PAGE_EVENTS) {
      const end = Math.min(place + PAGE_EVENTS, last)
      const events = this.#all
        .slice(place + 1, end + 1)
        .filter(({ stream }) => prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true)
      yield { events, end: BigInt(end) }
    }
  }

  #head(): SequenceNumber {
    return BigInt(this.#all.length - 1)
  }
}

/** Where the events from a revision on begin. Nothing is missing, unless somebody rewrote the stream. */
function indexOfRevision(stored: readonly StoredEvent[], revision: number): number {
  if (stored[revision]?.revision === revision) return revision
  const index = stored.findIndex((one) => one.revision >= revision)
  return index === -1 ? stored.length : index
}

/** The answer of the first time, when exactly these events already follow the expected revision. */
function findRepeatedAppend(
  stored: readonly StoredEvent[],
  events: readonly ProposedEvent[],
  expectedRevision: number,
): AppendResult | null {
  const known = stored.slice(expectedRevision + 1, expectedRevision + 1 + events.length)
  const last = known.at(-1)
  if (last === undefined || known.length < events.length) return null
  if (!known.every(({ id }, index) => id === events[index]?.id)) return null
  return { revision: last.revision, position: last.position }
}
