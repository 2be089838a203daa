/** Decides waiting commands in sequence, each on the state that the commands before it made. */
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import { ClockUnsure } from "../../../../adapters/machine/clock/port.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import { isRefusal } from "../../../../domain/kernel/decider.ts"
import { wrapFact, causedBy } from "../../kernel/envelope.ts"
import type { Batch, StreamQueue, QueuedCall } from "./stream-queue.ts"
import type { LoadedState } from "./load.ts"
import type { RunnerPorts } from "./port.ts"
import { OutcomeUnknown } from "./port.ts"
import { ledgerTimeOf } from "./freshness.ts"
import type {
  EventStore,
  Position,
  ProposedEvent,
  StoredEvent,
} from "../../../../adapters/eventstore/port.ts"
import {
  CorruptStream,
  StaleStore,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "../../../../adapters/eventstore/port.ts"
import { newId } from "../../kernel/ids.ts"

const MAX_BATCH_EVENTS = 500
const MAX_BATCH_BYTES = 512 * 1024

/** The state that commands are decided on, and the batch that takes their facts. */
interface DecisionContext {
  readonly ports: RunnerPorts
  readonly queue: StreamQueue
  readonly loaded: LoadedState<unknown>
  readonly batch: Batch
}

/** Facts, or a refusal; null for a call without a command. */
type Decision = readonly Fact[] | Fact | null

/**
 * Decides waiting calls until the batch is full or the queue is empty. While the clock is unsure, calls
 * with `waitsForClock` stay in the queue.
 */
export function decideBatch(
  ports: RunnerPorts,
  queue: StreamQueue,
  loaded: LoadedState<unknown>,
): Batch {
  const batch: Batch = { events: [], hash: loaded.hash, answers: [] }
  const context: DecisionContext = { ports, queue, loaded, batch }
  const patient: QueuedCall[] = []
  let bytes = 0
  while (queue.calls.length > 0) {
    if (batch.events.length >= MAX_BATCH_EVENTS || bytes >= MAX_BATCH_BYTES) break
    const call = queue.calls.shift() as QueuedCall
    try {
      bytes += decideOne(context, call)
    } catch (error) {
      if (call.waitsForClock === true && error instanceof ClockUnsure) patient.push(call)
      else call.reject(error)
    }
  }
  queue.calls.unshift(...patient)
  return batch
}

/**
 * Decides one call, adds its facts to the batch and returns their bytes. Buffered items are stored before
 * the first facts of a batch; a refusal is decided with them in memory and stores nothing.
 */
function decideOne(context: DecisionContext, call: QueuedCall): number {
  const { ports, queue, loaded } = context
  let at = ledgerTimeOf(ports, queue, loaded)
  const mustFlush = call.flushesBuffer ?? queue.aggregate.buffering?.mustFlush(loaded.state, at)
  const flushedBytes = mustFlush === true ? decideBuffered(context) : 0
  // The buffered facts may be a millisecond later than `at`, or in the next month.
  at = Math.max(at, loaded.at)
  const decided = decide(context, call, at)
  const hasFacts = decided !== null && !isRefusal(decided) && decided.length > 0
  const bufferedBytes = hasFacts ? decideBuffered(context) : 0
  at = Math.max(at, loaded.at)
  const decision = bufferedBytes > 0 ? decide(context, call, at) : decided
  return flushedBytes + bufferedBytes + addToBatch(context, call, at, decision)
}

/** Adds the facts of the buffered items to the batch and returns their bytes. */
function decideBuffered(context: DecisionContext): number {
  const { ports, queue, loaded } = context
  const buffered = takeBuffered(ports, queue, loaded)
  if (buffered === null) return 0
  try {
    return decideOne(context, buffered)
  } catch (error) {
    // The caller whose command comes next must not fail because of it.
    buffered.reject(error)
    return 0
  }
}

/** The aggregate's decision; null for a caller that only reads. */
function decide(
  { queue, loaded, batch }: DecisionContext,
  { command }: QueuedCall,
  at: number,
): Decision {
  if (command === null) return null
  const { decider } = queue.aggregate
  const stamp = { at, headHash: batch.hash }
  return decider.decide(command.given, loaded.state, stamp) as readonly Fact[] | Fact
}

/** Adds a decision to the batch and returns the bytes of its facts. */
function addToBatch(
  context: DecisionContext,
  call: QueuedCall,
  at: number,
  decided: Decision,
): number {
  const { ports, queue, loaded, batch } = context
  const { decider, codec } = queue.aggregate
  if (call.command === null || decided === null) {
    const view = call.view(loaded.state, at)
    batch.answers.push({ call, outcome: { accepted: true, facts: [], view, position: null } })
    return 0
  }
  if (isRefusal(decided)) {
    const view = call.view(loaded.state, at)
    batch.answers.push({ call, outcome: { accepted: false, refusal: decided, view } })
    return 0
  }
  // All facts are encoded before the first is folded: one that cannot be encoded leaves the state as it is.
  const first = loaded.revision + 1
  let { hash } = batch
  const { cause } = call.command
  const wrapped = decided.map((fact, i) => {
    const link = { stream: queue.stream, revision: first + i, previousHash: hash }
    const event = wrapFact(codec, fact, link, cause, ports.newUuid?.())
    hash = event.hash
    return event.proposed
  })
  for (const fact of decided) {
    loaded.state = decider.evolve(loaded.state, fact)
    loaded.at = Math.max(loaded.at, fact.at)
  }
  loaded.revision += decided.length
  batch.hash = hash
  batch.events.push(...wrapped)
  const view = call.view(loaded.state, at)
  const outcome = { accepted: true as const, facts: decided, view, position: null }
  batch.answers.push({ call, outcome })
  return wrapped.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0)
}

const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000

/** An append; every try sends the same bytes. */
export interface BatchAppend {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
  /** When the last caller stops waiting for the outcome, by the pacer's elapsed time; may become earlier. */
  readonly waitedUntil: () => number
}

/**
 * Appends and returns the position of the last event. After an unknown outcome only the store resolves it:
 * by the same append again, which succeeds if the first was stored, or, after a conflict, by the stored events.
 *
 * @throws WrongRevision, Unavailable, TooLarge, AccessDenied: nothing was stored
 * @throws OutcomeUnknown after `waitedUntil`: the events may be stored
 */
export async function appendUntilKnown(
  { store, pacer }: { readonly store: EventStore; readonly pacer: Pacer },
  append: BatchAppend,
): Promise<Position> {
  const { stream, events, expectedRevision, waitedUntil } = append
  let isUnknown = false
  let retryMs = RETRY_FIRST_MS
  for (;;) {
    try {
      return await appendOnce(store, append, isUnknown)
    } catch (error) {
      isUnknown ||= error instanceof UnknownOutcome
      const isRetried =
        error instanceof UnknownOutcome || (error instanceof Unavailable && isUnknown)
      // Neither a corrupt stream nor an older copy of the store shows whether the events are stored.
      const isHidden = isUnknown && (error instanceof CorruptStream || error instanceof StaleStore)
      if (!isRetried && !isHidden) throw error
      if (isHidden || pacer.elapsedMs() >= waitedUntil()) {
        const appended = `${events.length} events after revision ${expectedRevision} of ${stream}`
        throw new OutcomeUnknown(`it is unknown whether ${appended} are stored`, { cause: error })
      }
      await pacer.pause(retryMs)
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
    }
  }
}

async function appendOnce(
  store: EventStore,
  append: BatchAppend,
  isUnknown: boolean,
): Promise<Position> {
  const { stream, events, expectedRevision } = append
  try {
    return (await store.append(stream, events, expectedRevision)).position
  } catch (error) {
    if (!(error instanceof WrongRevision) || !isUnknown) throw error
    const position = await findStored(store, append)
    if (position === null) throw error
    return position
  }
}

/** The position of the last of these events; null if other events have their revisions. */
async function findStored(
  store: EventStore,
  { stream, events, expectedRevision }: BatchAppend,
): Promise<Position | null> {
  const found: StoredEvent[] = []
  const range = { from: expectedRevision + 1, limit: events.length }
  for await (const page of store.read(stream, range)) found.push(...page)
  if (found[0]?.revision !== expectedRevision + 1) {
    // The store rejected the append with a conflict, so it must have an event here.
    const revision = expectedRevision + 1
    const actual = found[0] === undefined ? "nothing" : `revision ${found[0].revision}`
    throw new CorruptStream({ stream, revision, expected: `revision ${revision}`, found: actual })
  }
  const isSame = events.every((event, i) => found[i]?.id === event.id)
  return isSame ? (found.at(-1)?.position ?? null) : null
}

// Buffered items go into the stream before the facts of the next append, and outlive a state that is dropped.

/** Takes the buffered items out of a state, as a call for the queue; null if there are none. */
export function takeBuffered(
  ports: RunnerPorts,
  queue: StreamQueue,
  loaded: LoadedState<unknown>,
): QueuedCall | null {
  if (!queue.hasBuffered) return null
  queue.hasBuffered = false
  const command = queue.aggregate.buffering?.drain(loaded.state) as object | null
  if (command === null) return null
  const arrivedAt = ports.pacer.elapsedMs()
  return {
    command: { given: command, cause: causedBy(newId("cmd", ports.newUuid?.())) },
    // The buffered API calls were answered already and must not be lost while the clock is unsure.
    waitsForClock: true,
    view: () => undefined,
    arrivedAt,
    // No caller waits for it; it stays in the queue until it is stored or the process ends.
    deadline: Infinity,
    isOutcomeUnknown: false,
    isAnswered: false,
    resolve: (outcome) => {
      if (!outcome.accepted)
        ports.warn(`${queue.stream} refused its buffered items`, outcome.refusal)
    },
    reject: (error) => {
      ports.warn(`the buffered items of ${queue.stream} could not be stored`, error)
    },
  }
}

/** Drops a state that may differ from the store; its buffered items go to the front of the queue. */
export function dropState(ports: RunnerPorts, queue: StreamQueue): void {
  const buffered = queue.loadedState === null ? null : takeBuffered(ports, queue, queue.loadedState)
  queue.loadedState = null
  if (buffered !== null) queue.calls.unshift(buffered)
}
