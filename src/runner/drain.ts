/** Working through a stream's queue: load, decide a batch, store it, answer; again. */
import { Unavailable, WrongRevision } from "../../adapters/eventstore/port.ts"
import { appendSurely } from "./append.ts"
import { gather } from "./batch.ts"
import { forgetState } from "./gathered.ts"
import type { Batch, Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import { loadStream } from "./load.ts"
import type { RunnerPorts } from "./port.ts"
import { DeadlinePassed, OutcomeUnknown } from "./port.ts"

const CHECKPOINT_EVENTS = 200
const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000

/** Works until nobody waits. Errors go to the callers they concern: it never throws. */
export async function drain(ports: RunnerPorts, lane: Lane): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (lane.queue.length > 0) {
    turnAwayLate(ports, lane)
    const worked = await workOnce(ports, lane)
    keepCheckpoint(ports, lane, CHECKPOINT_EVENTS)
    if (worked) {
      retryMs = RETRY_FIRST_MS
      continue
    }
    // The store asks for patience; callers whose deadline passes meanwhile are turned away.
    await ports.pacer.pause(retryMs)
    retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
  }
}

/** Loads if need be and stores one batch; false where the store could not be reached. */
async function workOnce(ports: RunnerPorts, lane: Lane): Promise<boolean> {
  try {
    lane.loaded ??= (await loadStream(ports, lane.aggregate, lane.stream)) as Loaded<unknown>
  } catch (error) {
    if (error instanceof Unavailable) return false
    failAll(ports, lane, lane.queue.splice(0), error)
    return true
  }
  const batch = gather(ports, lane, lane.loaded)
  if (batch.events.length > 0) return storeBatch(ports, lane, lane.loaded, batch)
  answerAll(lane, batch)
  return true
}

function turnAwayLate(ports: RunnerPorts, lane: Lane): void {
  const now = ports.pacer.elapsedMs()
  if (!lane.queue.some((waiting) => waiting.deadline <= now)) return
  const everybody = lane.queue.splice(0)
  lane.queue.push(...everybody.filter((waiting) => waiting.deadline > now))
  const late = everybody.filter((waiting) => waiting.deadline <= now)
  for (const waiting of late) waiting.reject(new DeadlinePassed(`${lane.stream} took too long`))
}

/** Stores a batch and answers its callers; false where the store could not be reached. */
async function storeBatch(
  ports: RunnerPorts,
  lane: Lane,
  loaded: Loaded<unknown>,
  batch: Batch,
): Promise<boolean> {
  const { events, answers } = batch
  const waiting = answers.map((one) => one.waiting)
  try {
    loaded.position = await appendSurely(ports, {
      stream: lane.stream,
      events,
      expectedRevision: loaded.revision - events.length,
      deadline: Math.max(...waiting.map((one) => one.deadline)),
    })
    loaded.hash = batch.hash
    lane.factsSinceCheckpoint += events.length
    for (const { data } of events) lane.bytesSinceCheckpoint += data.length
    answerAll(lane, batch)
    return true
  } catch (error) {
    // The state holds facts that are not stored: it is thrown away, and the store is asked again.
    forgetState(ports, lane)
    if (error instanceof WrongRevision || error instanceof Unavailable) {
      lane.queue.unshift(...waiting)
      return error instanceof WrongRevision
    }
    failAll(ports, lane, waiting, error)
    return true
  }
}

function answerAll(lane: Lane, batch: Batch): void {
  const position = lane.loaded?.position ?? null
  for (const { waiting, outcome } of batch.answers) {
    waiting.resolve(outcome.accepted ? { ...outcome, position } : outcome)
  }
}

function failAll(
  ports: RunnerPorts,
  lane: Lane,
  waiting: readonly Waiting[],
  error: unknown,
): void {
  forgetState(ports, lane)
  for (const { command, reject } of waiting) {
    // Somebody who only looked has nothing in doubt: the store could not be read, and that is all.
    const isUnsure = command === null && error instanceof OutcomeUnknown
    reject(isUnsure ? new Unavailable(error.message, { cause: error }) : error)
  }
}

/** Keeps a checkpoint once enough facts came since the last: their number, or twice its own bytes. */
export function keepCheckpoint(ports: RunnerPorts, lane: Lane, least: number): void {
  const form = lane.aggregate.checkpoint
  if (form === undefined || lane.loaded === null) return
  if (lane.factsSinceCheckpoint < least) return
  if (least > 1 && lane.bytesSinceCheckpoint < 2 * lane.checkpointBytes) return
  const { revision, hash } = lane.loaded
  const saved = form.save(lane.loaded.state) as unknown
  lane.factsSinceCheckpoint = 0
  lane.bytesSinceCheckpoint = 0
  lane.checkpointBytes = JSON.stringify(saved).length
  // Written behind the append path: no caller waits for a cache.
  const checkpoint = { revision, hash, shape: form.shape, saved }
  lane.saving = lane.saving
    .then(() => ports.checkpoints.save(lane.stream, checkpoint))
    .catch((error: unknown) => {
      ports.warn(`no checkpoint was kept for ${lane.stream}`, error)
    })
}
