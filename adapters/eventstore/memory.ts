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

/** The fate of an append; `stored-unknown` stores the events without answering. */
export type AppendFault = "none" | "stored-unknown" | "unstored-unknown" | "unavailable"

export interface MemoryEventStoreOptions {
  /** Chooses the fate of each append before anything is stored; default always `none`. */
  readonly chooseFault?: (attempt: AppendProposal) => AppendFault
}

/** A memory store with controls for simulations. */
export interface MemoryEventStore extends EventStore {
  /** Loses the store for every subscription and restores it immediately. */
  readonly interrupt: (cause: Error) => void
  /**
   * Makes reads of one stream return other events, as a corrupt store does. Reads of all streams
   * still return the original events.
   */
  readonly rewriteStream: (
    stream: string,
    change: (events: readonly StoredEvent[]) => readonly StoredEvent[],
  ) => void
}

/**
 * Opens an empty event store in the memory of this process.
 *
 * It is deterministic: it has no timers, everything happens in microtasks, and an append gets its
 * position in the global order within the call itself.
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
        throw new UnknownOutcome("fault: the append was lost before it was stored")
      case "stored-unknown":
        this.#store(proposal)
        throw new UnknownOutcome("fault: the answer to the append was lost")
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
    for (let start = 0; start < count; start += PAGE_EVENTS) {
      yield wanted.slice(start, Math.min(start + PAGE_EVENTS, count))
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
      const repeated = findRepeatedAppend(stored, events, expectedRevision)
      if (repeated === null) throw new WrongRevision(stream, expectedRevision, actual)
      return repeated
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
    for (let start = Number(after); start < last; start += PAGE_EVENTS) {
      const end = Math.min(start + PAGE_EVENTS, last)
      const events = this.#all
        .slice(start + 1, end + 1)
        .filter(({ stream }) => prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true)
      yield { events, end: BigInt(end) }
    }
  }

  #head(): SequenceNumber {
    return BigInt(this.#all.length - 1)
  }
}

/** Index of the first event from a revision on. The array has gaps only after `rewriteStream`. */
function indexOfRevision(stored: readonly StoredEvent[], revision: number): number {
  if (stored[revision]?.revision === revision) return revision
  const index = stored.findIndex((one) => one.revision >= revision)
  return index === -1 ? stored.length : index
}

/**
 * The first result of an append that was sent again: exactly these events already follow the expected revision.
 */
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
