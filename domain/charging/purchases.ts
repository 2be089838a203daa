/**
 * Funds that API keys and owners buy: what each key may, and what was begun (decisions.md §10).
 *
 * A purchase takes its amount from the key's allowance of the month in which it begins; where it
 * fails it gives it back. An owner's, without a key, takes none. Only its payment raises the funds.
 */
import type { KeyId, PersonId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"
import type { PurchaseRefusalCode, StartPurchase } from "./ledger-commands.ts"
import type { PurchaseEvent, PurchaseTerms } from "./purchase-events.ts"

/** No purchase is smaller: $5. */
export const MIN_PURCHASE_MICROS: Micros = 5_000_000
/** No purchase is larger: $5,000. */
export const MAX_PURCHASE_MICROS: Micros = 5_000_000_000
const CENT_MICROS = 10_000

/** A purchase whose payment is not known. */
interface Pending {
  readonly startedAt: number
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly amountMicros: Micros
  /** The payment provider's name for its payment; null while that is not known. */
  readonly paymentId: string | null
}

/** What of a month's allowance is taken. */
interface UsedAllowance {
  /** The first millisecond of the UTC month. */
  readonly month: number
  readonly paidMicros: Micros
  readonly pendingMicros: Micros
}

/** The purchases of one company. */
export interface Purchases {
  readonly terms: Map<KeyId, PurchaseTerms>
  readonly pending: Map<PurchaseId, Pending>
  /** Those that ended: an id buys once, for ever. */
  readonly ended: Map<PurchaseId, "paid" | "failed">
  readonly usedAllowances: Map<KeyId, UsedAllowance>
  pendingMicros: Micros
}

/** No purchases. */
export function emptyPurchases(): Purchases {
  return {
    terms: new Map(),
    pending: new Map(),
    ended: new Map(),
    usedAllowances: new Map(),
    pendingMicros: 0,
  }
}

/** The first rule that stands against a purchase in the month that begins at `month`; null for none. */
export function purchaseFault(
  purchases: Purchases,
  { keyId, personId, amountMicros }: StartPurchase,
  month: number,
): PurchaseRefusalCode | null {
  const isCents = Number.isSafeInteger(amountMicros) && amountMicros % CENT_MICROS === 0
  if (!isCents || amountMicros < MIN_PURCHASE_MICROS || amountMicros > MAX_PURCHASE_MICROS)
    return "bad_amount"
  // Terms are for keys: who buys without one is an owner, which is asked before.
  if (keyId === null) return personId === null ? "purchase_not_allowed" : null
  const terms = purchases.terms.get(keyId)
  if (terms === undefined || terms.mode === "off") return "purchase_not_allowed"
  if (terms.mode === "needs_owner_review") return "purchase_needs_review"
  if (amountMicros > terms.perPurchaseMicros) return "over_purchase_limit"
  const { paidMicros, pendingMicros } = allowanceUsedIn(purchases, keyId, month)
  const taken = paidMicros + pendingMicros
  return taken + amountMicros > terms.perMonthMicros ? "over_monthly_limit" : null
}

/** What of a key's allowance is taken in the month that begins at `month`; nothing without a key. */
export function allowanceUsedIn(
  purchases: Purchases,
  keyId: KeyId | null,
  month: number,
): Pick<UsedAllowance, "paidMicros" | "pendingMicros"> {
  const taken = keyId === null ? undefined : purchases.usedAllowances.get(keyId)
  return taken?.month === month ? taken : { paidMicros: 0, pendingMicros: 0 }
}

/** Folds a fact about purchases. */
export function evolvePurchases(purchases: Purchases, event: PurchaseEvent): void {
  if (event.type === "PurchaseTermsSet") {
    const { keyId, mode, perPurchaseMicros, perMonthMicros } = event
    purchases.terms.set(keyId, { mode, perPurchaseMicros, perMonthMicros })
    return
  }
  if (event.type === "PurchaseOrdered") {
    const { purchaseId, paymentId } = event
    const pending = purchases.pending.get(purchaseId)
    if (pending !== undefined) purchases.pending.set(purchaseId, { ...pending, paymentId })
    return
  }
  const { purchaseId, keyId, personId, amountMicros } = event
  if (event.type === "PurchaseStarted") {
    purchases.pending.set(purchaseId, {
      startedAt: event.at,
      keyId,
      personId,
      amountMicros,
      paymentId: null,
    })
    purchases.pendingMicros += amountMicros
    addUsedAllowance(purchases, keyId, monthStart(event.at), { paid: 0, pending: amountMicros })
    return
  }
  const isPaid = event.type === "PurchasePaid"
  purchases.pending.delete(purchaseId)
  purchases.ended.set(purchaseId, isPaid ? "paid" : "failed")
  purchases.pendingMicros -= amountMicros
  const paid = isPaid ? amountMicros : 0
  addUsedAllowance(purchases, keyId, monthStart(event.startedAt), { paid, pending: -amountMicros })
}

function addUsedAllowance(
  purchases: Purchases,
  keyId: KeyId | null,
  month: number,
  change: { readonly paid: Micros; readonly pending: Micros },
): void {
  if (keyId === null) return
  const former = purchases.usedAllowances.get(keyId)
  // What began in a month that is over no longer weighs in anything.
  if (former !== undefined && former.month > month) return
  const { paidMicros, pendingMicros } = allowanceUsedIn(purchases, keyId, month)
  purchases.usedAllowances.set(keyId, {
    month,
    paidMicros: paidMicros + change.paid,
    pendingMicros: pendingMicros + change.pending,
  })
}
