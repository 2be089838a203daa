/** The facts of a ledger about funds that API keys buy. Their stored forms: `ledger-formats.ts`. */
import type { KeyId, PersonId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"

/** What a key may buy funds for, as an owner decided. */
export interface PurchaseTerms {
  readonly mode: "on" | "off" | "needs_owner_review"
  readonly perPurchaseMicros: Micros
  /** For all purchases that begin in one UTC month. */
  readonly perMonthMicros: Micros
}

/** An owner said what a key may buy funds for. */
export interface PurchaseTermsSet extends PurchaseTerms {
  readonly type: "PurchaseTermsSet"
  readonly at: number
  readonly keyId: KeyId
}

/** A key began to buy funds: its allowance is taken, nothing is paid yet. */
export interface PurchaseStarted {
  readonly type: "PurchaseStarted"
  readonly at: number
  readonly purchaseId: PurchaseId
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly amountMicros: Micros
}

/** The payment arrived: the funds are raised. */
export interface PurchasePaid {
  readonly type: "PurchasePaid"
  readonly at: number
  readonly purchaseId: PurchaseId
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly amountMicros: Micros
  /** When it began: the month whose allowance it takes. */
  readonly startedAt: number
  /** The payment provider's name for it. */
  readonly paymentId: string
}

/** No payment came: the allowance is given back. */
export interface PurchaseFailed {
  readonly type: "PurchaseFailed"
  readonly at: number
  readonly purchaseId: PurchaseId
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly amountMicros: Micros
  readonly startedAt: number
  /** The code that callers see: `declined`, `no_card`, … */
  readonly code: string
}

/** Everything that can happen to the purchases of a company. */
export type PurchaseEvent = PurchaseTermsSet | PurchaseStarted | PurchasePaid | PurchaseFailed
