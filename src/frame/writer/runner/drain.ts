/** Working through a stream's queue: load, decide a batch, store it, answer; again. */
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
/** So long a writer waits for its turn; then it writes all the same, and the store decides. */
const LOCK_TIMEOUT_MS = 100
const CONTENDED_FOR_MS = 1_000
/** So long it is tried to find out whether what was gathered is stored; nobody else waits so long. */
const UNKNOWN_OUTCOME_TIMEOUT_MS = 600_000

/** Works until nobody waits. Errors go to the callers they concern: it never throws. */
export async function drainQueue(working: RunnerContext, lane: StreamQueue): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (lane.calls.length > 0) {
    rejectLate(lane, working.pacer.elapsedMs(), working.shutdown.at)
    const worked = await withWriteLock(working, lane, () => drainOnce(working, lane))
    saveCheckpoint(working, lane, CHECKPOINT_EVENTS)
    if (worked) {
      retryMs = RETRY_FIRST_MS
      continue
    }
    // The store, or the clock, asks for patience; callers whose deadline passes meanwhile are turned away.
    await pauseUnlessWoken(working, lane, retryMs)
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
  }
}

/** Rests. Where all that is left waits without a deadline, the next caller ends it. */
async function pauseUnlessWoken(
  { pacer }: RunnerContext,
  lane: StreamQueue,
  ms: number,
): Promise<void> {
  const { promise: woken, resolve } = Promise.withResolvers<void>()
  if (lane.calls.every(({ deadline }) => deadline === Infinity)) lane.wake = resolve
  await Promise.race([pacer.pause(ms), woken])
  lane.wake = null
}

/** Where writers were in each other's way, they take turns by a lock; one that is not free is left. */
async function withWriteLock<T>(
  working: RunnerContext,
  lane: StreamQueue,
  work: () => Promise<T>,
): Promise<T> {
  if (lane.contendedUntil <= working.pacer.elapsedMs()) return work()
  const release = await working.locks.acquire(lane.stream, LOCK_TIMEOUT_MS)
  // Whoever had the turn before has written.
  lane.isStale = true
  try {
    return await work()
  } finally {
    await release?.()
  }
}

/**
 * Loads if need be and stores one batch; false where the store could not be reached, or whoever is
 * left waits for the ledger's time.
 */
async function drainOnce(working: RunnerContext, lane: StreamQueue): Promise<boolean> {
  let { loadedState } = lane
  try {
    const damage = working.corruptWatch.faultOf(lane.stream)
    if (damage !== null) throw damage
    if (loadedState === null) loadedState = await loadQueue(working, lane)
    else if (!isFresh(working, lane)) await catchUpQueue(working, lane)
  } catch (error) {
    if (isTransient(error)) return false
    failAll(working, lane, lane.calls.splice(0), error)
    // Whoever waits until it is mended, waits.
    return lane.calls.length === 0
  }
  const batch = decideBatch(working, lane, loadedState)
  if (batch.events.length > 0) return storeBatch(working, lane, loadedState, batch)
  if (batch.answers.length === 0 && lane.calls.length > 0) return false
  return answerUnstored(working, lane, batch)
}

async function loadQueue(working: RunnerContext, lane: StreamQueue): Promise<LoadedState<unknown>> {
  const asOf = working.pacer.elapsedMs()
  lane.isStale = false
  // What is heard of from here on may have come after it was read.
  const { stream, knownRevision } = lane
  const loaded = (await loadStream(working, lane.aggregate, stream)) as LoadedState<unknown>
  if (loaded.revision < knownRevision)
    throw truncatedStreamError(stream, loaded.revision, knownRevision)
  lane.knownRevision = Math.max(lane.knownRevision, loaded.revision)
  lane.confirmedAt = asOf
  lane.loadedState = loaded
  working.corruptWatch.clear(lane.stream)
  return loaded
}

/**
 * Answers those for whom nothing is stored. A no, or that there is nothing to do, stands only by a
 * state that was the store's since its caller came: where another process wrote meanwhile, it is
 * decided again. The same for a look, unless the state is young enough: it may have been long on its
 * way from the store, and whoever came meanwhile must not see what was so before they came.
 */
async function answerUnstored(
  working: RunnerContext,
  lane: StreamQueue,
  batch: Batch,
): Promise<boolean> {
  const waiting = batch.answers.map((one) => one.waiting)
  const since = Math.max(...waiting.map((one) => freshSince(working, one)), -Infinity)
  if (!isConfirmedSince(working, lane, since)) {
    try {
      if (await catchUpQueue(working, lane)) {
        requeue(lane, waiting)
        return true
      }
    } catch (error) {
      if (isTransient(error)) {
        requeue(lane, waiting)
        return false
      }
      failAll(working, lane, waiting, error)
      return lane.calls.length === 0
    }
  }
  answerAll(lane, batch)
  return true
}

/** Puts back in front whom nothing was stored for; who was turned away meanwhile is gone. */
function requeue(lane: StreamQueue, waiting: readonly QueuedCall[]): void {
  for (const one of waiting) one.isOutcomeUnknown = false
  lane.calls.unshift(...waiting.filter(({ isAnswered }) => !isAnswered))
}

/** Stores a batch and answers its callers; false where the store could not be reached. */
async function storeBatch(
  working: RunnerContext,
  lane: StreamQueue,
  loaded: LoadedState<unknown>,
  batch: Batch,
): Promise<boolean> {
  const { events, answers } = batch
  const waiting = answers.map((one) => one.waiting)
  // The state is the store's in the moment of the append: its answer may be long on its way.
  const asOf = working.pacer.elapsedMs()
  // A no stores nothing, whatever becomes of the append that it waits for.
  for (const one of answers) one.waiting.isOutcomeUnknown = isAcceptedCommand(one)
  const last = Math.max(
    ...waiting.map(({ deadline }) => Math.min(deadline, asOf + UNKNOWN_OUTCOME_TIMEOUT_MS)),
  )
  const expectedRevision = loaded.revision - events.length
  lane.appending = { events, first: expectedRevision + 1 }
  try {
    loaded.position = await traceAppend(working, lane, batch, () =>
      appendUntilKnown(working, {
        stream: lane.stream,
        events,
        expectedRevision,
        waitedUntil: () => Math.min(last, working.shutdown.at),
      }),
    )
    loaded.hash = batch.hash
    lane.knownRevision = loaded.revision
    lane.confirmedAt = asOf
    lane.conflicts = 0
    for (const event of events) countSinceCheckpoint(loaded, event)
    answerAll(lane, batch)
    return true
  } catch (error) {
    // The state holds facts that are not stored: it is thrown away, and the store is asked again.
    dropState(working, lane)
    if (error instanceof WrongRevision) noteConflict(working, lane)
    if (error instanceof WrongRevision || isTransient(error)) {
      requeue(lane, waiting)
      return error instanceof WrongRevision
    }
    failAll(working, lane, waiting, error)
    return lane.calls.length === 0 || !(error instanceof StaleStore)
  } finally {
    lane.appending = null
  }
}

/** Tells of an append in the trace of each caller who waits for it. */
function traceAppend<T>(
  { tracing }: RunnerContext,
  { aggregate }: StreamQueue,
  { answers, events }: Batch,
  append: () => Promise<T>,
): Promise<T> {
  if (tracing === NO_TRACING) return append()
  const traces = answers.flatMap(({ waiting }) => waiting.command?.cause.trace ?? [])
  if (traces.length === 0) return append()
  const attributes = {
    "ledger.stream.category": aggregate.category,
    "ledger.append.facts": events.length,
    "ledger.append.callers": answers.length,
  }
  return tracing.sharedSpan({ name: "append", kind: "producer", attributes }, traces, append)
}

function truncatedStreamError(stream: string, revision: number, known: number): CorruptStream {
  const expected = `facts up to revision ${known}, which were there`
  return new CorruptStream({ stream, revision: revision + 1, expected, found: "nothing" })
}

/** Whether the store may answer before the callers' deadlines. */
function isTransient(error: unknown): boolean {
  return error instanceof Unavailable && !(error instanceof StaleStore)
}

function isAcceptedCommand({ waiting, outcome }: Batch["answers"][number]): boolean {
  return waiting.command !== null && outcome.accepted
}

/** After the second conflict in a row the writers of this stream take turns, for a while. */
function noteConflict(working: RunnerContext, lane: StreamQueue): void {
  lane.conflicts += 1
  if (lane.conflicts >= 2) lane.contendedUntil = working.pacer.elapsedMs() + CONTENDED_FOR_MS
}

function answerAll(lane: StreamQueue, batch: Batch): void {
  const position = lane.loadedState?.position ?? null
  for (const { waiting, outcome } of batch.answers) {
    waiting.resolve(outcome.accepted ? { ...outcome, position } : outcome)
  }
}

function failAll(
  working: RunnerContext,
  lane: StreamQueue,
  waiting: readonly QueuedCall[],
  error: unknown,
): void {
  dropState(working, lane)
  const isDamaged = error instanceof CorruptStream
  if (isDamaged && working.corruptWatch.faultOf(lane.stream) === null)
    working.corruptWatch.note(error)
  const mayReturn = isDamaged || error instanceof StaleStore
  for (const one of waiting) {
    if (error instanceof OutcomeUnknown) rejectCaller(one, lane, error)
    // What was served and counted is kept until the stream is whole again, or the process ends.
    else if (mayReturn && one.deadline === Infinity) lane.calls.push(one)
    else one.reject(error)
  }
}

/** Keeps a checkpoint once enough facts came since the last: their number, or twice its own bytes. */
export function saveCheckpoint(working: RunnerContext, lane: StreamQueue, least: number): void {
  const form = lane.aggregate.checkpoint
  if (form === undefined || lane.loadedState === null) return
  const { revision, hash, sinceCheckpoint } = lane.loadedState
  if (sinceCheckpoint.facts < least) return
  if (least > 1 && sinceCheckpoint.bytes < 2 * lane.checkpointBytes) return
  const saved = form.save(lane.loadedState.state)
  sinceCheckpoint.facts = 0
  sinceCheckpoint.bytes = 0
  lane.checkpointBytes = JSON.stringify(saved).length
  // Written behind the append path: no caller waits for a cache.
  const checkpoint = { revision, hash, format: form.version, state: saved }
  lane.savingCheckpoint = lane.savingCheckpoint
    .then(() => working.checkpoints.save(lane.stream, checkpoint))
    .catch((error: unknown) => {
      working.warn(`no checkpoint was kept for ${lane.stream}`, error)
    })
}
