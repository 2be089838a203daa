/** Drains a stream queue: loads the state, decides a batch, stores it, answers, and repeats. */
import {
  CorruptStream,
  StaleStore,
  Unavailable,
  WrongRevision,
} from "../../../../adapters/eventstore/port.ts"
import { NO_TRACING } from "../../../../adapters/telemetry/port.ts"
import { appendUntilKnown, decideBatch, dropState } from "./batch.ts"
import { rejectCaller, rejectLate } from "./deadlines.ts"
import type { RunnerContext } from "./freshness.ts"
import { catchUpQueue, freshSince, isConfirmedSince, isFresh } from "./freshness.ts"
import type { Batch, StreamQueue, QueuedCall } from "./stream-queue.ts"
import type { LoadedState } from "./load.ts"
import { countSinceCheckpoint, loadStream } from "./load.ts"
import { OutcomeUnknown } from "./port.ts"

const CHECKPOINT_EVENTS = 200
const RETRY_FIRST_MS = 20
const RETRY_MAX_MS = 1_000
/** A writer waits this long for the lock, then writes without it: the store rejects a conflict. */
const LOCK_TIMEOUT_MS = 100
const CONTENDED_FOR_MS = 1_000
/** Limit for resolving an unknown outcome of buffered items, which have no deadline. */
const UNKNOWN_OUTCOME_TIMEOUT_MS = 600_000

/** Drains until the queue is empty. Never throws: errors go to the callers. */
export async function drainQueue(context: RunnerContext, queue: StreamQueue): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (queue.calls.length > 0) {
    rejectLate(queue, context.pacer.elapsedMs(), context.shutdown.at)
    const isProgress = await withWriteLock(context, queue, () => drainOnce(context, queue))
    saveCheckpoint(context, queue, CHECKPOINT_EVENTS)
    if (isProgress) {
      retryMs = RETRY_FIRST_MS
      continue
    }
    // The store or the clock is unavailable; callers whose deadline passes meanwhile are rejected.
    await pauseUnlessWoken(context, queue, retryMs)
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
  }
}

/** Pauses. If no call in the queue has a deadline, the next caller ends the pause. */
async function pauseUnlessWoken(
  { pacer }: RunnerContext,
  queue: StreamQueue,
  ms: number,
): Promise<void> {
  const { promise: woken, resolve } = Promise.withResolvers<void>()
  if (queue.calls.every(({ deadline }) => deadline === Infinity)) queue.wake = resolve
  await Promise.race([pacer.pause(ms), woken])
  queue.wake = null
}

/** Runs work with the stream's lock if writers conflicted recently; without it if the lock stays taken. */
async function withWriteLock<T>(
  context: RunnerContext,
  queue: StreamQueue,
  work: () => Promise<T>,
): Promise<T> {
  if (queue.contendedUntil <= context.pacer.elapsedMs()) return work()
  const release = await context.locks.acquire(queue.stream, LOCK_TIMEOUT_MS)
  // The previous holder of the lock has probably appended.
  queue.isStale = true
  try {
    return await work()
  } finally {
    await release?.()
  }
}

/**
 * Loads if needed and stores one batch. False if the store is unavailable, or the calls that are left wait
 * for the clock or for the stream's repair.
 */
async function drainOnce(context: RunnerContext, queue: StreamQueue): Promise<boolean> {
  let { loadedState } = queue
  try {
    const corruption = context.corruptWatch.faultOf(queue.stream)
    if (corruption !== null) throw corruption
    if (loadedState === null) loadedState = await loadQueue(context, queue)
    else if (!isFresh(context, queue)) await catchUpQueue(context, queue)
  } catch (error) {
    if (isTransient(error)) return false
    failAll(context, queue, queue.calls.splice(0), error)
    // Calls without a deadline wait until the stream is repaired.
    return queue.calls.length === 0
  }
  const batch = decideBatch(context, queue, loadedState)
  if (batch.events.length > 0) return storeBatch(context, queue, loadedState, batch)
  if (batch.answers.length === 0 && queue.calls.length > 0) return false
  return answerUnstored(context, queue, batch)
}

async function loadQueue(
  context: RunnerContext,
  queue: StreamQueue,
): Promise<LoadedState<unknown>> {
  const asOf = context.pacer.elapsedMs()
  queue.isStale = false
  // Events notified from here on may be newer than the load.
  const { stream, knownRevision } = queue
  const loaded = (await loadStream(context, queue.aggregate, stream)) as LoadedState<unknown>
  if (loaded.revision < knownRevision)
    throw truncatedStreamError(stream, loaded.revision, knownRevision)
  queue.knownRevision = Math.max(queue.knownRevision, loaded.revision)
  queue.confirmedAt = asOf
  queue.loadedState = loaded
  context.corruptWatch.clear(queue.stream)
  return loaded
}

/**
 * Answers a batch without facts: refusals, commands with nothing to do, and reads. A refusal needs a state that
 * the store had since its caller arrived, a read one that is at most a second old; otherwise the state is brought
 * up to date, and the calls are decided again if that brought new facts.
 */
async function answerUnstored(
  context: RunnerContext,
  queue: StreamQueue,
  batch: Batch,
): Promise<boolean> {
  const calls = batch.answers.map((one) => one.call)
  const since = Math.max(...calls.map((one) => freshSince(context, one)), -Infinity)
  if (!isConfirmedSince(context, queue, since)) {
    try {
      if (await catchUpQueue(context, queue)) {
        requeue(queue, calls)
        return true
      }
    } catch (error) {
      if (isTransient(error)) {
        requeue(queue, calls)
        return false
      }
      failAll(context, queue, calls, error)
      return queue.calls.length === 0
    }
  }
  answerAll(queue, batch)
  return true
}

/** Puts unanswered calls back at the front of the queue. */
function requeue(queue: StreamQueue, calls: readonly QueuedCall[]): void {
  for (const one of calls) one.isOutcomeUnknown = false
  queue.calls.unshift(...calls.filter(({ isAnswered }) => !isAnswered))
}

/** Stores a batch and answers its callers; false if the store is unavailable. */
async function storeBatch(
  context: RunnerContext,
  queue: StreamQueue,
  loaded: LoadedState<unknown>,
  batch: Batch,
): Promise<boolean> {
  const { events, answers } = batch
  const calls = answers.map((one) => one.call)
  // The state equals the store's from here on, not from the answer, which may take long.
  const asOf = context.pacer.elapsedMs()
  // A refusal stores nothing, whatever the outcome of the append it waits for.
  for (const one of answers) one.call.isOutcomeUnknown = isAcceptedCommand(one)
  const last = Math.max(
    ...calls.map(({ deadline }) => Math.min(deadline, asOf + UNKNOWN_OUTCOME_TIMEOUT_MS)),
  )
  const expectedRevision = loaded.revision - events.length
  queue.appending = { events, first: expectedRevision + 1 }
  try {
    loaded.position = await traceAppend(context, queue, batch, () =>
      appendUntilKnown(context, {
        stream: queue.stream,
        events,
        expectedRevision,
        waitedUntil: () => Math.min(last, context.shutdown.at),
      }),
    )
    loaded.hash = batch.hash
    queue.knownRevision = loaded.revision
    queue.confirmedAt = asOf
    queue.conflicts = 0
    for (const event of events) countSinceCheckpoint(loaded, event)
    answerAll(queue, batch)
    return true
  } catch (error) {
    // The state holds facts that were not stored.
    dropState(context, queue)
    if (error instanceof WrongRevision) noteConflict(context, queue)
    if (error instanceof WrongRevision || isTransient(error)) {
      requeue(queue, calls)
      return error instanceof WrongRevision
    }
    failAll(context, queue, calls, error)
    return queue.calls.length === 0 || !(error instanceof StaleStore)
  } finally {
    queue.appending = null
  }
}

/** Records an append as a span in the trace of each caller that waits for it. */
function traceAppend<T>(
  { tracing }: RunnerContext,
  { aggregate }: StreamQueue,
  { answers, events }: Batch,
  append: () => Promise<T>,
): Promise<T> {
  if (tracing === NO_TRACING) return append()
  const traces = answers.flatMap(({ call }) => call.command?.cause.trace ?? [])
  if (traces.length === 0) return append()
  const attributes = {
    "ledger.stream.category": aggregate.category,
    "ledger.append.facts": events.length,
    "ledger.append.callers": answers.length,
  }
  return tracing.sharedSpan({ name: "append", kind: "producer", attributes }, traces, append)
}

function truncatedStreamError(stream: string, revision: number, known: number): CorruptStream {
  const expected = `facts up to revision ${known}, which were stored before`
  return new CorruptStream({ stream, revision: revision + 1, expected, found: "nothing" })
}

/** Whether the same request may succeed before the callers' deadlines. */
function isTransient(error: unknown): boolean {
  return error instanceof Unavailable && !(error instanceof StaleStore)
}

function isAcceptedCommand({ call, outcome }: Batch["answers"][number]): boolean {
  return call.command !== null && outcome.accepted
}

/** After two consecutive conflicts, this stream's writers take a lock for `CONTENDED_FOR_MS`. */
function noteConflict(context: RunnerContext, queue: StreamQueue): void {
  queue.conflicts += 1
  if (queue.conflicts >= 2) queue.contendedUntil = context.pacer.elapsedMs() + CONTENDED_FOR_MS
}

function answerAll(queue: StreamQueue, batch: Batch): void {
  const position = queue.loadedState?.position ?? null
  for (const { call, outcome } of batch.answers) {
    call.resolve(outcome.accepted ? { ...outcome, position } : outcome)
  }
}

function failAll(
  context: RunnerContext,
  queue: StreamQueue,
  calls: readonly QueuedCall[],
  error: unknown,
): void {
  dropState(context, queue)
  const isCorrupt = error instanceof CorruptStream
  if (isCorrupt && context.corruptWatch.faultOf(queue.stream) === null)
    context.corruptWatch.note(error)
  const isRepairable = isCorrupt || error instanceof StaleStore
  for (const one of calls) {
    if (error instanceof OutcomeUnknown) rejectCaller(one, queue, error)
    // Buffered items stay in the queue until the stream is repaired or the process ends.
    else if (isRepairable && one.deadline === Infinity) queue.calls.push(one)
    else one.reject(error)
  }
}

/**
 * Saves a checkpoint once enough facts followed the last one: `least` facts and, for more than one, twice the
 * bytes of the last checkpoint.
 */
export function saveCheckpoint(context: RunnerContext, queue: StreamQueue, least: number): void {
  const form = queue.aggregate.checkpoint
  if (form === undefined || queue.loadedState === null) return
  const { revision, hash, sinceCheckpoint } = queue.loadedState
  if (sinceCheckpoint.facts < least) return
  if (least > 1 && sinceCheckpoint.bytes < 2 * queue.checkpointBytes) return
  const saved = form.save(queue.loadedState.state)
  sinceCheckpoint.facts = 0
  sinceCheckpoint.bytes = 0
  queue.checkpointBytes = JSON.stringify(saved).length
  // Saved in the background: no caller waits for a cache.
  const checkpoint = { revision, hash, format: form.version, state: saved }
  queue.savingCheckpoint = queue.savingCheckpoint
    .then(() => context.checkpoints.save(queue.stream, checkpoint))
    .catch((error: unknown) => {
      context.warn(`the checkpoint of ${queue.stream} could not be saved`, error)
    })
}
