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
import type { AggregateStream } from "../../../domain/kernel/aggregate.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { openCorruptStreamWatch, watchDeadlines } from "./runner/deadlines.ts"
import { drainQueue, saveCheckpoint } from "./runner/drain.ts"
import type {
  AnyAggregate,
  AnyOutcome,
  StreamQueue,
  QueuedCall,
  StreamCache,
} from "./runner/stream-queue.ts"
import { emptyCache, queueOf, updateMemoryUse } from "./runner/stream-queue.ts"
import type { RunnerContext } from "./runner/freshness.ts"
import { isFresh, noteAppended, ledgerTimeOf } from "./runner/freshness.ts"
import type { Runner, RunnerPorts } from "./runner/port.ts"
import {
  DEFAULT_DEADLINE_MS,
  DEFAULT_MAX_BYTES,
  DeadlinePassed,
  Overloaded,
} from "./runner/port.ts"

export type { CommandOutcome, Runner } from "./runner/port.ts"
export { OutcomeUnknown } from "./runner/port.ts"

/** More callers than this may not wait for one stream: the next is turned away. */
const MAX_QUEUED = 20_000
/** What is gathered waits no longer than this for an append to ride on. */
const FLUSH_AFTER_MS = 5_000
/** How long it is tried at a stop to record what is gathered, while the store is away. */
const CLOSE_TIMEOUT_MS = 60_000

/** Opens the runner. One per process. */
export function openRunner(given: RunnerPorts): Runner {
  const cache = emptyCache(given.maxBytes ?? DEFAULT_MAX_BYTES)
  const { queues } = cache
  const stopping = new AbortController()
  const ports = runnerContextOf(given, cache, stopping.signal)
  const laneFor = ({ aggregate, stream }: AggregateStream<AnyAggregate>) =>
    queueOf(cache, aggregate, stream)
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    stopping.abort()
    ports.shutdown.at = ports.pacer.elapsedMs() + CLOSE_TIMEOUT_MS
    await flushAll(ports, queues, CLOSE_TIMEOUT_MS)
    for (const lane of queues.values()) {
      while (lane.draining !== null) await lane.draining
      saveCheckpoint(ports, lane, 1)
    }
    // All of them are kept together: one after the other, thousands would outlast the stop.
    for (const lane of queues.values()) await lane.savingCheckpoint
    ports.deadlines.stop()
  }
  return {
    deadlineMs: ports.deadlineMs,
    elapsedMs: () => ports.pacer.elapsedMs(),
    execute: (to, command, cause, view, deadlineMs) => {
      const trace = ports.tracing.currentTraceParent()
      const traced = trace === null ? cause : { ...cause, trace }
      const asked = { command: { given: command as object, cause: traced }, view: viewOf(view) }
      return enqueue(ports, laneFor(to), asked, deadlineMs) as Promise<never>
    },
    read: (at, view, deadlineMs) =>
      readFresh(ports, laneFor(at), viewOf(view), deadlineMs) as Promise<never>,
    readLatest: async (at, view, deadlineMs) => {
      const looking = { command: null, needsLatest: true as const, view: viewOf(view) }
      return (await enqueue(ports, laneFor(at), looking, deadlineMs)).view as never
    },
    readCached: async (at, view, deadlineMs) => {
      const lane = laneFor(at)
      if (lane.loadedState === null || !isFresh(ports, lane)) {
        return readFresh(ports, lane, viewOf(view), deadlineMs) as Promise<never>
      }
      return view(lane.loadedState.state as never, ledgerTimeOf(ports, lane, lane.loadedState))
    },
    buffer: (beside, item, deadlineMs) => {
      const laneNow = () => laneFor(beside)
      return bufferItem(ports, laneNow, item, stopping.signal, deadlineMs) as Promise<never>
    },
    noteAppended: (events) => {
      for (const event of events) {
        const lane = queues.get(event.stream)
        if (lane !== undefined) noteAppended(lane, event)
      }
    },
    noteConfirmed: (asOfMs) => {
      ports.readConfirmation.confirmedAt = Math.max(ports.readConfirmation.confirmedAt, asOfMs)
    },
    corruptStreams: () => ports.corruptWatch.all(),
    flush: () => flushAll(ports, queues),
    close: () => (closing ??= close()),
  }
}

const NO_VIEW: QueuedCall["view"] = () => undefined

/** A view of a state whose type only its caller knows; without one nothing is seen. */
function viewOf<S>(view: ((state: S, at: number) => unknown) | undefined): QueuedCall["view"] {
  return (view as QueuedCall["view"] | undefined) ?? NO_VIEW
}

/** The ports of a runner, and what it knows. */
function runnerContextOf(
  given: RunnerPorts,
  cache: StreamCache,
  stopping: AbortSignal,
): RunnerContext {
  const readAgain = async (stream: string): Promise<unknown> => {
    const lane = cache.queues.get(stream)
    return lane === undefined ? null : readFresh(working, lane, NO_VIEW)
  }
  const working: RunnerContext = {
    tracing: NO_TRACING,
    ...given,
    readConfirmation: { confirmedAt: -Infinity },
    deadlines: watchDeadlines(given.pacer),
    corruptWatch: openCorruptStreamWatch({ ...given, readAgain, stopping }),
    deadlineMs: given.deadlineMs ?? DEFAULT_DEADLINE_MS,
    shutdown: { at: Infinity },
    onIdle: (lane) => updateMemoryUse(cache, lane),
  }
  return working
}

function enqueue(
  ports: RunnerContext,
  lane: StreamQueue,
  asked: Pick<QueuedCall, "command" | "flushesBuffer" | "waitsForClock" | "needsLatest" | "view">,
  deadlineMs: number = ports.deadlineMs,
): Promise<AnyOutcome> {
  if (lane.calls.length >= MAX_QUEUED) {
    const message = `${lane.calls.length} callers wait for ${lane.stream}`
    return Promise.reject(new Overloaded(message))
  }
  const { promise, resolve, reject } = Promise.withResolvers<AnyOutcome>()
  const arrivedAt = ports.pacer.elapsedMs()
  const tell = (): void => {
    one.isAnswered = true
    ports.deadlines.forget(one)
  }
  const one: QueuedCall = {
    ...asked,
    arrivedAt,
    deadline: arrivedAt + deadlineMs,
    isOutcomeUnknown: false,
    isAnswered: false,
    resolve: (outcome) => {
      tell()
      resolve(outcome)
    },
    reject: (error) => {
      tell()
      reject(error)
    },
  }
  lane.calls.push(one)
  lane.wake?.()
  ports.deadlines.watch(one, lane)
  startDraining(ports, lane)
  return promise
}

/** Begins to work through the queue, unless somebody does. Callers of the same moment share a batch. */
function startDraining(ports: RunnerContext, lane: StreamQueue): void {
  lane.draining ??= Promise.resolve()
    .then(() => drainQueue(ports, lane))
    .finally(() => {
      lane.draining = null
      ports.onIdle(lane)
      if (lane.calls.length > 0) startDraining(ports, lane)
    })
}

async function readFresh(
  ports: RunnerContext,
  lane: StreamQueue,
  view: QueuedCall["view"],
  deadlineMs?: number,
): Promise<unknown> {
  const { loadedState } = lane
  if (lane.draining === null && loadedState !== null && isFresh(ports, lane)) {
    return view(loadedState.state, ledgerTimeOf(ports, lane, loadedState))
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
async function bufferItem(
  ports: RunnerContext,
  laneNow: () => StreamQueue,
  item: unknown,
  stopping: AbortSignal,
  deadlineMs: number = ports.deadlineMs,
): Promise<unknown> {
  const deadline = ports.pacer.elapsedMs() + deadlineMs
  for (;;) {
    const lane = laneNow()
    const leftMs = deadline - ports.pacer.elapsedMs()
    if (leftMs <= 0) throw new DeadlinePassed(`${lane.stream} took too long`)
    const { loadedState } = lane
    const { buffering } = lane.aggregate
    if (buffering === undefined) throw new Error(`nothing is buffered for ${lane.stream}`)
    if (loadedState !== null && isFresh(ports, lane)) {
      const at = ledgerTimeOf(ports, lane, loadedState)
      if (buffering.mustFlush(loadedState.state, at)) {
        await flushQueue(ports, lane, leftMs)
        continue
      }
      if ((buffering.add(loadedState.state, item, at) as unknown) === null) {
        lane.hasBuffered = true
        lane.bufferedAt = at
        scheduleFlush(ports, lane, stopping)
        return null
      }
    }
    const view = (state: unknown, at: number): unknown => buffering.checkAdd(state, item, at)
    const fault = await readFresh(ports, lane, view, leftMs)
    if (fault !== null) return fault
  }
}

/** Records what is gathered by a timer, in case no append comes by. */
function scheduleFlush(ports: RunnerContext, lane: StreamQueue, stopping: AbortSignal): void {
  if (lane.hasFlushTimer || stopping.aborted) return
  lane.hasFlushTimer = true
  void ports.pacer.pause(FLUSH_AFTER_MS, stopping).then(async () => {
    if (!stopping.aborted) await flushQueue(ports, lane)
    lane.hasFlushTimer = false
    if (lane.hasBuffered) scheduleFlush(ports, lane, stopping)
  })
}

/** Resolves once what is gathered beside a stream was recorded, or could not be and was told of. */
async function flushQueue(
  ports: RunnerContext,
  lane: StreamQueue,
  deadlineMs?: number,
): Promise<void> {
  // What a lost state left behind is in the queue already: it is waited for as well.
  if (!lane.hasBuffered && lane.draining === null) return
  try {
    const recording = { command: null, flushesBuffer: true, waitsForClock: true } as const
    await enqueue(ports, lane, { ...recording, view: NO_VIEW }, deadlineMs)
  } catch (error) {
    ports.warn(`what is gathered for ${lane.stream} is not recorded yet`, error)
  }
}

async function flushAll(
  ports: RunnerContext,
  lanes: ReadonlyMap<string, StreamQueue>,
  deadlineMs?: number,
): Promise<void> {
  await Promise.all([...lanes.values()].map((lane) => flushQueue(ports, lane, deadlineMs)))
}
