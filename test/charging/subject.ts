/**
 * A ledger that the laws can be tried on: the real one, a plain one, or a faulty one. The type of
 * its state is its own affair.
 */
import type { ServedCall } from "../../domain/charging/calls.ts"
import type { LedgerCommand, RecordCalls } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import { mustRecordCalls, serveCall, takeServedCalls } from "../../domain/charging/served-calls.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { callFaultIn, gatheredAt, recordingOf } from "./plain-calls.ts"
import type { GatheredCall } from "./plain-facts.ts"
import { fundsIn, limitsIn, openIn, readingOf, RULES, startOf, type Rules } from "./plain-facts.ts"
import { type Answer, decideByReference } from "./reference-ledger.ts"
import { decideStamped } from "../support/spec.ts"

/** A ledger at work. */
export interface LedgerRun {
  readonly decide: (command: LedgerCommand & Stamp) => Answer
  readonly evolve: (fact: LedgerEvent) => void
  /** Gathers a call; or answers the limit under which it does not fit. */
  readonly serve: (call: ServedCall, at: number) => LimitReading | null
  /** Takes out what is gathered. */
  readonly take: () => RecordCalls | null
  /** Whether what is gathered must be recorded before anything else at this instant. */
  readonly mustRecord: (at: number) => boolean
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
    decide: (command) => decideStamped(ledger, command, state),
    evolve: (fact) => {
      state = ledger.evolve(state, fact)
    },
    serve: (call, at) => serveCall(state, call, at),
    take: () => takeServedCalls(state),
    mustRecord: (at) => mustRecordCalls(state, at),
    fundsMicros: () => accountOf(state).fundsMicros,
    limits: (at) => readLimits(state, at),
    open: () => openCharges(state),
    save: () => JSON.stringify(ledgerCheckpoint.save(state)),
  }
}

/** The plain ledger, with rules that may be wrong. */
export function plainLedger(rules: Rules = RULES): Subject {
  return {
    begin: () => plainRun([], rules),
    resume: (saved) => plainRun(JSON.parse(saved) as LedgerEvent[], rules),
  }
}

function plainRun(facts: LedgerEvent[], rules: Rules): LedgerRun {
  let gathered: readonly GatheredCall[] = []
  return {
    decide: (command) => decideByReference({ facts, gathered }, command, rules),
    evolve: (fact) => void facts.push(fact),
    serve: (call, at) => {
      const known = { facts, gathered }
      const fault = callFaultIn(known, call, at, rules)
      if (fault === null) gathered = [...gathered, gatheredAt(known, call, at)]
      return fault
    },
    take: () => {
      const command = recordingOf(gathered)
      gathered = []
      return command
    },
    mustRecord: (at) => gathered.some(({ day }) => day < startOf("day", at, rules)),
    fundsMicros: () => fundsIn(facts),
    limits: (at) =>
      limitsIn(facts).map((limit) => readingOf({ facts, gathered }, limit, at, 0, rules)),
    open: () => openIn(facts),
    save: () => JSON.stringify(facts),
  }
}

/** The facts of an answer; none where it is a no. */
export function factsOf(answer: Answer): readonly LedgerEvent[] {
  return isRefusal(answer) ? [] : answer
}
