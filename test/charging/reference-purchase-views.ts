/** Purchases derived from a list of facts: what a key may buy, and its purchases. */
import type { PurchaseRefusalCode, StartPurchase } from "../../domain/charging/ledger-commands.ts"
import type { LedgerFact } from "../../domain/charging/ledger-events.ts"
import type { PurchaseTerms } from "../../domain/charging/purchase-events.ts"
import type { KeyId, PurchaseId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { isSwitchedOn } from "./reference-views.ts"

const DOLLAR = 1_000_000

/** A key's purchase terms; null if none were set. */
export function purchaseTermsIn(facts: LedgerFacts, keyId: KeyId | null): PurchaseTerms | null {
  const last = facts.findLast((fact) => fact.type === "PurchaseTermsSet" && fact.keyId === keyId)
  if (last?.type !== "PurchaseTermsSet") return null
  const { mode, perPurchaseMicros, perMonthMicros } = last
  return { mode, perPurchaseMicros, perMonthMicros }
}

/** The start of a purchase; undefined if it never started. */
export function startOfPurchase(
  facts: LedgerFacts,
  id: PurchaseId,
): LedgerFact<"PurchaseStarted"> | undefined {
  const found = facts.find((fact) => fact.type === "PurchaseStarted" && fact.purchaseId === id)
  return found?.type === "PurchaseStarted" ? found : undefined
}

/** The first payment of a purchase; null if it has none. */
export function paymentOfPurchase(facts: LedgerFacts, id: PurchaseId): string | null {
  const found = facts.find((fact) => fact.type === "PurchaseOrdered" && fact.purchaseId === id)
  return found?.type === "PurchaseOrdered" ? found.paymentId : null
}

/** The end of a purchase; undefined while it is pending. */
export function endOfPurchase(facts: LedgerFacts, id: PurchaseId): "paid" | "failed" | undefined {
  for (const fact of facts) {
    if (fact.type === "PurchasePaid" && fact.purchaseId === id) return "paid"
    if (fact.type === "PurchaseFailed" && fact.purchaseId === id) return "failed"
  }
  return undefined
}

/** The allowance used by a key's purchases that started in the month of an instant. */
export function allowanceUsedBy(facts: LedgerFacts, keyId: KeyId | null, at: number): Micros {
  if (keyId === null) return 0
  const month = naiveCalendar.month(at)
  return facts
    .filter((fact) => fact.type === "PurchaseStarted")
    .filter((begun) => begun.keyId === keyId && begun.at >= month.from && begun.at < month.to)
    .filter(({ purchaseId }) => endOfPurchase(facts, purchaseId) !== "failed")
    .reduce((sum, { amountMicros }) => sum + amountMicros, 0)
}

/** The first rule that rejects a purchase at an instant; null if none does. */
export function purchaseRefusalIn(
  facts: LedgerFacts,
  { keyId, personId, amountMicros }: StartPurchase,
  at: number,
): PurchaseRefusalCode | null {
  if (isSwitchedOn(facts, "LedgerClosed", "LedgerReopened")) return "ledger_closed"
  const isCents = Number.isInteger(amountMicros / (DOLLAR / 100))
  if (!isCents || amountMicros < 5 * DOLLAR || amountMicros > 5_000 * DOLLAR) return "bad_amount"
  // An owner's purchase needs no terms; without a key or person it is refused.
  if (keyId === null) return personId === null ? "purchase_not_allowed" : null
  const terms = purchaseTermsIn(facts, keyId)
  switch (terms?.mode ?? "off") {
    case "off":
      return "purchase_not_allowed"
    case "needs_owner_review":
      return "purchase_needs_review"
    default:
  }
  if (terms === null || amountMicros > terms.perPurchaseMicros) return "over_purchase_limit"
  const left = terms.perMonthMicros - allowanceUsedBy(facts, keyId, at)
  return amountMicros > left ? "over_monthly_limit" : null
}
