/**
 * Purchases of funds by API keys and owners: what each key may buy, and the purchases that started
 * (docs/decisions/credits.md).
 *
 * A purchase uses the key's allowance of the month in which it starts, and releases it if it fails. An owner's
 * purchase without a key uses none. Only the payment raises the funds.
 */
import type { KeyId, PersonId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"
import type { PurchaseRefusalCode, StartPurchase } from "./ledger-commands.ts"
import type { PurchaseEvent, PurchaseTerms } from "./purchase-events.ts"

/** The smallest purchase: $5. */
export const MIN_PURCHASE_MICROS: Micros = 5_000_000
/** The largest purchase: $5,000. */
export const MAX_PURCHASE_MICROS: Micros = 5_000_000_000
const CENT_MICROS = 10_000

interface Pending {
  readonly startedAt: number
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly amountMicros: Micros
  /** The payment provider's id of the payment; null while unknown. */
  readonly paymentId: string | null
}

interface UsedAllowance {
  readonly month: number
  readonly paidMicros: Micros
  readonly pendingMicros: Micros
}

export interface Purchases {
  readonly terms: Map<KeyId, PurchaseTerms>
  readonly pending: Map<PurchaseId, Pending>
  /** Purchases that ended, so that an id buys only once. */
  readonly ended: Map<PurchaseId, "paid" | "failed">
  readonly usedAllowances: Map<KeyId, UsedAllowance>
  pendingMicros: Micros
}

/** Returns the state without purchases. */
export function emptyPurchases(): Purchases {
  return {
    terms: new Map(),
    pending: new Map(),
    ended: new Map(),
    usedAllowances: new Map(),
    pendingMicros: 0,
  }
}

/** Returns the first rule that refuses a purchase in the month that starts at `month`; null for none. */
export function purchaseFault(
  purchases: Purchases,
  { keyId, personId, amountMicros }: StartPurchase,
  month: number,
): PurchaseRefusalCode | null {
  const isCents = Number.isSafeInteger(amountMicros) && amountMicros % CENT_MICROS === 0
  if (!isCents || amountMicros < MIN_PURCHASE_MICROS || amountMicros > MAX_PURCHASE_MICROS)
    return "bad_amount"
  // Terms are for keys. A buyer without a key is an owner, which was checked before.
  if (keyId === null) return personId === null ? "purchase_not_allowed" : null
  const terms = purchases.terms.get(keyId)
  if (terms === undefined || terms.mode === "off") return "purchase_not_allowed"
  if (terms.mode === "needs_owner_review") return "purchase_needs_review"
  if (amountMicros > terms.perPurchaseMicros) return "over_purchase_limit"
  const { paidMicros, pendingMicros } = allowanceUsedIn(purchases, keyId, month)
  const used = paidMicros + pendingMicros
  return used + amountMicros > terms.perMonthMicros ? "over_monthly_limit" : null
}

/** Returns how much of a key's allowance is used in the month that starts at `month`; 0 without a key. */
export function allowanceUsedIn(
  purchases: Purchases,
  keyId: KeyId | null,
  month: number,
): Pick<UsedAllowance, "paidMicros" | "pendingMicros"> {
  const used = keyId === null ? undefined : purchases.usedAllowances.get(keyId)
  return used?.month === month ? used : { paidMicros: 0, pendingMicros: 0 }
}

/** Applies an event about purchases. */
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
  // A purchase that started in an earlier month no longer affects the allowance.
  if (former !== undefined && former.month > month) return
  const { paidMicros, pendingMicros } = allowanceUsedIn(purchases, keyId, month)
  purchases.usedAllowances.set(keyId, {
    month,
    paidMicros: paidMicros + change.paid,
    pendingMicros: pendingMicros + change.pending,
  })
}
