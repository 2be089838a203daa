/**
 * A stream queue: the stream's callers, its state in memory, and the work in flight. A process holds a limited
 * number of streams and bytes in memory; the least recently used streams are evicted first.
 */
import type { ProposedEvent } from "../../../../adapters/eventstore/port.ts"
import { NO_STREAM } from "../../../../adapters/eventstore/port.ts"
import type { Aggregate, BufferingRules } from "../../../../domain/kernel/aggregate.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import type { Cause } from "../../kernel/envelope.ts"
import type { LoadedState } from "./load.ts"
import type { CommandOutcome } from "./port.ts"

/** Any aggregate. A queue holds commands of one aggregate; the caller of the runner restores the types. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyAggregate = Aggregate<any, any, any, any> & {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly buffering?: BufferingRules<any, any, any, any>
}
/** An outcome whose types only its caller knows. */
export type AnyOutcome = CommandOutcome<Fact, Fact, unknown>

export interface QueuedCall {
  /** Null for a caller that only reads. */
  readonly command: { readonly given: object; readonly cause: Cause } | null
  /** Stores the buffered items before this call is answered. */
  readonly flushesBuffer?: true
  /** Stays in the queue, up to the deadline, while the clock throws `ClockUnsure`. */
  readonly waitsForClock?: true
  /** Requires a state that the store had at some moment since this call arrived. */
  readonly needsLatest?: true
  readonly view: (state: unknown, at: number) => unknown
  /** When the call arrived and when it must be answered, by the pacer's elapsed time. */
  readonly arrivedAt: number
  readonly deadline: number
  /** The facts of this call are in an append that may have been stored. */
  isOutcomeUnknown: boolean
  /** The call was resolved or rejected. */
  isAnswered: boolean
  /** Answers the call; once it is answered, further answers have no effect. */
  readonly resolve: (outcome: AnyOutcome) => void
  readonly reject: (error: unknown) => void
}

export interface StreamQueue {
  readonly stream: string
  readonly aggregate: AnyAggregate
  /** Null until the stream is loaded, and again when the state may differ from the store. */
  loadedState: LoadedState<unknown> | null
  /** The newest revision that this process stored or was notified of; a load must reach it. */
  knownRevision: number
  /** The events of the append in flight, which the state already includes, and their first revision. */
  appending: { readonly events: readonly ProposedEvent[]; readonly first: number } | null
  /** When the state was last known to equal the store's, by the pacer's elapsed time. */
  confirmedAt: number
  /** The process was notified of facts that the state lacks. */
  isStale: boolean
  /** Consecutive appends that conflicted with another writer. */
  conflicts: number
  /** Until when the writers of this stream take a lock before they write, by the pacer's elapsed time. */
  contendedUntil: number
  /** Approximate memory of the state. */
  bytes: number
  /** Whether the queue was used since the last eviction pass. */
  isUsed: boolean
  readonly calls: QueuedCall[]
  /** The work in flight; null when idle. */
  draining: Promise<void> | null
  /** Ends the current pause between two tries early; null if there is none or callers wait for it. */
  wake: (() => void) | null
  /** The state may have buffered items. */
  hasBuffered: boolean
  /** When an item was last buffered, by the ledger's time. */
  bufferedAt: number
  /** A timer runs that stores the buffered items. */
  hasFlushTimer: boolean
  /** Settles when the last checkpoint is saved. */
  savingCheckpoint: Promise<void>
  checkpointBytes: number
}

/** Commands decided in sequence, with the facts to store for them. */
export interface Batch {
  readonly events: ProposedEvent[]
  /** Hash of the last event. */
  hash: string
  readonly answers: { readonly call: QueuedCall; readonly outcome: AnyOutcome }[]
}

function newStreamQueue(aggregate: AnyAggregate, stream: string): StreamQueue {
  return {
    stream,
    aggregate,
    loadedState: null,
    knownRevision: -1,
    appending: null,
    confirmedAt: -Infinity,
    isStale: false,
    conflicts: 0,
    contendedUntil: -Infinity,
    bytes: 0,
    isUsed: false,
    calls: [],
    draining: null,
    wake: null,
    hasBuffered: false,
    bufferedAt: -Infinity,
    hasFlushTimer: false,
    savingCheckpoint: Promise.resolve(),
    checkpointBytes: 0,
  }
}

const MAX_STREAMS = 20_000
/** Maximum number of empty streams: a request with a made-up key creates one. */
const MAX_EMPTY_STREAMS = 1_000
/** An eviction frees a tenth more than it must, so that not every new stream causes one. */
const EVICTION_TARGET = 0.9
/** Approximate memory of a queue with a small state. */
const QUEUE_OVERHEAD_BYTES = 1_000

export interface StreamCache {
  readonly queues: Map<string, StreamQueue>
  readonly maxBytes: number
  /** Names of the streams without events, in the order of their last use. */
  readonly empty: Set<string>
  /** Approximate memory of all queues. */
  bytes: number
}

/** Makes a cache without streams. */
export function emptyCache(maxBytes: number): StreamCache {
  return { queues: new Map(), empty: new Set(), maxBytes, bytes: 0 }
}

/** Returns the queue of a stream, created if it does not exist; idle queues may be evicted for it. */
export function queueOf(cache: StreamCache, aggregate: AnyAggregate, stream: string): StreamQueue {
  const { queues } = cache
  let queue = queues.get(stream)
  if (queue === undefined) {
    queue = newStreamQueue(aggregate, stream)
    queues.set(stream, queue)
  }
  // Marked instead of moved to the end of the map: moving would cost more than most uses.
  queue.isUsed = true
  if (queues.size > MAX_STREAMS || cache.bytes > cache.maxBytes) evictIdle(cache, queue)
  return queue
}

/** Updates the memory that a queue counts for. */
export function updateMemoryUse(cache: StreamCache, queue: StreamQueue): void {
  if (cache.queues.get(queue.stream) !== queue) return
  const { loadedState, aggregate } = queue
  const bytes =
    loadedState === null ? 0 : (aggregate.bytesOf?.(loadedState.state) ?? 0) + QUEUE_OVERHEAD_BYTES
  cache.bytes += bytes - queue.bytes
  queue.bytes = bytes
  cache.empty.delete(queue.stream)
  if (loadedState?.revision !== NO_STREAM) return
  cache.empty.add(queue.stream)
  if (cache.empty.size > MAX_EMPTY_STREAMS) evictEmpty(cache)
}

/** Evicts streams without events. A stream in use is added to `empty` again when it becomes idle. */
function evictEmpty(cache: StreamCache): void {
  for (const stream of cache.empty) {
    if (cache.empty.size <= MAX_EMPTY_STREAMS * EVICTION_TARGET) return
    cache.empty.delete(stream)
    const queue = cache.queues.get(stream)
    if (queue !== undefined && isIdle(queue)) removeQueue(cache, queue)
  }
}

const isIdle = (queue: StreamQueue): boolean =>
  queue.draining === null && queue.calls.length === 0 && !queue.hasBuffered

function removeQueue(cache: StreamCache, queue: StreamQueue): void {
  cache.queues.delete(queue.stream)
  cache.empty.delete(queue.stream)
  cache.bytes -= queue.bytes
}

/**
 * Evicts idle streams that were not used since the last pass; a used one moves to the end once.
 *
 * @param wanted stays whatever its size: its caller is about to use it
 */
function evictIdle(cache: StreamCache, wanted: StreamQueue): void {
  const { queues } = cache
  const isUnused = (queue: StreamQueue) => {
    if (!queue.isUsed) return true
    queue.isUsed = false
    queues.delete(queue.stream)
    queues.set(queue.stream, queue)
    return false
  }
  for (const queue of queues.values()) {
    const isEnough =
      queues.size <= MAX_STREAMS * EVICTION_TARGET &&
      cache.bytes <= cache.maxBytes * EVICTION_TARGET
    if (isEnough) return
    if (queue !== wanted && isIdle(queue) && isUnused(queue)) removeQueue(cache, queue)
  }
}
