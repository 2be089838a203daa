/** What others may see of a ledger's state. None of it changes anything. */
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
 * The limit that refuses any general call by this spender up front because it is used up, first of
 * key, person, company; null where there is room.
 */
export function exhaustedLimit(
  state: LedgerState,
  spender: Spender,
  at: number,
): LimitReading | null {
  const on = existingCounters(state.counters, spender, "general")
  return (
    readLimitsOfCounters(state.limitBook, state.counters, on, at, 0).find(isLimitExhausted) ?? null
  )
}

/** Funds and standing of an account, as a decision would find them. */
export interface LedgerAccount {
  readonly opened: boolean
  /** The company was deleted. */
  readonly closed: boolean
  readonly locked: boolean
  readonly prepaidOnly: boolean
  readonly fundsMicros: Micros
  /** What may be spent beyond the funds; 0 while it is prepaid only. */
  readonly creditLineMicros: Micros
}

/** The account as it stands. */
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

/** What may be spent beyond the funds, as it was arranged. */
export function creditTermsOf(state: LedgerState): {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
} {
  const { prepaidOnly, creditLineMicros } = state
  return { prepaidOnly, creditLineMicros }
}

/** The sum below which the owners want to hear of the funds; null where they do not. */
export function lowFundsAlertOf({ noticeMicros }: LedgerState): Micros | null {
  return noticeMicros
}

/** The month that is not closed yet, as far as it has come. */
export interface CurrentMonth extends Readonly<LedgerMonth> {
  /** The revision of the ledger's last fact. */
  readonly revision: number
  readonly fundsMicros: Micros
}

/** The current month of a ledger at its last fact; null where no ledger was opened. */
export function currentMonthOf(state: LedgerState): CurrentMonth | null {
  const { month, fundsMicros } = state
  return month === null ? null : { ...month, revision: ledgerRevision(state), fundsMicros }
}

/** The revision of the ledger's last fact; -1 before the first. */
export function ledgerRevision(state: LedgerState): number {
  return state.facts - 1
}

/** The limit of this holder and class; null where there is none. */
export function findLimitByScope(
  { limitBook, counters }: LedgerState,
  name: LimitScope,
): Limit | null {
  return findLimit(limitBook, counters, name)
}

/** Every limit that is set, with what is used of it in the windows around `at`. */
export function readLimits(state: LedgerState, at: number): readonly LimitReading[] {
  const { limits } = state.limitBook
  return [...limits].map(([tally, limit]) => readLimit(state.counters, tally, limit, at, 0))
}

/** Every limit that a charge of this class by this spender must fit, first of key, person, company. */
export function applicableLimits(
  state: LedgerState,
  spender: Spender,
  charged: SpendingClass,
  at: number,
  askedMicros: Micros,
): readonly LimitReading[] {
  const on = existingCounters(state.counters, spender, charged)
  return readLimitsOfCounters(state.limitBook, state.counters, on, at, askedMicros)
}

/** The ids of all charges whose work is not known to have ended. */
export function pendingChargeIds(state: LedgerState): readonly ChargeId[] {
  return [...state.pendingCharges.keys()]
}

/** What an open charge is for; null where it names nothing, or is not open. */
export function resourceOfPendingCharge(state: LedgerState, chargeId: ChargeId): string | null {
  return state.pendingCharges.get(chargeId)?.resource ?? null
}

/** The payment provider's name for a pending purchase's payment; null where it is not known. */
export function paymentIdOfPending(state: LedgerState, purchaseId: PurchaseId): string | null {
  return state.purchases.pending.get(purchaseId)?.paymentId ?? null
}

/** What a key may still buy. */
export interface PurchaseAllowance extends PurchaseTerms {
  /** Of the purchases that began in this UTC month: paid, and not known yet. */
  readonly paidMicros: Micros
  readonly pendingMicros: Micros
}

/** What a key may buy funds for in the month around `at`; null where no owner ever said. */
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

/** Why a purchase would be refused at `at`, as far as the key's terms say; null where they let it pass. */
export function purchaseRefusalCode(
  state: LedgerState,
  purchase: StartPurchase,
  at: number,
): PurchaseRefusalCode | null {
  return state.closedAt !== null
    ? "ledger_closed"
    : purchaseFault(state.purchases, purchase, monthStart(at))
}

/** What may be spent beyond the funds: nothing by a company that only spends prepaid funds. */
export function availableCreditOf(state: LedgerState): Micros {
  return state.prepaidOnly ? 0 : state.creditLineMicros
}
