/** Deciding: commands one after the other, each on the state that those before it made. */
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

/** What is decided: on which state, into which batch. */
interface DecisionContext {
  readonly ports: RunnerPorts
  readonly lane: StreamQueue
  readonly loaded: LoadedState<unknown>
  readonly batch: Batch
}

/** Facts, or a refusal; null where nothing was to be decided. */
type Decision = readonly Fact[] | Fact | null

/**
 * Decides waiting commands until the batch is full or nobody waits. While the ledger's time is not
 * known the patient stay in the queue.
 */
export function decideBatch(
  ports: RunnerPorts,
  lane: StreamQueue,
  loaded: LoadedState<unknown>,
): Batch {
  const batch: Batch = { events: [], hash: loaded.hash, answers: [] }
  const turn: DecisionContext = { ports, lane, loaded, batch }
  const patient: QueuedCall[] = []
  let bytes = 0
  while (lane.calls.length > 0) {
    if (batch.events.length >= MAX_BATCH_EVENTS || bytes >= MAX_BATCH_BYTES) break
    const waiting = lane.calls.shift() as QueuedCall
    try {
      bytes += decideOne(turn, waiting)
    } catch (error) {
      if (waiting.waitsForClock === true && error instanceof ClockUnsure) patient.push(waiting)
      else waiting.reject(error)
    }
  }
  lane.calls.unshift(...patient)
  return batch
}

/**
 * Decides one command and adds its facts to the batch; answers the bytes they take. What is gathered
 * leads the first facts of a batch: a refusal is decided with it in memory and stores nothing.
 */
function decideOne(turn: DecisionContext, waiting: QueuedCall): number {
  const { ports, lane, loaded } = turn
  let at = ledgerTimeOf(ports, lane, loaded)
  const mustRecord = waiting.flushesBuffer ?? lane.aggregate.buffering?.mustFlush(loaded.state, at)
  const before = mustRecord === true ? decideBuffered(turn) : 0
  // Time goes on meanwhile: what leads may be of a later millisecond, or of the next month.
  at = Math.max(at, loaded.at)
  const decided = decide(turn, waiting, at)
  const isNews = decided !== null && !isRefusal(decided) && decided.length > 0
  const led = isNews ? decideBuffered(turn) : 0
  at = Math.max(at, loaded.at)
  const again = led > 0 ? decide(turn, waiting, at) : decided
  return before + led + addToBatch(turn, waiting, at, again)
}

/** Adds the facts of what is gathered to the batch; answers the bytes they take, 0 for nothing. */
function decideBuffered(turn: DecisionContext): number {
  const { ports, lane, loaded } = turn
  const gathered = takeBuffered(ports, lane, loaded)
  if (gathered === null) return 0
  try {
    return decideOne(turn, gathered)
  } catch (error) {
    // Whoever comes behind it has no part in it.
    gathered.reject(error)
    return 0
  }
}

/** What the decider says; null for a caller who only looks. */
function decide(
  { lane, loaded, batch }: DecisionContext,
  { command }: QueuedCall,
  at: number,
): Decision {
  if (command === null) return null
  const { decider } = lane.aggregate
  const stamp = { at, headHash: batch.hash }
  return decider.decide(command.given, loaded.state, stamp) as readonly Fact[] | Fact
}

/** Adds what was decided to the batch; answers the bytes that its facts take. */
function addToBatch(
  turn: DecisionContext,
  waiting: QueuedCall,
  at: number,
  decided: Decision,
): number {
  const { ports, lane, loaded, batch } = turn
  const { decider, codec } = lane.aggregate
  if (waiting.command === null || decided === null) {
    const view = waiting.view(loaded.state, at)
    batch.answers.push({ waiting, outcome: { accepted: true, facts: [], view, position: null } })
    return 0
  }
  if (isRefusal(decided)) {
    const view = waiting.view(loaded.state, at)
    batch.answers.push({ waiting, outcome: { accepted: false, refusal: decided, view } })
    return 0
  }
  // All facts are written down before any is folded: a fact that has no stored form spoils nothing.
  const first = loaded.revision + 1
  let { hash } = batch
  const { cause } = waiting.command
  const wrapped = decided.map((fact, i) => {
    const place = { stream: lane.stream, revision: first + i, previousHash: hash }
    const one = wrapFact(codec, fact, place, cause, ports.newUuid?.())
    hash = one.hash
    return one.proposed
  })
  for (const fact of decided) {
    loaded.state = decider.evolve(loaded.state, fact)
    loaded.at = Math.max(loaded.at, fact.at)
  }
  loaded.revision += decided.length
  batch.hash = hash
  batch.events.push(...wrapped)
  const view = waiting.view(loaded.state, at)
  const outcome = { accepted: true as const, facts: decided, view, position: null }
  batch.answers.push({ waiting, outcome })
  return wrapped.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0)
}

const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000

/** An append to be made, with the same bytes however often it takes. */
export interface BatchAppend {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
  /** By the pacer's elapsed time: after it, nobody waits for the outcome any more. It may come nearer. */
  readonly waitedUntil: () => number
}

/**
 * Appends, and answers where the last event stands. Once an outcome was unknown, nothing but the
 * store's own word ends the doubt: the same append again (which succeeds where it was stored), or,
 * where another append came after it, the events that stand there.
 *
 * @throws WrongRevision, Unavailable, TooLarge, AccessDenied: nothing was stored
 * @throws OutcomeUnknown once nobody waits for it any more: it may be stored
 */
export async function appendUntilKnown(
  { store, pacer }: { readonly store: EventStore; readonly pacer: Pacer },
  append: BatchAppend,
): Promise<Position> {
  const { stream, events, expectedRevision, waitedUntil } = append
  let inDoubt = false
  let retryMs = RETRY_FIRST_MS
  for (;;) {
    try {
      return await appendOnce(store, append, inDoubt)
    } catch (error) {
      inDoubt ||= error instanceof UnknownOutcome
      const mayPass = error instanceof UnknownOutcome || (error instanceof Unavailable && inDoubt)
      // Neither a stream that is not whole nor an older copy of it shows whether they are in it.
      const isHidden = inDoubt && (error instanceof CorruptStream || error instanceof StaleStore)
      if (!mayPass && !isHidden) throw error
      if (isHidden || pacer.elapsedMs() >= waitedUntil()) {
        const what = `${events.length} events after revision ${expectedRevision} of ${stream}`
        throw new OutcomeUnknown(`nobody knows whether ${what} are stored`, { cause: error })
      }
      await pacer.pause(retryMs)
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
    }
  }
}

async function appendOnce(
  store: EventStore,
  append: BatchAppend,
  inDoubt: boolean,
): Promise<Position> {
  const { stream, events, expectedRevision } = append
  try {
    return (await store.append(stream, events, expectedRevision)).position
  } catch (error) {
    if (!(error instanceof WrongRevision) || !inDoubt) throw error
    const position = await findStored(store, append)
    if (position === null) throw error
    return position
  }
}

/** Where the last of these events is stored; null where others stand in their place. */
async function findStored(
  store: EventStore,
  { stream, events, expectedRevision }: BatchAppend,
): Promise<Position | null> {
  const found: StoredEvent[] = []
  const range = { from: expectedRevision + 1, limit: events.length }
  for await (const page of store.read(stream, range)) found.push(...page)
  if (found[0]?.revision !== expectedRevision + 1) {
    // The store has just said that there is something.
    const revision = expectedRevision + 1
    const there = found[0] === undefined ? "nothing" : `revision ${found[0].revision}`
    throw new CorruptStream({ stream, revision, expected: `revision ${revision}`, found: there })
  }
  const isSame = events.every((event, i) => found[i]?.id === event.id)
  return isSame ? (found.at(-1)?.position ?? null) : null
}

// What is gathered beside a stream's state on its way into the stream: it leads the next append,
// and survives a state that is thrown away.

/** Takes out what is gathered, as somebody in the queue; null where nothing is. */
export function takeBuffered(
  ports: RunnerPorts,
  lane: StreamQueue,
  loaded: LoadedState<unknown>,
): QueuedCall | null {
  if (!lane.hasBuffered) return null
  lane.hasBuffered = false
  const command = lane.aggregate.buffering?.drain(loaded.state) as object | null
  if (command === null) return null
  const arrivedAt = ports.pacer.elapsedMs()
  return {
    command: { given: command, cause: causedBy(newId("cmd", ports.newUuid?.())) },
    // These calls were served already: they are not lost because the time is not known just now.
    waitsForClock: true,
    view: () => undefined,
    arrivedAt,
    // Nobody waits for it: it is kept until it is stored, or the process ends.
    deadline: Infinity,
    isOutcomeUnknown: false,
    isAnswered: false,
    resolve: (outcome) => {
      if (!outcome.accepted) ports.warn(`${lane.stream} refused what was gathered`, outcome.refusal)
    },
    reject: (error) => {
      ports.warn(`what was gathered for ${lane.stream} could not be recorded`, error)
    },
  }
}

/** Throws a state away that may differ from the store; what is gathered beside it goes on first. */
export function dropState(ports: RunnerPorts, lane: StreamQueue): void {
  const gathered = lane.loadedState === null ? null : takeBuffered(ports, lane, lane.loadedState)
  lane.loadedState = null
  if (gathered !== null) lane.calls.unshift(gathered)
}
