/**
 * Playing a history on a ledger: what it answered, and how it stood after each step.
 *
 * Two processes fold the same facts, and each gathers the calls that it serves. What is gathered
 * leads an append as the writer does it: calls of a day that is over are recorded before anything
 * else; other ones lead the first command that records something, which is then decided again.
 */
import type { LedgerCommand, RecordCalls } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { ServedCall } from "../../domain/charging/calls.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { deedsOf, nextInstant } from "./deeds.ts"
import { gatheredAt } from "./plain-calls.ts"
import type { Facts, GatheredCall, Known } from "./plain-facts.ts"
import type { Answer } from "./reference-ledger.ts"
import { type LedgerRun, type Subject, factsOf } from "./subject.ts"
import type { History, Moment, Process, Turn } from "./turns.ts"

/** How a ledger stood. */
export interface Standing {
  readonly fundsMicros: number
  readonly limits: readonly LimitReading[]
  readonly open: readonly ChargeId[]
  /** The calls that the process has gathered and not recorded. */
  readonly gathered: readonly GatheredCall[]
}

interface Step {
  readonly on: Process
  readonly at: number
  /** How many facts there were before. */
  readonly before: number
  /** The calls that this process had gathered and not recorded before. */
  readonly gathered: readonly GatheredCall[]
  readonly after: Standing
}

/** A command that was decided. */
export interface Decided extends Step {
  readonly does: "decide"
  readonly command: LedgerCommand & Stamp
  readonly answer: Answer
  /** What the same command came to when it was decided again at once. Not folded. */
  readonly again: Answer
  /** What was taken out of the ledger to lead an append; null for any other command. */
  readonly taken: readonly GatheredCall[] | null
}

/** A call that was served, or refused by a limit. */
export interface Served extends Step {
  readonly does: "serve"
  readonly call: ServedCall
  readonly answer: LimitReading | null
}

/** A history as it was played on a ledger. */
export interface Trace {
  readonly steps: readonly (Decided | Served)[]
  readonly facts: Facts
  /** The funds after each fact. */
  readonly fundsAfter: readonly number[]
}

/** Plays a history on a ledger from its beginning. */
export function play(subject: Subject, history: History): Trace {
  const stage = new Stage(subject)
  let at = history.from
  for (const [i, turn] of history.turns.entries()) {
    at = nextInstant(at, turn.wait)
    stage.turn(turn, { at, fresh: `chg_${i}`, unitMicros: history.unitMicros })
  }
  return stage
}

/** A ledger to which these facts have happened. */
export function refold(subject: Subject, facts: Facts): LedgerRun {
  const run = subject.begin()
  for (const fact of facts) run.evolve(fact)
  return run
}

/** The hash that the writer stamps after so many facts. */
export function hashAfter(facts: number): Pick<Stamp, "headHash"> {
  return facts === 0 ? {} : { headHash: String(facts).padStart(64, "0") }
}

/** No ledger may change a fact. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) freeze(part)
  }
  return value
}

class Stage implements Trace {
  readonly steps: (Decided | Served)[] = []
  readonly facts: LedgerEvent[] = []
  readonly fundsAfter: number[] = []
  readonly #runs: readonly [LedgerRun, LedgerRun]
  readonly #gathered: [readonly GatheredCall[], readonly GatheredCall[]] = [[], []]

  constructor(subject: Subject) {
    this.#runs = [subject.begin(), subject.begin()]
  }

  turn({ on, intentions }: Turn, moment: Moment): void {
    const { at, fresh } = moment
    const known: Known = { facts: [...this.facts], gathered: this.#gathered[on] }
    // All are settled before any is decided: callers do not wait for each other.
    const deeds = intentions.flatMap((intention, i) => {
      return deedsOf(known, intention, { ...moment, fresh: i === 0 ? fresh : `${fresh}.${i}` })
    })
    for (const deed of deeds) {
      if (this.#runs[on].mustRecord(at)) this.#lead(on, at)
      if (deed.do === "serve") this.#serve(on, deed.call, at)
      if (deed.do === "record") this.#lead(on, at)
      if (deed.do === "decide") this.#decide(on, deed.command, at)
    }
  }

  #serve(on: Process, call: ServedCall, at: number): void {
    const [before, gathered] = [this.facts.length, this.#gathered[on]]
    const answer = this.#runs[on].serve(call, at)
    if (answer === null) {
      const known = { facts: this.facts, gathered }
      this.#gathered[on] = [...gathered, gatheredAt(known, call, at)]
    }
    const after = this.#standing(on, at)
    this.steps.push({ does: "serve", on, at, before, gathered, call, answer, after })
  }

  #lead(on: Process, at: number): void {
    const taken = this.#gathered[on]
    const command = this.#runs[on].take()
    this.#gathered[on] = []
    if (command !== null) this.#record(on, command, at, taken)
  }

  #decide(on: Process, given: LedgerCommand, at: number): void {
    const command = { ...given, at, ...hashAfter(this.facts.length) }
    const answer = this.#runs[on].decide(command)
    const isNews = !isRefusal(answer) && answer.length > 0
    if (!isNews || this.#gathered[on].length === 0) return this.#keep(on, command, answer, null)
    this.#lead(on, at)
    const later = { ...given, at, ...hashAfter(this.facts.length) }
    this.#keep(on, later, this.#runs[on].decide(later), null)
  }

  #record(on: Process, given: RecordCalls, at: number, taken: readonly GatheredCall[]): void {
    const command = { ...given, at, ...hashAfter(this.facts.length) }
    this.#keep(on, command, this.#runs[on].decide(command), taken)
  }

  #keep(
    on: Process,
    command: LedgerCommand & Stamp,
    answer: Answer,
    taken: readonly GatheredCall[] | null,
  ): void {
    const [before, gathered, { at }] = [this.facts.length, this.#gathered[on], command]
    for (const fact of factsOf(answer)) {
      this.facts.push(freeze(fact))
      for (const run of this.#runs) run.evolve(fact)
      this.fundsAfter.push(this.#runs[on].fundsMicros())
    }
    const again = this.#runs[on].decide(command)
    const after = this.#standing(on, at)
    const step = { on, at, before, gathered, command, answer, again, taken, after }
    this.steps.push({ does: "decide", ...step })
  }

  #standing(on: Process, at: number): Standing {
    const run = this.#runs[on]
    const [limits, gathered] = [run.limits(at), this.#gathered[on]]
    return { fundsMicros: run.fundsMicros(), limits, open: run.open(), gathered }
  }
}
