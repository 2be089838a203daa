/** What others may see of a ledger's state. None of it changes anything. */
import type { ChargeId, KeyId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"

import type { PurchaseRefusalCode, StartPurchase } from "./ledger-commands.ts"
import type { Ledger } from "./ledger-state.ts"
import { findLimit, readLimit, readLimitsOn } from "./limit-book.ts"
import type { Limit, LimitName, LimitReading, Spender, SpendingClass } from "./limits.ts"
import { isUsedUp } from "./limits.ts"
import type { Month } from "./months.ts"
import type { PurchaseTerms } from "./purchase-events.ts"
import { purchaseFault, takenIn } from "./purchases.ts"
import { knownTallies } from "./tallies.ts"

/**
 * The limit that refuses any general call by this spender up front because it is used up, first of
 * key, person, company; null where there is room.
 */
export function usedUpLimit(state: Ledger, spender: Spender, at: number): LimitReading | null {
  const on = knownTallies(state.tallies, spender, "general")
  return readLimitsOn(state.book, state.tallies, on, at, 0).find(isUsedUp) ?? null
}

/** Funds and standing of an account, as a decision would find them. */
export interface Account {
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
export function accountOf(state: Ledger): Account {
  const { opened, closedAt, locked, prepaidOnly, fundsMicros } = state
  const closed = closedAt !== null
  return { opened, closed, locked, prepaidOnly, fundsMicros, creditLineMicros: creditOf(state) }
}

/** What may be spent beyond the funds, as it was arranged. */
export function termsOf(state: Ledger): {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
} {
  const { prepaidOnly, creditLineMicros } = state
  return { prepaidOnly, creditLineMicros }
}

/** The sum below which the owners want to hear of the funds; null where they do not. */
export function fundsNoticeOf({ noticeMicros }: Ledger): Micros | null {
  return noticeMicros
}

/** The month that is not closed yet, as far as it has come. */
export interface OpenMonth extends Readonly<Month> {
  /** The revision of the ledger's last fact. */
  readonly revision: number
  readonly fundsMicros: Micros
}

/** The current month of a ledger at its last fact; null where no ledger was opened. */
export function openMonthOf(state: Ledger): OpenMonth | null {
  const { month, fundsMicros } = state
  return month === null ? null : { ...month, revision: ledgerRevision(state), fundsMicros }
}

/** The revision of the ledger's last fact; -1 before the first. */
export function ledgerRevision(state: Ledger): number {
  return state.facts - 1
}

/** The limit of this holder and class; null where there is none. */
export function limitNamed({ book, tallies }: Ledger, name: LimitName): Limit | null {
  return findLimit(book, tallies, name)
}

/** Every limit that is set, with what is used of it in the windows around `at`. */
export function readLimits(state: Ledger, at: number): readonly LimitReading[] {
  const { limits } = state.book
  return [...limits].map(([tally, limit]) => readLimit(state.tallies, tally, limit, at, 0))
}

/** Every limit that a charge of this class by this spender must fit, first of key, person, company. */
export function limitsFor(
  state: Ledger,
  spender: Spender,
  charged: SpendingClass,
  at: number,
  askedMicros: Micros,
): readonly LimitReading[] {
  const on = knownTallies(state.tallies, spender, charged)
  return readLimitsOn(state.book, state.tallies, on, at, askedMicros)
}

/** The ids of all charges whose work is not known to have ended. */
export function openCharges(state: Ledger): readonly ChargeId[] {
  return [...state.open.keys()]
}

/** What an open charge is for; null where it names nothing, or is not open. */
export function resourceOfOpen(state: Ledger, chargeId: ChargeId): string | null {
  return state.open.get(chargeId)?.resource ?? null
}

/** The payment provider's name for a pending purchase's payment; null where it is not known. */
export function paymentOfPending(state: Ledger, purchaseId: PurchaseId): string | null {
  return state.purchases.pending.get(purchaseId)?.paymentId ?? null
}

/** What a key may still buy. */
export interface Allowance extends PurchaseTerms {
  /** Of the purchases that began in this UTC month: paid, and not known yet. */
  readonly paidMicros: Micros
  readonly pendingMicros: Micros
}

/** What a key may buy funds for in the month around `at`; null where no owner ever said. */
export function allowanceOf(state: Ledger, keyId: KeyId, at: number): Allowance | null {
  const terms = state.purchases.terms.get(keyId)
  if (terms === undefined) return null
  const { paidMicros, pendingMicros } = takenIn(state.purchases, keyId, monthStart(at))
  return { ...terms, paidMicros, pendingMicros }
}

/** Why a purchase would be refused at `at`, as far as the key's terms say; null where they let it pass. */
export function purchaseRefusal(
  state: Ledger,
  purchase: StartPurchase,
  at: number,
): PurchaseRefusalCode | null {
  return state.closedAt !== null
    ? "ledger_closed"
    : purchaseFault(state.purchases, purchase, monthStart(at))
}

/** What may be spent beyond the funds: nothing by a company that only spends prepaid funds. */
export function creditOf(state: Ledger): Micros {
  return state.prepaidOnly ? 0 : state.creditLineMicros
}
