/** Deciding: commands one after the other, each on the state that those before it made. */
import { ClockUnsure } from "../../../../adapters/machine/clock/port.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import { isRefusal } from "../../../../domain/kernel/decider.ts"
import { wrap } from "../../kernel/envelope.ts"
import { takeGathered } from "./gathered.ts"
import type { Batch, Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import type { RunnerPorts } from "./port.ts"
import { timeOf } from "./fresh.ts"

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
