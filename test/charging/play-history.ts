/**
 * Plays a history on a ledger with two processes that fold the same facts and each buffer their calls. As in the
 * runner, buffered calls of a past day are stored first; others are stored before the first command that records facts,
 * and that command is decided again.
 */
import type { LedgerCommand, RecordApiCalls } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { actionsFor, nextInstant } from "./actions.ts"
import { bufferedCallAt } from "./reference-calls.ts"
import type { LedgerFacts, BufferedCall, ProcessKnowledge } from "./reference-views.ts"
import type { LedgerAnswer } from "./reference-ledger.ts"
import { type LedgerRun, type LedgerUnderTest, acceptedFacts } from "./ledger-under-test.ts"
import type { LedgerHistory, DecisionMoment, ProcessIndex, HistoryTurn } from "./history.ts"

/** The state of a ledger after a step. */
export interface LedgerSnapshot {
  readonly fundsMicros: number
  readonly limits: readonly LimitReading[]
  readonly pendingCharges: readonly ChargeId[]
  /** The process's buffered calls. */
  readonly buffered: readonly BufferedCall[]
}

interface Step {
  readonly process: ProcessIndex
  readonly at: number
  readonly factsBefore: number
  /** The process's buffered calls before the step. */
  readonly buffered: readonly BufferedCall[]
  readonly after: LedgerSnapshot
}

export interface DecisionStep extends Step {
  readonly does: "decide"
  readonly command: LedgerCommand & DecisionStamp
  readonly answer: LedgerAnswer
  /** The answer when the same command is decided again immediately, without folding it. */
  readonly repeatedAnswer: LedgerAnswer
  /** The drained calls that the command stores; null for any other command. */
  readonly flushedCalls: readonly BufferedCall[] | null
}

/** A call that was served, or rejected by a limit. */
export interface ServedStep extends Step {
  readonly does: "serve"
  readonly call: ServedApiCall
  readonly answer: LimitReading | null
}

/** A history that was played on a ledger. */
export interface LedgerTrace {
  readonly steps: readonly (DecisionStep | ServedStep)[]
  readonly facts: LedgerFacts
  /** The funds after each fact. */
  readonly fundsAfter: readonly number[]
}

/** Plays a history on an empty ledger. */
export function playHistory(subject: LedgerUnderTest, history: LedgerHistory): LedgerTrace {
  const player = new HistoryPlayer(subject)
  let at = history.from
  for (const [i, turn] of history.turns.entries()) {
    at = nextInstant(at, turn.delay)
    player.playTurn(turn, { at, newId: `chg_${i}`, unitMicros: history.unitMicros })
  }
  return player
}

/** A ledger with these facts. */
export function refold(subject: LedgerUnderTest, facts: LedgerFacts): LedgerRun {
  const run = subject.start()
  for (const fact of facts) run.evolve(fact)
  return run
}

/** A hash for the stamp after so many facts. */
export function headHashAfter(facts: number): Pick<DecisionStamp, "headHash"> {
  return facts === 0 ? {} : { headHash: String(facts).padStart(64, "0") }
}

/** Freezes a value, because a ledger must not change facts. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) freeze(part)
  }
  return value
}

class HistoryPlayer implements LedgerTrace {
  readonly steps: (DecisionStep | ServedStep)[] = []
  readonly facts: LedgerEvent[] = []
  readonly fundsAfter: number[] = []
  readonly #runs: readonly [LedgerRun, LedgerRun]
  readonly #buffered: [readonly BufferedCall[], readonly BufferedCall[]] = [[], []]

  constructor(subject: LedgerUnderTest) {
    this.#runs = [subject.start(), subject.start()]
  }

  playTurn({ process, intentions }: HistoryTurn, moment: DecisionMoment): void {
    const { at, newId } = moment
    const known: ProcessKnowledge = { facts: [...this.facts], buffered: this.#buffered[process] }
    // All intentions become commands before any is decided, because callers do not wait for each other.
    const actions = intentions.flatMap((intention, i) => {
      return actionsFor(known, intention, { ...moment, newId: i === 0 ? newId : `${newId}.${i}` })
    })
    for (const action of actions) {
      if (this.#runs[process].mustFlush(at)) this.#flush(process, at)
      if (action.do === "serve") this.#serve(process, action.call, at)
      if (action.do === "record") this.#flush(process, at)
      if (action.do === "decide") this.#decide(process, action.command, at)
    }
  }

  #serve(process: ProcessIndex, call: ServedApiCall, at: number): void {
    const [factsBefore, buffered] = [this.facts.length, this.#buffered[process]]
    const answer = this.#runs[process].serve(call, at)
    if (answer === null) {
      const known = { facts: this.facts, buffered }
      this.#buffered[process] = [...buffered, bufferedCallAt(known, call, at)]
    }
    const after = this.#snapshot(process, at)
    this.steps.push({ does: "serve", process, at, factsBefore, buffered, call, answer, after })
  }

  #flush(on: ProcessIndex, at: number): void {
    const flushed = this.#buffered[on]
    const command = this.#runs[on].flush()
    this.#buffered[on] = []
    if (command !== null) this.#record(on, command, at, flushed)
  }

  #decide(on: ProcessIndex, unstamped: LedgerCommand, at: number): void {
    const command = { ...unstamped, at, ...headHashAfter(this.facts.length) }
    const answer = this.#runs[on].decide(command)
    const hasFacts = !isRefusal(answer) && answer.length > 0
    if (!hasFacts || this.#buffered[on].length === 0)
      return this.#addStep(on, command, answer, null)
    this.#flush(on, at)
    const later = { ...unstamped, at, ...headHashAfter(this.facts.length) }
    this.#addStep(on, later, this.#runs[on].decide(later), null)
  }

  #record(
    on: ProcessIndex,
    unstamped: RecordApiCalls,
    at: number,
    flushed: readonly BufferedCall[],
  ): void {
    const command = { ...unstamped, at, ...headHashAfter(this.facts.length) }
    this.#addStep(on, command, this.#runs[on].decide(command), flushed)
  }

  #addStep(
    on: ProcessIndex,
    command: LedgerCommand & DecisionStamp,
    answer: LedgerAnswer,
    flushed: readonly BufferedCall[] | null,
  ): void {
    const [before, buffered, { at }] = [this.facts.length, this.#buffered[on], command]
    for (const fact of acceptedFacts(answer)) {
      this.facts.push(freeze(fact))
      for (const run of this.#runs) run.evolve(fact)
      this.fundsAfter.push(this.#runs[on].fundsMicros())
    }
    const again = this.#runs[on].decide(command)
    const after = this.#snapshot(on, at)
    const step = {
      process: on,
      at,
      factsBefore: before,
      buffered,
      command,
      answer,
      repeatedAnswer: again,
      flushedCalls: flushed,
      after,
    }
    this.steps.push({ does: "decide", ...step })
  }

  #snapshot(on: ProcessIndex, at: number): LedgerSnapshot {
    const run = this.#runs[on]
    const [limits, buffered] = [run.limits(at), this.#buffered[on]]
    return {
      fundsMicros: run.fundsMicros(),
      limits,
      pendingCharges: run.pendingCharges(),
      buffered,
    }
  }
}
