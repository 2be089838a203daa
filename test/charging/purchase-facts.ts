/** Facts and commands of purchases, with defaults for the fields that a test does not need. */
import type { StartPurchase } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent, LedgerFact } from "../../domain/charging/ledger-events.ts"
import type { PurchaseTerms } from "../../domain/charging/purchase-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import { NOW, isoInstant } from "./ledger-facts.ts"

/** One dollar in micros. */
export const DOLLAR = 1_000_000
/** One cent in micros. */
export const CENT = 10_000
/** The end of the month of `NOW`. */
export const APRIL = isoInstant("2026-04-01")

/** A key may buy for up to $25 per purchase and $40 per month, unless changed. */
export const purchaseTermsSetFact = (
  changed: Partial<PurchaseTerms> = {},
  keyId: KeyId = "key_1",
): LedgerEvent => ({
  type: "PurchaseTermsSet",
  at: NOW,
  keyId,
  mode: "on",
  perPurchaseMicros: 25 * DOLLAR,
  perMonthMicros: 40 * DOLLAR,
  ...changed,
})
/** The key starts a purchase of $25, unless changed. */
export const startPurchaseCommand = (
  changed: Partial<StartPurchase & DecisionStamp> = {},
): StartPurchase & DecisionStamp => ({
  type: "StartPurchase",
  at: NOW,
  purchaseId: "pur_1",
  keyId: "key_1",
  personId: "per_1",
  amountMicros: 25 * DOLLAR,
  ...changed,
})
/** The purchase was started. */
export const purchaseStartedFact = (
  changed: Partial<LedgerFact<"PurchaseStarted">> = {},
): LedgerFact<"PurchaseStarted"> => ({
  ...startPurchaseCommand(),
  type: "PurchaseStarted",
  ...changed,
})
/** The purchase has a payment whose outcome is unknown. */
export const purchaseOrderedFact = (
  changed: Partial<LedgerFact<"PurchaseOrdered">> = {},
): LedgerFact<"PurchaseOrdered"> => ({
  type: "PurchaseOrdered",
  at: NOW,
  purchaseId: "pur_1",
  paymentId: "pi_1",
  ...changed,
})
/** The purchase was paid. */
export const purchasePaidFact = (
  changed: Partial<LedgerFact<"PurchasePaid">> = {},
): LedgerFact<"PurchasePaid"> => ({
  ...purchaseStartedFact(),
  type: "PurchasePaid",
  startedAt: NOW,
  paymentId: "pi_1",
  ...changed,
})
/** The purchase failed. */
export const purchaseFailedFact = (
  changed: Partial<LedgerFact<"PurchaseFailed">> = {},
): LedgerFact<"PurchaseFailed"> => ({
  ...purchaseStartedFact(),
  type: "PurchaseFailed",
  startedAt: NOW,
  code: "declined",
  paymentId: null,
  ...changed,
})
