/**
 * A ledger that the laws can be tried on: the real one, a plain one, or a faulty one. The type of
 * its state is its own affair.
 */
import type { Stamped } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import { fundsIn, limitsIn, openIn, readingOf, RULES, type Rules } from "./plain-facts.ts"
import { type Answer, decideByReference } from "./reference-ledger.ts"

/** A ledger at work. */
export interface LedgerRun {
  readonly decide: (command: LedgerCommand & Stamped) => Answer
  readonly evolve: (fact: LedgerEvent) => void
  readonly fundsMicros: () => Micros
  readonly limits: (at: number) => readonly LimitReading[]
  readonly open: () => readonly ChargeId[]
  /** A checkpoint, as text. */
  readonly save: () => string
}

/** A ledger that can be begun, and gone on with from a checkpoint. */
export interface Subject {
  readonly begin: () => LedgerRun
  readonly resume: (saved: string) => LedgerRun
}

/** The ledger of this house. */
export const realLedger: Subject = {
  begin: () => realRun(ledger.initial()),
  resume: (saved) => realRun(ledgerCheckpoint.load(JSON.parse(saved))),
}

function realRun(initial: Ledger): LedgerRun {
  let state = initial
  return {
    decide: (command) => ledger.decide(command, state),
    evolve: (fact) => {
      state = ledger.evolve(state, fact)
    },
    fundsMicros: () => accountOf(state).fundsMicros,
    limits: (at) => readLimits(state, at),
    open: () => openCharges(state),
    save: () => JSON.stringify(ledgerCheckpoint.save(state)),
  }
}

/** The plain ledger, with rules that may be wrong. */
export function plainLedger(rules: Rules = RULES): Subject {
  const run = (facts: LedgerEvent[]): LedgerRun => ({
    decide: (command) => decideByReference(facts, command, rules),
    evolve: (fact) => void facts.push(fact),
    fundsMicros: () => fundsIn(facts),
    limits: (at) => limitsIn(facts).map((limit) => readingOf(facts, limit, at, 0, rules)),
    open: () => openIn(facts),
    save: () => JSON.stringify(facts),
  })
  return {
    begin: () => run([]),
    resume: (saved) => run(JSON.parse(saved) as LedgerEvent[]),
  }
}

/** The facts of an answer; none where it is a no. */
export function factsOf(answer: Answer): readonly LedgerEvent[] {
  return isRefusal(answer) ? [] : answer
}
