/** The streams a process keeps in memory: bounded in number and in bytes, those long unused go first. */
import { NO_STREAM } from "../../../../adapters/eventstore/port.ts"
import type { AnyAggregate, Lane } from "./lane.ts"
import { newLane } from "./lane.ts"

const MOST_STREAMS = 20_000
/** Of those, so many may hold nothing: anybody can name one, by a made-up key. */
const MOST_EMPTY = 1_000
/** What is over a bound goes, and a tenth more, so that not every newcomer makes somebody go. */
const LEFT_PART = 0.9
/** What a small state takes, with its lane. */
const SMALL_BYTES = 1_000

/** The streams in memory. */
export interface StreamCache {
  readonly lanes: Map<string, Lane>
  readonly mostBytes: number
  /** The names of those that hold nothing, those used last behind the others. */
  readonly empty: Set<string>
  /** What all of them take, about. */
  bytes: number
}

/** No streams yet. */
export function emptyCache(mostBytes: number): StreamCache {
  return { lanes: new Map(), empty: new Set(), mostBytes, bytes: 0 }
}

/** The lane of a stream, made where there is none; others may be let go for it. */
export function laneOf(cache: StreamCache, aggregate: AnyAggregate, stream: string): Lane {
  const { lanes } = cache
  let lane = lanes.get(stream)
  if (lane === undefined) {
    lane = newLane(aggregate, stream)
    lanes.set(stream, lane)
  }
  // Only marked: moving it to the end of the map at each use would cost more than most uses.
  lane.isUsed = true
  if (lanes.size > MOST_STREAMS || cache.bytes > cache.mostBytes) letGo(cache, lane)
  return lane
}

/** Takes note of what a lane takes by now. */
export function measure(cache: StreamCache, lane: Lane): void {
  if (cache.lanes.get(lane.stream) !== lane) return
  const { loaded, aggregate } = lane
  const bytes = loaded === null ? 0 : (aggregate.bytesOf?.(loaded.state) ?? 0) + SMALL_BYTES
  cache.bytes += bytes - lane.bytes
  lane.bytes = bytes
  cache.empty.delete(lane.stream)
  if (loaded?.revision !== NO_STREAM) return
  cache.empty.add(lane.stream)
  if (cache.empty.size > MOST_EMPTY) letGoOfEmpty(cache)
}

/** Lets streams go that hold nothing; one that is in use is looked at again once it is not. */
function letGoOfEmpty(cache: StreamCache): void {
  for (const stream of cache.empty) {
    if (cache.empty.size <= MOST_EMPTY * LEFT_PART) return
    cache.empty.delete(stream)
    const lane = cache.lanes.get(stream)
    if (lane !== undefined && isIdle(lane)) remove(cache, lane)
  }
}

const isIdle = (lane: Lane): boolean =>
  lane.busy === null && lane.queue.length === 0 && !lane.hasGathered

function remove(cache: StreamCache, lane: Lane): void {
  cache.lanes.delete(lane.stream)
  cache.empty.delete(lane.stream)
  cache.bytes -= lane.bytes
}

/**
 * Lets idle streams go that were not used since the last time; what was used goes behind all others,
 * once. The one that is asked for stays, however much it takes: nobody would find again what it is
 * used for.
 */
function letGo(cache: StreamCache, wanted: Lane): void {
  const { lanes } = cache
  const isUnused = (lane: Lane) => {
    if (!lane.isUsed) return true
    lane.isUsed = false
    lanes.delete(lane.stream)
    lanes.set(lane.stream, lane)
    return false
  }
  for (const lane of lanes.values()) {
    const isRoom =
      lanes.size <= MOST_STREAMS * LEFT_PART && cache.bytes <= cache.mostBytes * LEFT_PART
    if (isRoom) return
    if (lane !== wanted && isIdle(lane) && isUnused(lane)) remove(cache, lane)
  }
}
