/** Dry runs: what a charge would be decided as, without recording anything. */
import { isRefusal } from "../kernel/decider.ts"
import type { Micros } from "../kernel/money.ts"
import { availableCreditOf } from "./ledger-views.ts"
import type { ChargeCommand } from "./ledger-commands.ts"
import type { ChargeRefusalCode, ChargeRefused } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import { ledgerDecider } from "./ledger.ts"
import type { LimitReading } from "./limits.ts"

/** The limit of each holder and class may have to reset, one after the other. */
const MAX_RESETS = 16

export interface ChargeDryRun {
  readonly fits: boolean
  readonly code: ChargeRefusalCode | null
  /** The first limit that the charge exceeds; null if none. */
  readonly limit: LimitReading | null
  /** When the charge would fit without other spending; null if waiting does not help. */
  readonly fitsAt: number | null
  /** How much funds and credit line lack for the charge, in micro-dollars. */
  readonly shortMicros: Micros
  readonly fundsMicros: Micros
  readonly creditLineMicros: Micros
  /** The revision of the last event of the state that was used. */
  readonly ledgerRevision: number
}

/**
 * Decides a charge at `at` without recording it.
 *
 * @throws RangeError if the charge is invalid: negative, or amount differs from quantity times unit price
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
  throw new RangeError(`invalid charge: ${decided.code}`)
}

function limitOf({ limits, refusingLimit }: ChargeRefused): LimitReading | null {
  return refusingLimit === null ? null : (limits[refusingLimit] ?? null)
}

/** The first time from `at` at which the charge fits: a limit that refuses it can only pass it after its reset. */
function fitsAt(state: LedgerState, charge: ChargeCommand, at: number): number | null {
  let time = at
  for (let resets = 0; resets < MAX_RESETS; resets += 1) {
    const refused = refusalAt(state, charge, time)
    if (refused === null) return time
    const limit = limitOf(refused)
    if (limit === null || charge.amountMicros > limit.amountMicros) return null
    time = limit.resetsAt
  }
  return null
}
