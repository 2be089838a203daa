/** Deciding: commands one after the other, each on the state that those before it made. */
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import { ClockUnsure } from "../../../../adapters/machine/clock/port.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import { isRefusal } from "../../../../domain/kernel/decider.ts"
import { wrap, causedBy } from "../../kernel/envelope.ts"
import type { Batch, Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import type { RunnerPorts } from "./port.ts"
import { OutcomeUnknown } from "./port.ts"
import { timeOf } from "./fresh.ts"
import type {
  EventStore,
  Position,
  ProposedEvent,
  StoredEvent,
} from "../../../../adapters/eventstore/port.ts"
import {
  DamagedStream,
  OlderStore,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "../../../../adapters/eventstore/port.ts"
import { newId } from "../../kernel/ids.ts"

const MAX_BATCH_EVENTS = 500
const MAX_BATCH_BYTES = 512 * 1024

/** What is decided: on which state, into which batch. */
interface Turn {
  readonly ports: RunnerPorts
  readonly lane: Lane
  readonly loaded: Loaded<unknown>
  readonly batch: Batch
}

/** Facts, or a refusal; null where nothing was to be decided. */
type Decided = readonly Fact[] | Fact | null

/**
 * Decides waiting commands until the batch is full or nobody waits. While the ledger's time is not
 * known the patient stay in the queue.
 */
export function gather(ports: RunnerPorts, lane: Lane, loaded: Loaded<unknown>): Batch {
  const batch: Batch = { events: [], hash: loaded.hash, answers: [] }
  const turn: Turn = { ports, lane, loaded, batch }
  const patient: Waiting[] = []
  let bytes = 0
  while (lane.queue.length > 0) {
    if (batch.events.length >= MAX_BATCH_EVENTS || bytes >= MAX_BATCH_BYTES) break
    const waiting = lane.queue.shift() as Waiting
    try {
      bytes += decideOne(turn, waiting)
    } catch (error) {
      if (waiting.isPatient === true && error instanceof ClockUnsure) patient.push(waiting)
      else waiting.reject(error)
    }
  }
  lane.queue.unshift(...patient)
  return batch
}

/**
 * Decides one command and adds its facts to the batch; answers the bytes they take. What is gathered
 * leads the first facts of a batch: a refusal is decided with it in memory and stores nothing.
 */
function decideOne(turn: Turn, waiting: Waiting): number {
  const { ports, lane, loaded } = turn
  let at = timeOf(ports, lane, loaded)
  const mustRecord = waiting.records ?? lane.aggregate.gathering?.mustRecord(loaded.state, at)
  const before = mustRecord === true ? lead(turn) : 0
  // Time goes on meanwhile: what leads may be of a later millisecond, or of the next month.
  at = Math.max(at, loaded.at)
  const decided = decide(turn, waiting, at)
  const isNews = decided !== null && !isRefusal(decided) && decided.length > 0
  const led = isNews ? lead(turn) : 0
  at = Math.max(at, loaded.at)
  const again = led > 0 ? decide(turn, waiting, at) : decided
  return before + led + settle(turn, waiting, at, again)
}

/** Adds the facts of what is gathered to the batch; answers the bytes they take, 0 for nothing. */
function lead(turn: Turn): number {
  const { ports, lane, loaded } = turn
  const gathered = takeGathered(ports, lane, loaded)
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
function decide({ lane, loaded, batch }: Turn, { command }: Waiting, at: number): Decided {
  if (command === null) return null
  const { decider } = lane.aggregate
  const stamp = { at, headHash: batch.hash }
  return decider.decide(command.given, loaded.state, stamp) as readonly Fact[] | Fact
}

/** Adds what was decided to the batch; answers the bytes that its facts take. */
function settle(turn: Turn, waiting: Waiting, at: number, decided: Decided): number {
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
    const one = wrap(codec, fact, place, cause, ports.newUuid?.())
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
export interface Append {
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
export async function appendSurely(
  { store, pacer }: { readonly store: EventStore; readonly pacer: Pacer },
  append: Append,
): Promise<Position> {
  const { stream, events, expectedRevision, waitedUntil } = append
  let inDoubt = false
  let retryMs = RETRY_FIRST_MS
  for (;;) {
    try {
      return await tryOnce(store, append, inDoubt)
    } catch (error) {
      inDoubt ||= error instanceof UnknownOutcome
      const mayPass = error instanceof UnknownOutcome || (error instanceof Unavailable && inDoubt)
      // Neither a stream that is not whole nor an older copy of it shows whether they are in it.
      const isHidden = inDoubt && (error instanceof DamagedStream || error instanceof OlderStore)
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

async function tryOnce(store: EventStore, append: Append, inDoubt: boolean): Promise<Position> {
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
  { stream, events, expectedRevision }: Append,
): Promise<Position | null> {
  const found: StoredEvent[] = []
  const range = { from: expectedRevision + 1, limit: events.length }
  for await (const page of store.read(stream, range)) found.push(...page)
  if (found[0]?.revision !== expectedRevision + 1) {
    // The store has just said that there is something.
    const revision = expectedRevision + 1
    const there = found[0] === undefined ? "nothing" : `revision ${found[0].revision}`
    throw new DamagedStream({ stream, revision, expected: `revision ${revision}`, found: there })
  }
  const isSame = events.every((event, i) => found[i]?.id === event.id)
  return isSame ? (found.at(-1)?.position ?? null) : null
}

// What is gathered beside a stream's state on its way into the stream: it leads the next append,
// and survives a state that is thrown away.

/** Takes out what is gathered, as somebody in the queue; null where nothing is. */
export function takeGathered(
  ports: RunnerPorts,
  lane: Lane,
  loaded: Loaded<unknown>,
): Waiting | null {
  if (!lane.hasGathered) return null
  lane.hasGathered = false
  const command = lane.aggregate.gathering?.take(loaded.state) as object | null
  if (command === null) return null
  const arrivedAt = ports.pacer.elapsedMs()
  return {
    command: { given: command, cause: causedBy(newId("cmd", ports.newUuid?.())) },
    // These calls were served already: they are not lost because the time is not known just now.
    isPatient: true,
    view: () => undefined,
    arrivedAt,
    // Nobody waits for it: it is kept until it is stored, or the process ends.
    deadline: Infinity,
    isInDoubt: false,
    isTold: false,
    resolve: (outcome) => {
      if (!outcome.accepted) ports.warn(`${lane.stream} refused what was gathered`, outcome.refusal)
    },
    reject: (error) => {
      ports.warn(`what was gathered for ${lane.stream} could not be recorded`, error)
    },
  }
}

/** Throws a state away that may differ from the store; what is gathered beside it goes on first. */
export function forgetState(ports: RunnerPorts, lane: Lane): void {
  const gathered = lane.loaded === null ? null : takeGathered(ports, lane, lane.loaded)
  lane.loaded = null
  if (gathered !== null) lane.queue.unshift(gathered)
}
