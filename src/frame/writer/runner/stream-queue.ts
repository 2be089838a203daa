/**
 * One stream's queue: its callers, its state in memory, and the work in flight. The streams that a process
 * keeps in memory are bounded in number and in bytes; those long unused go first.
 */
import type { ProposedEvent } from "../../../../adapters/eventstore/port.ts"
import { NO_STREAM } from "../../../../adapters/eventstore/port.ts"
import type { Aggregate, BufferingRules } from "../../../../domain/kernel/aggregate.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import type { Cause } from "../../kernel/envelope.ts"
import type { LoadedState } from "./load.ts"
import type { CommandOutcome } from "./port.ts"

/** Any decider: a queue holds commands of one only, and the types meet again where it is called. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyAggregate = Aggregate<any, any, any, any> & {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly buffering?: BufferingRules<any, any, any, any>
}
/** An outcome whose types only its caller knows. */
export type AnyOutcome = CommandOutcome<Fact, Fact, unknown>

/** A caller in a queue. */
export interface QueuedCall {
  /** Null for a caller who only looks. */
  readonly command: { readonly given: object; readonly cause: Cause } | null
  /** A caller who looks once what is gathered was recorded. */
  readonly flushesBuffer?: true
  /** A caller who waits, up to the deadline, while this process cannot tell the ledger's time. */
  readonly waitsForClock?: true
  /** A caller who looks at what was the store's at some moment since they came. */
  readonly needsLatest?: true
  readonly view: (state: unknown, at: number) => unknown
  /** When the caller came and when it no longer waits, by the pacer's elapsed time. */
  readonly arrivedAt: number
  readonly deadline: number
  /** What was decided for them is in an append that may be stored, or rests on one. */
  isOutcomeUnknown: boolean
  /** They were told something: nobody waits here any more. */
  isAnswered: boolean
  /** Tells them; who was told already hears nothing more. */
  readonly resolve: (outcome: AnyOutcome) => void
  readonly reject: (error: unknown) => void
}

/** A stream in this process. */
export interface StreamQueue {
  readonly stream: string
  readonly aggregate: AnyAggregate
  /** Null until it is loaded, and again whenever it may differ from the store. */
  loadedState: LoadedState<unknown> | null
  /** The newest revision that was stored from here or heard of: no load may end before it. */
  knownRevision: number
  /** The events that the state has and nobody knows to be stored, and the revision of the first. */
  appending: { readonly events: readonly ProposedEvent[]; readonly first: number } | null
  /** When the state was last known to be the store's, by the pacer's elapsed time. */
  confirmedAt: number
  /** Facts were heard of that the state does not have. */
  isStale: boolean
  /** Appends in a row that met another writer's facts. */
  conflicts: number
  /** Until when this stream's writers take turns by a lock, by the pacer's elapsed time. */
  contendedUntil: number
  /** What the state takes of the memory, about. */
  bytes: number
  /** Whether it was used since it was last passed over as one to let go. */
  isUsed: boolean
  readonly calls: QueuedCall[]
  /** The work in flight; null when idle. */
  draining: Promise<void> | null
  /** Ends the rest between two tries that no caller waits for; null where there is none. */
  wake: (() => void) | null
  /** Something may be gathered beside the state. */
  hasBuffered: boolean
  /** When something was last gathered, by the ledger's time. */
  bufferedAt: number
  /** It will be recorded when a timer ends. */
  hasFlushTimer: boolean
  /** The checkpoint being kept. */
  savingCheckpoint: Promise<void>
  checkpointBytes: number
}

/** Commands that were decided one after the other, and the facts to store for them. */
export interface Batch {
  readonly events: ProposedEvent[]
  /** The hash of the last of them. */
  hash: string
  readonly answers: { readonly waiting: QueuedCall; readonly outcome: AnyOutcome }[]
}

/** A stream that nobody has used yet. */
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
/** Of those, so many may hold nothing: anybody can name one, by a made-up key. */
const MAX_EMPTY_STREAMS = 1_000
/** What is over a bound goes, and a tenth more, so that not every newcomer makes somebody go. */
const EVICTION_TARGET = 0.9
/** What a small state takes, with its lane. */
const QUEUE_OVERHEAD_BYTES = 1_000

/** The streams in memory. */
export interface StreamCache {
  readonly queues: Map<string, StreamQueue>
  readonly maxBytes: number
  /** The names of those that hold nothing, those used last behind the others. */
  readonly empty: Set<string>
  /** What all of them take, about. */
  bytes: number
}

/** No streams yet. */
export function emptyCache(maxBytes: number): StreamCache {
  return { queues: new Map(), empty: new Set(), maxBytes, bytes: 0 }
}

/** The lane of a stream, made where there is none; others may be let go for it. */
export function queueOf(cache: StreamCache, aggregate: AnyAggregate, stream: string): StreamQueue {
  const { queues } = cache
  let lane = queues.get(stream)
  if (lane === undefined) {
    lane = newStreamQueue(aggregate, stream)
    queues.set(stream, lane)
  }
  // Only marked: moving it to the end of the map at each use would cost more than most uses.
  lane.isUsed = true
  if (queues.size > MAX_STREAMS || cache.bytes > cache.maxBytes) evictIdle(cache, lane)
  return lane
}

/** Takes note of what a lane takes by now. */
export function updateMemoryUse(cache: StreamCache, lane: StreamQueue): void {
  if (cache.queues.get(lane.stream) !== lane) return
  const { loadedState, aggregate } = lane
  const bytes =
    loadedState === null ? 0 : (aggregate.bytesOf?.(loadedState.state) ?? 0) + QUEUE_OVERHEAD_BYTES
  cache.bytes += bytes - lane.bytes
  lane.bytes = bytes
  cache.empty.delete(lane.stream)
  if (loadedState?.revision !== NO_STREAM) return
  cache.empty.add(lane.stream)
  if (cache.empty.size > MAX_EMPTY_STREAMS) evictEmpty(cache)
}

/** Lets streams go that hold nothing; one that is in use is looked at again once it is not. */
function evictEmpty(cache: StreamCache): void {
  for (const stream of cache.empty) {
    if (cache.empty.size <= MAX_EMPTY_STREAMS * EVICTION_TARGET) return
    cache.empty.delete(stream)
    const lane = cache.queues.get(stream)
    if (lane !== undefined && isIdle(lane)) removeQueue(cache, lane)
  }
}

const isIdle = (lane: StreamQueue): boolean =>
  lane.draining === null && lane.calls.length === 0 && !lane.hasBuffered

function removeQueue(cache: StreamCache, lane: StreamQueue): void {
  cache.queues.delete(lane.stream)
  cache.empty.delete(lane.stream)
  cache.bytes -= lane.bytes
}

/**
 * Lets idle streams go that were not used since the last time; what was used goes behind all others,
 * once. The one that is asked for stays, however much it takes: nobody would find again what it is
 * used for.
 */
function evictIdle(cache: StreamCache, wanted: StreamQueue): void {
  const { queues } = cache
  const isUnused = (lane: StreamQueue) => {
    if (!lane.isUsed) return true
    lane.isUsed = false
    queues.delete(lane.stream)
    queues.set(lane.stream, lane)
    return false
  }
  for (const lane of queues.values()) {
    const isRoom =
      queues.size <= MAX_STREAMS * EVICTION_TARGET &&
      cache.bytes <= cache.maxBytes * EVICTION_TARGET
    if (isRoom) return
    if (lane !== wanted && isIdle(lane) && isUnused(lane)) removeQueue(cache, lane)
  }
}
