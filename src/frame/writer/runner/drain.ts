/** Working through a stream's queue: load, decide a batch, store it, answer; again. */
import {
  DamagedStream,
  OlderStore,
  Unavailable,
  WrongRevision,
} from "../../../../adapters/eventstore/port.ts"
import { NO_TRACING } from "../../../../adapters/telemetry/port.ts"
import { appendSurely, gather, forgetState } from "./batch.ts"
import { turnAway, turnAwayLate } from "./deadlines.ts"
import type { Working } from "./fresh.ts"
import { catchUp, freshFor, isConfirmedSince, isFresh } from "./fresh.ts"
import type { Batch, Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import { addSinceCheckpoint, loadStream } from "./load.ts"
import { OutcomeUnknown } from "./port.ts"

const CHECKPOINT_EVENTS = 200
const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000
/** So long a writer waits for its turn; then it writes all the same, and the store decides. */
const TURN_WAIT_MS = 100
const CONTENDED_FOR_MS = 1_000
/** So long it is tried to find out whether what was gathered is stored; nobody else waits so long. */
const DOUBT_MS = 600_000

/** Works until nobody waits. Errors go to the callers they concern: it never throws. */
export async function drain(working: Working, lane: Lane): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (lane.queue.length > 0) {
    turnAwayLate(lane, working.pacer.elapsedMs(), working.ending.at)
    const worked = await inTurn(working, lane, () => workOnce(working, lane))
    keepCheckpoint(working, lane, CHECKPOINT_EVENTS)
    if (worked) {
      retryMs = RETRY_FIRST_MS
      continue
    }
    // The store, or the clock, asks for patience; callers whose deadline passes meanwhile are turned away.
    await rest(working, lane, retryMs)
    retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
  }
}

/** Rests. Where all that is left waits without a deadline, the next caller ends it. */
async function rest({ pacer }: Working, lane: Lane, ms: number): Promise<void> {
  const { promise: woken, resolve } = Promise.withResolvers<void>()
  if (lane.queue.every(({ deadline }) => deadline === Infinity)) lane.wake = resolve
  await Promise.race([pacer.pause(ms), woken])
  lane.wake = null
}

/** Where writers were in each other's way, they take turns by a lock; one that is not free is left. */
async function inTurn<T>(working: Working, lane: Lane, work: () => Promise<T>): Promise<T> {
  if (lane.contendedUntil <= working.pacer.elapsedMs()) return work()
  const release = await working.locks.take(lane.stream, TURN_WAIT_MS)
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
async function workOnce(working: Working, lane: Lane): Promise<boolean> {
  let { loaded } = lane
  try {
    const damage = working.damages.of(lane.stream)
    if (damage !== null) throw damage
    if (loaded === null) loaded = await load(working, lane)
    else if (!isFresh(working, lane)) await catchUp(working, lane)
  } catch (error) {
    if (mayPass(error)) return false
    failAll(working, lane, lane.queue.splice(0), error)
    // Whoever waits until it is mended, waits.
    return lane.queue.length === 0
  }
  const batch = gather(working, lane, loaded)
  if (batch.events.length > 0) return storeBatch(working, lane, loaded, batch)
  if (batch.answers.length === 0 && lane.queue.length > 0) return false
  return answerUnstored(working, lane, batch)
}

async function load(working: Working, lane: Lane): Promise<Loaded<unknown>> {
  const asOf = working.pacer.elapsedMs()
  lane.isStale = false
  // What is heard of from here on may have come after it was read.
  const { stream, reached } = lane
  const loaded = (await loadStream(working, lane.aggregate, stream)) as Loaded<unknown>
  if (loaded.revision < reached) throw endsEarly(stream, loaded.revision, reached)
  lane.reached = Math.max(lane.reached, loaded.revision)
  lane.confirmedAt = asOf
  lane.loaded = loaded
  working.damages.clear(lane.stream)
  return loaded
}

/**
 * Answers those for whom nothing is stored. A no, or that there is nothing to do, stands only by a
 * state that was the store's since its caller came: where another process wrote meanwhile, it is
 * decided again. The same for a look, unless the state is young enough: it may have been long on its
 * way from the store, and whoever came meanwhile must not see what was so before they came.
 */
async function answerUnstored(working: Working, lane: Lane, batch: Batch): Promise<boolean> {
  const waiting = batch.answers.map((one) => one.waiting)
  const since = Math.max(...waiting.map((one) => freshFor(working, one)), -Infinity)
  if (!isConfirmedSince(working, lane, since)) {
    try {
      if (await catchUp(working, lane)) {
        queueAgain(lane, waiting)
        return true
      }
    } catch (error) {
      if (mayPass(error)) {
        queueAgain(lane, waiting)
        return false
      }
      failAll(working, lane, waiting, error)
      return lane.queue.length === 0
    }
  }
  answerAll(lane, batch)
  return true
}

/** Puts back in front whom nothing was stored for; who was turned away meanwhile is gone. */
function queueAgain(lane: Lane, waiting: readonly Waiting[]): void {
  for (const one of waiting) one.isInDoubt = false
  lane.queue.unshift(...waiting.filter(({ isTold }) => !isTold))
}

/** Stores a batch and answers its callers; false where the store could not be reached. */
async function storeBatch(
  working: Working,
  lane: Lane,
  loaded: Loaded<unknown>,
  batch: Batch,
): Promise<boolean> {
  const { events, answers } = batch
  const waiting = answers.map((one) => one.waiting)
  // The state is the store's in the moment of the append: its answer may be long on its way.
  const asOf = working.pacer.elapsedMs()
  // A no stores nothing, whatever becomes of the append that it waits for.
  for (const one of answers) one.waiting.isInDoubt = isYes(one)
  const last = Math.max(...waiting.map(({ deadline }) => Math.min(deadline, asOf + DOUBT_MS)))
  const expectedRevision = loaded.revision - events.length
  lane.appending = { events, first: expectedRevision + 1 }
  try {
    loaded.position = await inTraces(working, lane, batch, () =>
      appendSurely(working, {
        stream: lane.stream,
        events,
        expectedRevision,
        waitedUntil: () => Math.min(last, working.ending.at),
      }),
    )
    loaded.hash = batch.hash
    lane.reached = loaded.revision
    lane.confirmedAt = asOf
    lane.conflicts = 0
    for (const event of events) addSinceCheckpoint(loaded, event)
    answerAll(lane, batch)
    return true
  } catch (error) {
    // The state holds facts that are not stored: it is thrown away, and the store is asked again.
    forgetState(working, lane)
    if (error instanceof WrongRevision) noteConflict(working, lane)
    if (error instanceof WrongRevision || mayPass(error)) {
      queueAgain(lane, waiting)
      return error instanceof WrongRevision
    }
    failAll(working, lane, waiting, error)
    return lane.queue.length === 0 || !(error instanceof OlderStore)
  } finally {
    lane.appending = null
  }
}

/** Tells of an append in the trace of each caller who waits for it. */
function inTraces<T>(
  { tracing }: Working,
  { aggregate }: Lane,
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
  return tracing.shared({ name: "append", kind: "producer", attributes }, traces, append)
}

function endsEarly(stream: string, revision: number, known: number): DamagedStream {
  const expected = `facts up to revision ${known}, which were there`
  return new DamagedStream({ stream, revision: revision + 1, expected, found: "nothing" })
}

/** Whether the store may answer before the callers' deadlines. */
function mayPass(error: unknown): boolean {
  return error instanceof Unavailable && !(error instanceof OlderStore)
}

function isYes({ waiting, outcome }: Batch["answers"][number]): boolean {
  return waiting.command !== null && outcome.accepted
}

/** After the second conflict in a row the writers of this stream take turns, for a while. */
function noteConflict(working: Working, lane: Lane): void {
  lane.conflicts += 1
  if (lane.conflicts >= 2) lane.contendedUntil = working.pacer.elapsedMs() + CONTENDED_FOR_MS
}

function answerAll(lane: Lane, batch: Batch): void {
  const position = lane.loaded?.position ?? null
  for (const { waiting, outcome } of batch.answers) {
    waiting.resolve(outcome.accepted ? { ...outcome, position } : outcome)
  }
}

function failAll(working: Working, lane: Lane, waiting: readonly Waiting[], error: unknown): void {
  forgetState(working, lane)
  const isDamaged = error instanceof DamagedStream
  if (isDamaged && working.damages.of(lane.stream) === null) working.damages.note(error)
  const mayReturn = isDamaged || error instanceof OlderStore
  for (const one of waiting) {
    if (error instanceof OutcomeUnknown) turnAway(one, lane, error)
    // What was served and counted is kept until the stream is whole again, or the process ends.
    else if (mayReturn && one.deadline === Infinity) lane.queue.push(one)
    else one.reject(error)
  }
}

/** Keeps a checkpoint once enough facts came since the last: their number, or twice its own bytes. */
export function keepCheckpoint(working: Working, lane: Lane, least: number): void {
  const form = lane.aggregate.checkpoint
  if (form === undefined || lane.loaded === null) return
  const { revision, hash, sinceCheckpoint } = lane.loaded
  if (sinceCheckpoint.facts < least) return
  if (least > 1 && sinceCheckpoint.bytes < 2 * lane.checkpointBytes) return
  const saved = form.save(lane.loaded.state)
  sinceCheckpoint.facts = 0
  sinceCheckpoint.bytes = 0
  lane.checkpointBytes = JSON.stringify(saved).length
  // Written behind the append path: no caller waits for a cache.
  const checkpoint = { revision, hash, shape: form.shape, saved }
  lane.saving = lane.saving
    .then(() => working.checkpoints.save(lane.stream, checkpoint))
    .catch((error: unknown) => {
      working.warn(`no checkpoint was kept for ${lane.stream}`, error)
    })
}
