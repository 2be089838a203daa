/** A ledger that the laws can check: the real one, the reference ledger, or a faulty one. */
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { LedgerCommand, RecordApiCalls } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import {
  mustFlushCalls,
  bufferServedCall,
  drainServedCalls,
} from "../../domain/charging/served-calls.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { exceededLimitIn, bufferedCallAt, recordCommandOf } from "./reference-calls.ts"
import type { BufferedCall } from "./reference-views.ts"
import {
  fundsIn,
  limitsIn,
  pendingChargesIn,
  limitReadingOf,
  REFERENCE_RULES,
  windowStartOf,
  type ReferenceRules,
} from "./reference-views.ts"
import { type LedgerAnswer, decideByReference } from "./reference-ledger.ts"
import { decideStamped } from "../support/decider-spec.ts"

export interface LedgerRun {
  readonly decide: (command: LedgerCommand & DecisionStamp) => LedgerAnswer
  readonly evolve: (fact: LedgerEvent) => void
  /** Buffers a call, or returns the limit that it would exceed. */
  readonly serve: (call: ServedApiCall, at: number) => LimitReading | null
  /** Drains the buffered calls. */
  readonly flush: () => RecordApiCalls | null
  /** Whether the buffered calls must be stored before anything else at this instant. */
  readonly mustFlush: (at: number) => boolean
  readonly fundsMicros: () => Micros
  readonly limits: (at: number) => readonly LimitReading[]
  readonly pendingCharges: () => readonly ChargeId[]
  /** A checkpoint as text. */
  readonly save: () => string
}

/** A ledger that can start empty or resume from a checkpoint. */
export interface LedgerUnderTest {
  readonly start: () => LedgerRun
  readonly resume: (saved: string) => LedgerRun
}

/** The project's ledger. */
export const realLedger: LedgerUnderTest = {
  start: () => runRealLedger(ledgerDecider.initial()),
  resume: (saved) => runRealLedger(ledgerCheckpoint.load(JSON.parse(saved))),
}

function runRealLedger(initial: LedgerState): LedgerRun {
  let state = initial
  return {
    decide: (command) => decideStamped(ledgerDecider, command, state),
    evolve: (fact) => {
      state = ledgerDecider.evolve(state, fact)
    },
    serve: (call, at) => bufferServedCall(state, call, at),
    flush: () => drainServedCalls(state),
    mustFlush: (at) => mustFlushCalls(state, at),
    fundsMicros: () => accountOf(state).fundsMicros,
    limits: (at) => readLimits(state, at),
    pendingCharges: () => pendingChargeIds(state),
    save: () => JSON.stringify(ledgerCheckpoint.save(state)),
  }
}

/** The reference ledger, with rules that may be wrong. */
export function referenceLedger(rules: ReferenceRules = REFERENCE_RULES): LedgerUnderTest {
  return {
    start: () => runReferenceLedger([], rules),
    resume: (saved) => runReferenceLedger(JSON.parse(saved) as LedgerEvent[], rules),
  }
}

function runReferenceLedger(facts: LedgerEvent[], rules: ReferenceRules): LedgerRun {
  let buffered: readonly BufferedCall[] = []
  return {
    decide: (command) => decideByReference({ facts, buffered }, command, rules),
    evolve: (fact) => void facts.push(fact),
    serve: (call, at) => {
      const known = { facts, buffered: buffered }
      const fault = exceededLimitIn(known, call, at, rules)
      if (fault === null) buffered = [...buffered, bufferedCallAt(known, call, at)]
      return fault
    },
    flush: () => {
      const command = recordCommandOf(buffered)
      buffered = []
      return command
    },
    mustFlush: (at) => buffered.some(({ day }) => day < windowStartOf("day", at, rules)),
    fundsMicros: () => fundsIn(facts),
    limits: (at) =>
      limitsIn(facts).map((limit) => limitReadingOf({ facts, buffered }, limit, at, 0, rules)),
    pendingCharges: () => pendingChargesIn(facts),
    save: () => JSON.stringify(facts),
  }
}

/** The facts of an answer; none for a refusal. */
export function acceptedFacts(answer: LedgerAnswer): readonly LedgerEvent[] {
  return isRefusal(answer) ? [] : answer
}
