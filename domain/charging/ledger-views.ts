/** Read-only views of a ledger's state. */
import type { ChargeId, KeyId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"

import type { PurchaseRefusalCode, StartPurchase } from "./ledger-commands.ts"
import type { LedgerState } from "./ledger-state.ts"
import { findLimit, readLimit, readLimitsOfCounters } from "./limit-book.ts"
import type { Limit, LimitScope, LimitReading, Spender, SpendingClass } from "./limits.ts"
import { isLimitExhausted } from "./limits.ts"
import type { LedgerMonth } from "./months.ts"
import type { PurchaseTerms } from "./purchase-events.ts"
import { purchaseFault, allowanceUsedIn } from "./purchases.ts"
import { existingCounters } from "./counters.ts"

/**
 * Returns the exhausted limit that refuses every general call of this spender, in the order key, person, company;
 * null if none is exhausted.
 */
export function exhaustedLimit(
  state: LedgerState,
  spender: Spender,
  at: number,
): LimitReading | null {
  const applicable = existingCounters(state.counters, spender, "general")
  return (
    readLimitsOfCounters(state.limitBook, state.counters, applicable, at, 0).find(
      isLimitExhausted,
    ) ?? null
  )
}

/** Funds and status of an account, as a decision sees them. */
export interface LedgerAccount {
  readonly opened: boolean
  readonly closed: boolean
  readonly locked: boolean
  readonly prepaidOnly: boolean
  readonly fundsMicros: Micros
  readonly creditLineMicros: Micros
}

/** Returns the account. */
export function accountOf(state: LedgerState): LedgerAccount {
  const { opened, closedAt, locked, prepaidOnly, fundsMicros } = state
  const closed = closedAt !== null
  return {
    opened,
    closed,
    locked,
    prepaidOnly,
    fundsMicros,
    creditLineMicros: availableCreditOf(state),
  }
}

/** Returns the agreed credit terms. */
export function creditTermsOf(state: LedgerState): {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
} {
  const { prepaidOnly, creditLineMicros } = state
  return { prepaidOnly, creditLineMicros }
}

/** Returns the amount of funds below which owners are alerted; null for no alert. */
export function lowFundsAlertOf({ noticeMicros }: LedgerState): Micros | null {
  return noticeMicros
}

/** The month that is not closed yet. */
export interface CurrentMonth extends Readonly<LedgerMonth> {
  readonly revision: number
  readonly fundsMicros: Micros
}

/** Returns the current month of a ledger at its last event; null if no ledger was opened. */
export function currentMonthOf(state: LedgerState): CurrentMonth | null {
  const { month, fundsMicros } = state
  return month === null ? null : { ...month, revision: ledgerRevision(state), fundsMicros }
}

/** Returns the revision of the ledger's last event; -1 before the first. */
export function ledgerRevision(state: LedgerState): number {
  return state.facts - 1
}

/** Finds the limit of a holder and class; null if there is none. */
export function findLimitByScope(
  { limitBook, counters }: LedgerState,
  name: LimitScope,
): Limit | null {
  return findLimit(limitBook, counters, name)
}

/** Returns all limits with their usage in the windows that contain `at`. */
export function readLimits(state: LedgerState, at: number): readonly LimitReading[] {
  const { limits } = state.limitBook
  return [...limits].map(([counter, limit]) => readLimit(state.counters, counter, limit, at, 0))
}

/** Returns the limits that apply to a charge of this class by this spender, in the order key, person, company. */
export function applicableLimits(
  state: LedgerState,
  spender: Spender,
  charged: SpendingClass,
  at: number,
  askedMicros: Micros,
): readonly LimitReading[] {
  const applicable = existingCounters(state.counters, spender, charged)
  return readLimitsOfCounters(state.limitBook, state.counters, applicable, at, askedMicros)
}

/** Returns the ids of all pending charges. */
export function pendingChargeIds(state: LedgerState): readonly ChargeId[] {
  return [...state.pendingCharges.keys()]
}

/** Returns the resource of a pending charge; null if it has none or is not pending. */
export function resourceOfPendingCharge(state: LedgerState, chargeId: ChargeId): string | null {
  return state.pendingCharges.get(chargeId)?.resource ?? null
}

/** Returns the payment provider's id for a pending purchase; null if unknown. */
export function paymentIdOfPending(state: LedgerState, purchaseId: PurchaseId): string | null {
  return state.purchases.pending.get(purchaseId)?.paymentId ?? null
}

/** What a key may still buy. */
export interface PurchaseAllowance extends PurchaseTerms {
  /** For purchases that started in this UTC month: paid, and outcome unknown. */
  readonly paidMicros: Micros
  readonly pendingMicros: Micros
}

/** Returns what a key may buy in the month that contains `at`; null if no owner has set it. */
export function purchaseAllowanceOf(
  state: LedgerState,
  keyId: KeyId,
  at: number,
): PurchaseAllowance | null {
  const terms = state.purchases.terms.get(keyId)
  if (terms === undefined) return null
  const { paidMicros, pendingMicros } = allowanceUsedIn(state.purchases, keyId, monthStart(at))
  return { ...terms, paidMicros, pendingMicros }
}

/** Returns why a purchase would be refused at `at` by the key's terms; null if it is allowed. */
export function purchaseRefusalCode(
  state: LedgerState,
  purchase: StartPurchase,
  at: number,
): PurchaseRefusalCode | null {
  return state.closedAt !== null
    ? "ledger_closed"
    : purchaseFault(state.purchases, purchase, monthStart(at))
}

/** Returns how much may be spent beyond the funds; 0 for a prepaid-only company. */
export function availableCreditOf(state: LedgerState): Micros {
  return state.prepaidOnly ? 0 : state.creditLineMicros
}
