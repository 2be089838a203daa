/**
 * One stream, one writer, many callers: load, decide, append.
 *
 * Callers of a stream wait in its queue. While one append is in flight the next batch gathers; each
 * command is decided against the state including those before it in its batch; one append stores
 * all their facts at the exact revision; each caller gets its own answer once the store said yes.
 *
 * - Nobody is told yes before the store said yes. A no that was decided behind an unstored yes of
 *   its batch waits for it.
 * - A batch that met another writer's facts is decided again from the store's truth.
 * - An append whose outcome is unknown is sent again with the same bytes, then resolved by reading;
 *   only past its callers' deadlines are they told that nobody knows.
 */
import { NO_STREAM } from "../adapters/eventstore/port.ts"
import { drain, keepCheckpoint } from "./runner/drain.ts"
import type { AnyAggregate, AnyOutcome, Lane, Waiting } from "./runner/lane.ts"
import { newLane } from "./runner/lane.ts"
import type { Runner, RunnerPorts } from "./runner/port.ts"
import { DEFAULT_DEADLINE_MS, Overloaded } from "./runner/port.ts"

export type { Outcome, Runner } from "./runner/port.ts"
export { OutcomeUnknown } from "./runner/port.ts"

/** More callers than this may not wait for one stream: the next is turned away. */
const MAX_WAITING = 20_000
const MAX_STREAMS_KEPT = 20_000
/** What is gathered waits no longer than this for an append to ride on. */
const RECORD_AFTER_MS = 5_000

/** Opens the runner. One per process. */
export function openRunner(ports: RunnerPorts): Runner {
  const lanes = new Map<string, Lane>()
  const stopping = new AbortController()
  const laneFor = (aggregate: AnyAggregate, stream: string) => laneOf(lanes, aggregate, stream)
  return {
    execute: (aggregate, stream, command, execution) => {
      const deadline = ports.pacer.elapsedMs() + (execution.deadlineMs ?? DEFAULT_DEADLINE_MS)
      const given = { given: command as object, cause: execution.cause }
      const view = execution.view as Waiting["view"]
      const waiting = { command: given, view, deadline }
      return enqueue(ports, laneFor(aggregate, stream), waiting) as Promise<never>
    },
    look: (aggregate, stream, view) =>
      look(ports, laneFor(aggregate, stream), view as Waiting["view"]) as Promise<never>,
    glance: async (aggregate, stream, view) => {
      const lane = laneFor(aggregate, stream)
      if (lane.loaded === null) return look(ports, lane, view as Waiting["view"]) as Promise<never>
      const { state, at } = lane.loaded
      return view(state as never, Math.max(ports.clock.now(), at))
    },
    gather: (aggregate, stream, item) =>
      gatherInto(ports, laneFor(aggregate, stream), item, stopping.signal) as Promise<never>,
    record: () => recordAll(ports, lanes),
    close: async () => {
      stopping.abort()
      await recordAll(ports, lanes)
      for (const lane of lanes.values()) {
        while (lane.busy !== null) await lane.busy
        keepCheckpoint(ports, lane, 1)
        await lane.saving
      }
    },
  }
}

function laneOf(lanes: Map<string, Lane>, aggregate: AnyAggregate, stream: string): Lane {
  const lane = lanes.get(stream) ?? newLane(aggregate, stream)
  // Moving it to the end keeps the map in order of use, so the first is the one to let go.
  lanes.delete(stream)
  lanes.set(stream, lane)
  if (lanes.size > MAX_STREAMS_KEPT) letGo(lanes)
  return lane
}

function enqueue(
  ports: RunnerPorts,
  lane: Lane,
  waiting: Omit<Waiting, "resolve" | "reject">,
): Promise<AnyOutcome> {
  if (lane.queue.length >= MAX_WAITING) {
    const message = `${lane.queue.length} callers wait for ${lane.stream}`
    return Promise.reject(new Overloaded(message))
  }
  return new Promise((resolve, reject) => {
    lane.queue.push({ ...waiting, resolve, reject })
    wake(ports, lane)
  })
}

/** Begins to work through the queue, unless somebody does. Callers of the same moment share a batch. */
function wake(ports: RunnerPorts, lane: Lane): void {
  lane.busy ??= Promise.resolve()
    .then(() => drain(ports, lane))
    .finally(() => {
      lane.busy = null
      if (lane.queue.length > 0) wake(ports, lane)
    })
}

async function look(ports: RunnerPorts, lane: Lane, view: Waiting["view"]): Promise<unknown> {
  const { loaded } = lane
  if (lane.busy === null && loaded !== null) {
    return view(loaded.state, Math.max(ports.clock.now(), loaded.at))
  }
  const deadline = ports.pacer.elapsedMs() + DEFAULT_DEADLINE_MS
  return (await enqueue(ports, lane, { command: null, view, deadline })).view
}

/**
 * Gathers an item on the state in memory, which may hold facts that are not stored yet: enough to
 * let it pass, and nobody is turned away on it.
 */
async function gatherInto(
  ports: RunnerPorts,
  lane: Lane,
  item: unknown,
  stopping: AbortSignal,
): Promise<unknown> {
  const { gathering } = lane.aggregate
  if (gathering === undefined) throw new Error(`nothing gathers beside ${lane.stream}`)
  for (;;) {
    const { loaded } = lane
    if (loaded !== null) {
      const at = Math.max(ports.clock.now(), loaded.at)
      if (gathering.mustRecord(loaded.state, at)) {
        await recordGathered(ports, lane)
        continue
      }
      if ((gathering.add(loaded.state, item, at) as unknown) === null) {
        lane.hasGathered = true
        recordSoon(ports, lane, stopping)
        return null
      }
    }
    const view = (state: unknown, at: number): unknown => gathering.fault(state, item, at)
    const fault = await look(ports, lane, view)
    if (fault !== null) return fault
  }
}

/** Records what is gathered by a timer, in case no append comes by. */
function recordSoon(ports: RunnerPorts, lane: Lane, stopping: AbortSignal): void {
  if (lane.isTimed || stopping.aborted) return
  lane.isTimed = true
  void ports.pacer.pause(RECORD_AFTER_MS, stopping).then(async () => {
    if (!stopping.aborted) await recordGathered(ports, lane)
    lane.isTimed = false
    if (lane.hasGathered) recordSoon(ports, lane, stopping)
  })
}

/** Resolves once what is gathered beside a stream was recorded, or could not be and was told of. */
async function recordGathered(ports: RunnerPorts, lane: Lane): Promise<void> {
  // What a lost state left behind is in the queue already: it is waited for as well.
  if (!lane.hasGathered && lane.busy === null) return
  const deadline = ports.pacer.elapsedMs() + DEFAULT_DEADLINE_MS
  try {
    await enqueue(ports, lane, { command: null, records: true, view: () => undefined, deadline })
  } catch (error) {
    ports.warn(`what is gathered for ${lane.stream} is not recorded yet`, error)
  }
}

async function recordAll(ports: RunnerPorts, lanes: ReadonlyMap<string, Lane>): Promise<void> {
  await Promise.all([...lanes.values()].map((lane) => recordGathered(ports, lane)))
}

/**
 * Lets idle streams go, a tenth at a time: first those that hold nothing, which anybody can name by
 * a made-up key, then those unused for longest.
 */
function letGo(lanes: Map<string, Lane>): void {
  const isIdle = ({ busy, queue, hasGathered }: Lane) =>
    busy === null && queue.length === 0 && !hasGathered
  const isEmpty = ({ loaded }: Lane) => loaded !== null && loaded.revision === NO_STREAM
  let left = MAX_STREAMS_KEPT / 10
  for (const mayGo of [isEmpty, () => true]) {
    for (const [stream, lane] of lanes) {
      if (left <= 0) return
      if (!isIdle(lane) || !mayGo(lane)) continue
      lanes.delete(stream)
      left -= 1
    }
  }
}
