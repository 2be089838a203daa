/** Playing a history on a ledger: what it answered, and how it stood after each command. */
import type { Stamped } from "../../domain/kernel/decider.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { History } from "./histories.ts"
import { commandOf, nextInstant } from "./intentions.ts"
import type { Facts } from "./plain-facts.ts"
import type { Answer } from "./reference-ledger.ts"
import { type LedgerRun, type Subject, factsOf } from "./subject.ts"

/** One command, and how the ledger stood right after it. */
export interface Move {
  readonly command: LedgerCommand & Stamped
  readonly answer: Answer
  /** What the same command came to when it was decided again at once. Not folded. */
  readonly again: Answer
  /** How many facts there were before. */
  readonly before: number
  readonly fundsMicros: number
  readonly limits: readonly LimitReading[]
  readonly open: readonly ChargeId[]
}

/** A history as it was played on a ledger. */
export interface Trace {
  readonly moves: readonly Move[]
  readonly facts: Facts
}

/** Plays a history on a ledger from its beginning. */
export function play(subject: Subject, history: History): Trace {
  const run = subject.begin()
  const facts: LedgerEvent[] = []
  const moves: Move[] = []
  const move = (command: LedgerCommand & Stamped): void => {
    const before = facts.length
    const answer = run.decide(command)
    for (const fact of factsOf(answer)) {
      facts.push(fact)
      run.evolve(structuredClone(fact))
    }
    const again = run.decide(command)
    const [fundsMicros, open] = [run.fundsMicros(), run.open()]
    const limits = run.limits(command.at)
    moves.push({ command, answer, again, before, fundsMicros, limits, open })
  }
  const { creditLineMicros } = history
  let at = history.from
  move({ type: "OpenLedger", at, prepaidOnly: false, creditLineMicros })
  move({ type: "AddFunds", at, amountMicros: 60, reference: null })
  for (const [i, turn] of history.turns.entries()) {
    at = nextInstant(at, turn)
    move(commandOf(facts, turn, at, `chg_${i}`))
  }
  return { moves, facts }
}

/** A ledger to which these facts have happened. */
export function refold(subject: Subject, facts: Facts): LedgerRun {
  const run = subject.begin()
  for (const fact of facts) run.evolve(structuredClone(fact))
  return run
}
