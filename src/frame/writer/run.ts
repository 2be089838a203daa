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
 *   a caller whose deadline passes meanwhile is told that nobody knows, and it goes on behind them.
 * - Nobody is kept past their own deadline, whatever is waited for: what is decided for nobody yet
 *   was not done.
 */
import type { StreamOf } from "../../../domain/kernel/aggregate.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { openDamages, watchDeadlines } from "./runner/deadlines.ts"
import { drain, keepCheckpoint } from "./runner/drain.ts"
import type { AnyAggregate, AnyOutcome, Lane, Waiting, StreamCache } from "./runner/lane.ts"
import { emptyCache, laneOf, measure } from "./runner/lane.ts"
import type { Working } from "./runner/fresh.ts"
import { isFresh, noteHeard, timeOf } from "./runner/fresh.ts"
import type { Runner, RunnerPorts } from "./runner/port.ts"
import {
  DEFAULT_DEADLINE_MS,
  DEFAULT_MOST_BYTES,
  DeadlinePassed,
  Overloaded,
} from "./runner/port.ts"

export type { Outcome, Runner } from "./runner/port.ts"
export { OutcomeUnknown } from "./runner/port.ts"

/** More callers than this may not wait for one stream: the next is turned away. */
const MAX_WAITING = 20_000
/** What is gathered waits no longer than this for an append to ride on. */
const RECORD_AFTER_MS = 5_000
/** How long it is tried at a stop to record what is gathered, while the store is away. */
const CLOSE_MS = 60_000

/** Opens the runner. One per process. */
export function openRunner(given: RunnerPorts): Runner {
  const cache = emptyCache(given.mostBytes ?? DEFAULT_MOST_BYTES)
  const { lanes } = cache
  const stopping = new AbortController()
  const ports = workingOf(given, cache, stopping.signal)
  const laneFor = ({ aggregate, stream }: StreamOf<AnyAggregate>) =>
    laneOf(cache, aggregate, stream)
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    stopping.abort()
    ports.ending.at = ports.pacer.elapsedMs() + CLOSE_MS
    await recordAll(ports, lanes, CLOSE_MS)
    for (const lane of lanes.values()) {
      while (lane.busy !== null) await lane.busy
      keepCheckpoint(ports, lane, 1)
    }
    // All of them are kept together: one after the other, thousands would outlast the stop.
    for (const lane of lanes.values()) await lane.saving
    ports.deadlines.stop()
  }
  return {
    deadlineMs: ports.deadlineMs,
    elapsedMs: () => ports.pacer.elapsedMs(),
    execute: (to, command, cause, view, deadlineMs) => {
      const trace = ports.tracing.current()
      const traced = trace === null ? cause : { ...cause, trace }
      const asked = { command: { given: command as object, cause: traced }, view: viewOf(view) }
      return enqueue(ports, laneFor(to), asked, deadlineMs) as Promise<never>
    },
    read: (at, view, deadlineMs) =>
      look(ports, laneFor(at), viewOf(view), deadlineMs) as Promise<never>,
    readLatest: async (at, view, deadlineMs) => {
      const looking = { command: null, isLatest: true as const, view: viewOf(view) }
      return (await enqueue(ports, laneFor(at), looking, deadlineMs)).view as never
    },
    glance: async (at, view, deadlineMs) => {
      const lane = laneFor(at)
      if (lane.loaded === null || !isFresh(ports, lane)) {
        return look(ports, lane, viewOf(view), deadlineMs) as Promise<never>
      }
      return view(lane.loaded.state as never, timeOf(ports, lane, lane.loaded))
    },
    gather: (beside, item, deadlineMs) => {
      const laneNow = () => laneFor(beside)
      return gatherInto(ports, laneNow, item, stopping.signal, deadlineMs) as Promise<never>
    },
    heard: (events) => {
      for (const event of events) {
        const lane = lanes.get(event.stream)
        if (lane !== undefined) noteHeard(lane, event)
      }
    },
    confirmed: (asOfMs) => {
      ports.heard.confirmedAt = Math.max(ports.heard.confirmedAt, asOfMs)
    },
    damaged: () => ports.damages.all(),
    record: () => recordAll(ports, lanes),
    close: () => (closing ??= close()),
  }
}

const NOTHING: Waiting["view"] = () => undefined

/** A view of a state whose type only its caller knows; without one nothing is seen. */
function viewOf<S>(view: ((state: S, at: number) => unknown) | undefined): Waiting["view"] {
  return (view as Waiting["view"] | undefined) ?? NOTHING
}

/** The ports of a runner, and what it knows. */
function workingOf(given: RunnerPorts, cache: StreamCache, stopping: AbortSignal): Working {
  const lookAgain = async (stream: string): Promise<unknown> => {
    const lane = cache.lanes.get(stream)
    return lane === undefined ? null : look(working, lane, NOTHING)
  }
  const working: Working = {
    tracing: NO_TRACING,
    ...given,
    heard: { confirmedAt: -Infinity },
    deadlines: watchDeadlines(given.pacer),
    damages: openDamages({ ...given, lookAgain, stopping }),
    deadlineMs: given.deadlineMs ?? DEFAULT_DEADLINE_MS,
    ending: { at: Infinity },
    worked: (lane) => measure(cache, lane),
  }
  return working
}

function enqueue(
  ports: Working,
  lane: Lane,
  asked: Pick<Waiting, "command" | "records" | "isPatient" | "isLatest" | "view">,
  deadlineMs: number = ports.deadlineMs,
): Promise<AnyOutcome> {
  if (lane.queue.length >= MAX_WAITING) {
    const message = `${lane.queue.length} callers wait for ${lane.stream}`
    return Promise.reject(new Overloaded(message))
  }
  const { promise, resolve, reject } = Promise.withResolvers<AnyOutcome>()
  const arrivedAt = ports.pacer.elapsedMs()
  const tell = (): void => {
    one.isTold = true
    ports.deadlines.forget(one)
  }
  const one: Waiting = {
    ...asked,
    arrivedAt,
    deadline: arrivedAt + deadlineMs,
    isInDoubt: false,
    isTold: false,
    resolve: (outcome) => {
      tell()
      resolve(outcome)
    },
    reject: (error) => {
      tell()
      reject(error)
    },
  }
  lane.queue.push(one)
  lane.wake?.()
  ports.deadlines.watch(one, lane)
  wake(ports, lane)
  return promise
}

/** Begins to work through the queue, unless somebody does. Callers of the same moment share a batch. */
function wake(ports: Working, lane: Lane): void {
  lane.busy ??= Promise.resolve()
    .then(() => drain(ports, lane))
    .finally(() => {
      lane.busy = null
      ports.worked(lane)
      if (lane.queue.length > 0) wake(ports, lane)
    })
}

async function look(
  ports: Working,
  lane: Lane,
  view: Waiting["view"],
  deadlineMs?: number,
): Promise<unknown> {
  const { loaded } = lane
  if (lane.busy === null && loaded !== null && isFresh(ports, lane)) {
    return view(loaded.state, timeOf(ports, lane, loaded))
  }
  return (await enqueue(ports, lane, { command: null, view }, deadlineMs)).view
}

/**
 * Gathers an item on the state in memory, which may hold facts that are not stored yet: enough to
 * let it pass, and nobody is turned away on it. Whatever was waited for, the stream may have been let
 * go meanwhile: what is gathered beside a state that nobody finds again would never be recorded.
 *
 * @throws DeadlinePassed, and what a look throws: it was not gathered
 */
async function gatherInto(
  ports: Working,
  laneNow: () => Lane,
  item: unknown,
  stopping: AbortSignal,
  deadlineMs: number = ports.deadlineMs,
): Promise<unknown> {
  const deadline = ports.pacer.elapsedMs() + deadlineMs
  for (;;) {
    const lane = laneNow()
    const leftMs = deadline - ports.pacer.elapsedMs()
    if (leftMs <= 0) throw new DeadlinePassed(`${lane.stream} took too long`)
    const { loaded } = lane
    const { gathering } = lane.aggregate
    if (gathering === undefined) throw new Error(`nothing gathers beside ${lane.stream}`)
    if (loaded !== null && isFresh(ports, lane)) {
      const at = timeOf(ports, lane, loaded)
      if (gathering.mustRecord(loaded.state, at)) {
        await recordGathered(ports, lane, leftMs)
        continue
      }
      if ((gathering.add(loaded.state, item, at) as unknown) === null) {
        lane.hasGathered = true
        lane.gatheredAt = at
        recordSoon(ports, lane, stopping)
        return null
      }
    }
    const view = (state: unknown, at: number): unknown => gathering.fault(state, item, at)
    const fault = await look(ports, lane, view, leftMs)
    if (fault !== null) return fault
  }
}

/** Records what is gathered by a timer, in case no append comes by. */
function recordSoon(ports: Working, lane: Lane, stopping: AbortSignal): void {
  if (lane.isTimed || stopping.aborted) return
  lane.isTimed = true
  void ports.pacer.pause(RECORD_AFTER_MS, stopping).then(async () => {
    if (!stopping.aborted) await recordGathered(ports, lane)
    lane.isTimed = false
    if (lane.hasGathered) recordSoon(ports, lane, stopping)
  })
}

/** Resolves once what is gathered beside a stream was recorded, or could not be and was told of. */
async function recordGathered(ports: Working, lane: Lane, deadlineMs?: number): Promise<void> {
  // What a lost state left behind is in the queue already: it is waited for as well.
  if (!lane.hasGathered && lane.busy === null) return
  try {
    const recording = { command: null, records: true, isPatient: true } as const
    await enqueue(ports, lane, { ...recording, view: NOTHING }, deadlineMs)
  } catch (error) {
    ports.warn(`what is gathered for ${lane.stream} is not recorded yet`, error)
  }
}

async function recordAll(
  ports: Working,
  lanes: ReadonlyMap<string, Lane>,
  deadlineMs?: number,
): Promise<void> {
  await Promise.all([...lanes.values()].map((lane) => recordGathered(ports, lane, deadlineMs)))
}
