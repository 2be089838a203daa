/** What would be decided of a charge, asked without charging: nothing is recorded and nothing changes. */
import { isRefusal } from "../kernel/decider.ts"
import type { Micros } from "../kernel/money.ts"
import { availableCreditOf } from "./ledger-views.ts"
import type { ChargeCommand } from "./ledger-commands.ts"
import type { ChargeRefusalCode, ChargeRefused } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import { ledgerDecider } from "./ledger.ts"
import type { LimitReading } from "./limits.ts"

/** A limit of each holder and class may have to begin anew, one after the other. */
const MAX_RESETS = 16

/** What would become of a charge. */
export interface ChargeDryRun {
  readonly fits: boolean
  /** The code of the no; null where it fits. */
  readonly code: ChargeRefusalCode | null
  /** The first limit that stops it; null where none does. */
  readonly limit: LimitReading | null
  /** When it would fit if nothing else were spent; null where no passing of time lets it. */
  readonly fitsAt: number | null
  /** How much the funds and the credit line are short of it; 0 where they are not. */
  readonly shortMicros: Micros
  readonly fundsMicros: Micros
  readonly creditLineMicros: Micros
  /** Of the last fact that was known. */
  readonly ledgerRevision: number
}

/**
 * What would be decided of a charge at `at`, on this state.
 *
 * @throws RangeError where it is none: below zero, or its quantity times its unit price is not its amount
 */
export function dryRunCharge(state: LedgerState, charge: ChargeCommand, at: number): ChargeDryRun {
  const refused = refusalAt(state, charge, at)
  const creditLineMicros = availableCreditOf(state)
  const short = charge.amountMicros - state.fundsMicros - creditLineMicros
  return {
    fits: refused === null,
    code: refused?.code ?? null,
    limit: refused === null ? null : limitOf(refused),
    fitsAt: fitsAt(state, charge, at),
    shortMicros: charge.amountMicros === 0 ? 0 : Math.max(0, short),
    fundsMicros: state.fundsMicros,
    creditLineMicros,
    ledgerRevision: state.facts - 1,
  }
}

function refusalAt(state: LedgerState, charge: ChargeCommand, at: number): ChargeRefused | null {
  const decided = ledgerDecider.decide(charge, state, { at })
  if (!isRefusal(decided)) return null
  if (decided.type === "ChargeRefused") return decided
  throw new RangeError(`nobody can charge this: ${decided.code}`)
}

function limitOf({ limits, refusingLimit }: ChargeRefused): LimitReading | null {
  return refusingLimit === null ? null : (limits[refusingLimit] ?? null)
}

/** The first time from `at` on at which it fits: a limit that stops it can only let it pass anew. */
function fitsAt(state: LedgerState, charge: ChargeCommand, at: number): number | null {
  let then = at
  for (let resets = 0; resets < MAX_RESETS; resets += 1) {
    const refused = refusalAt(state, charge, then)
    if (refused === null) return then
    const limit = limitOf(refused)
    if (limit === null || charge.amountMicros > limit.amountMicros) return null
    then = limit.resetsAt
  }
  return null
}
