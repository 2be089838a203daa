/**
 * The runner executes commands: it loads a stream's state, decides, appends and answers.
 *
 * Callers of a stream wait in its stream queue. While one append is in flight the next batch
 * collects; each command is decided on the state that the commands before it in the batch made. One
 * append stores all their facts at an exact revision, then each caller gets its answer.
 *
 * - No command is reported as accepted before the store confirmed its facts. A refusal decided after
 *   an unconfirmed command of its batch waits for that command.
 * - A batch that conflicts with another writer is decided again on the store's state.
 * - An append with an unknown outcome is repeated with the same bytes, then resolved by reading. A
 *   caller whose deadline passes meanwhile gets `OutcomeUnknown`; the append continues.
 * - No caller waits past its deadline. A command that was not decided by then stores nothing.
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

/** Maximum number of callers that wait for one stream; further callers get `Overloaded`. */
const MAX_QUEUED = 20_000
/** Buffered items wait at most this long for an append of their stream. */
const FLUSH_AFTER_MS = 5_000
/** How long a closing runner tries to store buffered items while the store is unavailable. */
const CLOSE_TIMEOUT_MS = 60_000

/** Opens the runner. One per process. */
export function openRunner(given: RunnerPorts): Runner {
  const cache = emptyCache(given.maxBytes ?? DEFAULT_MAX_BYTES)
  const { queues } = cache
  const stopping = new AbortController()
  const ports = runnerContextOf(given, cache, stopping.signal)
  const queueFor = ({ aggregate, stream }: AggregateStream<AnyAggregate>) =>
    queueOf(cache, aggregate, stream)
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    stopping.abort()
    ports.shutdown.at = ports.pacer.elapsedMs() + CLOSE_TIMEOUT_MS
    await flushAll(ports, queues, CLOSE_TIMEOUT_MS)
    for (const queue of queues.values()) {
      while (queue.draining !== null) await queue.draining
      saveCheckpoint(ports, queue, 1)
    }
    // The checkpoints are saved concurrently: thousands in sequence would take longer than a stop may.
    for (const queue of queues.values()) await queue.savingCheckpoint
    ports.deadlines.stop()
  }
  return {
    deadlineMs: ports.deadlineMs,
    elapsedMs: () => ports.pacer.elapsedMs(),
    execute: (to, command, cause, view, deadlineMs) => {
      const trace = ports.tracing.currentTraceParent()
      const traced = trace === null ? cause : { ...cause, trace }
      const request = { command: { given: command as object, cause: traced }, view: viewOf(view) }
      return enqueue(ports, queueFor(to), request, deadlineMs) as Promise<never>
    },
    read: (at, view, deadlineMs) =>
      readFresh(ports, queueFor(at), viewOf(view), deadlineMs) as Promise<never>,
    readLatest: async (at, view, deadlineMs) => {
      const reading = { command: null, needsLatest: true as const, view: viewOf(view) }
      return (await enqueue(ports, queueFor(at), reading, deadlineMs)).view as never
    },
    readCached: async (at, view, deadlineMs) => {
      const queue = queueFor(at)
      if (queue.loadedState === null || !isFresh(ports, queue)) {
        return readFresh(ports, queue, viewOf(view), deadlineMs) as Promise<never>
      }
      return view(queue.loadedState.state as never, ledgerTimeOf(ports, queue, queue.loadedState))
    },
    buffer: (to, item, deadlineMs) => {
      const currentQueue = () => queueFor(to)
      return bufferItem(ports, currentQueue, item, stopping.signal, deadlineMs) as Promise<never>
    },
    noteAppended: (events) => {
      for (const event of events) {
        const queue = queues.get(event.stream)
        if (queue !== undefined) noteAppended(queue, event)
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

/** A view of a state whose type only the caller knows; by default it returns undefined. */
function viewOf<S>(view: ((state: S, at: number) => unknown) | undefined): QueuedCall["view"] {
  return (view as QueuedCall["view"] | undefined) ?? NO_VIEW
}

/** The ports of a runner with its shared state. */
function runnerContextOf(
  given: RunnerPorts,
  cache: StreamCache,
  stopping: AbortSignal,
): RunnerContext {
  const readAgain = async (stream: string): Promise<unknown> => {
    const queue = cache.queues.get(stream)
    return queue === undefined ? null : readFresh(context, queue, NO_VIEW)
  }
  const context: RunnerContext = {
    tracing: NO_TRACING,
    ...given,
    readConfirmation: { confirmedAt: -Infinity },
    deadlines: watchDeadlines(given.pacer),
    corruptWatch: openCorruptStreamWatch({ ...given, readAgain, stopping }),
    deadlineMs: given.deadlineMs ?? DEFAULT_DEADLINE_MS,
    shutdown: { at: Infinity },
    onIdle: (queue) => updateMemoryUse(cache, queue),
  }
  return context
}

function enqueue(
  ports: RunnerContext,
  queue: StreamQueue,
  request: Pick<QueuedCall, "command" | "flushesBuffer" | "waitsForClock" | "needsLatest" | "view">,
  deadlineMs: number = ports.deadlineMs,
): Promise<AnyOutcome> {
  if (queue.calls.length >= MAX_QUEUED) {
    const message = `${queue.calls.length} callers already wait for ${queue.stream}`
    return Promise.reject(new Overloaded(message))
  }
  const { promise, resolve, reject } = Promise.withResolvers<AnyOutcome>()
  const arrivedAt = ports.pacer.elapsedMs()
  const markAnswered = (): void => {
    call.isAnswered = true
    ports.deadlines.forget(call)
  }
  const call: QueuedCall = {
    ...request,
    arrivedAt,
    deadline: arrivedAt + deadlineMs,
    isOutcomeUnknown: false,
    isAnswered: false,
    resolve: (outcome) => {
      markAnswered()
      resolve(outcome)
    },
    reject: (error) => {
      markAnswered()
      reject(error)
    },
  }
  queue.calls.push(call)
  queue.wake?.()
  ports.deadlines.watch(call, queue)
  startDraining(ports, queue)
  return promise
}

/** Starts to drain the queue if it is idle. Callers that arrive in the same tick share a batch. */
function startDraining(ports: RunnerContext, queue: StreamQueue): void {
  queue.draining ??= Promise.resolve()
    .then(() => drainQueue(ports, queue))
    .finally(() => {
      queue.draining = null
      ports.onIdle(queue)
      if (queue.calls.length > 0) startDraining(ports, queue)
    })
}

async function readFresh(
  ports: RunnerContext,
  queue: StreamQueue,
  view: QueuedCall["view"],
  deadlineMs?: number,
): Promise<unknown> {
  const { loadedState } = queue
  if (queue.draining === null && loadedState !== null && isFresh(ports, queue)) {
    return view(loadedState.state, ledgerTimeOf(ports, queue, loadedState))
  }
  return (await enqueue(ports, queue, { command: null, view }, deadlineMs)).view
}

/**
 * Buffers an item with the state in memory. That state may hold facts that are not stored yet: it is
 * good enough to accept an item, but an item is rejected only by stored facts.
 *
 * @param currentQueue finds the stream's queue again after each wait: it may have been evicted, and
 *   items buffered in an evicted queue would be lost
 * @throws DeadlinePassed and the errors of a read: the item was not buffered
 */
async function bufferItem(
  ports: RunnerContext,
  currentQueue: () => StreamQueue,
  item: unknown,
  stopping: AbortSignal,
  deadlineMs: number = ports.deadlineMs,
): Promise<unknown> {
  const deadline = ports.pacer.elapsedMs() + deadlineMs
  for (;;) {
    const queue = currentQueue()
    const leftMs = deadline - ports.pacer.elapsedMs()
    if (leftMs <= 0) throw new DeadlinePassed(`${queue.stream} took too long`)
    const { loadedState } = queue
    const { buffering } = queue.aggregate
    if (buffering === undefined) throw new Error(`nothing is buffered for ${queue.stream}`)
    if (loadedState !== null && isFresh(ports, queue)) {
      const at = ledgerTimeOf(ports, queue, loadedState)
      if (buffering.mustFlush(loadedState.state, at)) {
        await flushQueue(ports, queue, leftMs)
        continue
      }
      if ((buffering.add(loadedState.state, item, at) as unknown) === null) {
        queue.hasBuffered = true
        queue.bufferedAt = at
        scheduleFlush(ports, queue, stopping)
        return null
      }
    }
    const view = (state: unknown, at: number): unknown => buffering.checkAdd(state, item, at)
    const fault = await readFresh(ports, queue, view, leftMs)
    if (fault !== null) return fault
  }
}

/** Stores buffered items after `FLUSH_AFTER_MS`, in case no append of the stream takes them along. */
function scheduleFlush(ports: RunnerContext, queue: StreamQueue, stopping: AbortSignal): void {
  if (queue.hasFlushTimer || stopping.aborted) return
  queue.hasFlushTimer = true
  void ports.pacer.pause(FLUSH_AFTER_MS, stopping).then(async () => {
    if (!stopping.aborted) await flushQueue(ports, queue)
    queue.hasFlushTimer = false
    if (queue.hasBuffered) scheduleFlush(ports, queue, stopping)
  })
}

/** Resolves once a stream's buffered items are stored, or a warning says that they are not. */
async function flushQueue(
  ports: RunnerContext,
  queue: StreamQueue,
  deadlineMs?: number,
): Promise<void> {
  // Items that a dropped state had buffered are already in the queue; wait for them too.
  if (!queue.hasBuffered && queue.draining === null) return
  try {
    const flush = { command: null, flushesBuffer: true, waitsForClock: true } as const
    await enqueue(ports, queue, { ...flush, view: NO_VIEW }, deadlineMs)
  } catch (error) {
    ports.warn(`the buffered items of ${queue.stream} are not stored yet`, error)
  }
}

async function flushAll(
  ports: RunnerContext,
  queues: ReadonlyMap<string, StreamQueue>,
  deadlineMs?: number,
): Promise<void> {
  await Promise.all([...queues.values()].map((queue) => flushQueue(ports, queue, deadlineMs)))
}
