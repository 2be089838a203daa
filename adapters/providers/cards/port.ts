/**
 * The payment processor: takes payments from a company's card on file, or from a buyer's wallet by
 * a shared payment token.
 *
 * Every call carries our own key for the payment, so repeated calls are one payment.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { ProviderMisconfigured } from "../provider-errors.ts"

/** A payment as both sides know it. */
export interface CardPayment {
  /** Our key for the payment: the same key is the same payment. */
  readonly idempotencyKey: string
  readonly companyId: CompanyId
  /** Whole cents. */
  readonly amountMicros: Micros
  /** When the payment was started, by the ledger's clock, UTC milliseconds. */
  readonly startedAt: number
  /** The processor's customer id of the company; null if none is recorded. */
  readonly customerId: string | null
  /** The processor's id of the payment; null while it is unknown. */
  readonly paymentId: string | null
}

export interface PaymentOrder extends CardPayment {
  /** The buyer's own wallet; null: the company's card on file. Never stored. */
  readonly sharedPaymentToken: string | null
}

/** Why a payment failed permanently. */
export type PaymentFailure = "declined" | "payment_failed" | "needs_owner" | "no_card"

export type PaymentAnswer =
  | { readonly answer: "paid"; readonly paymentId: string }
  /** The payment is being processed. */
  | { readonly answer: "processing"; readonly paymentId: string }
  /** The order was received but not executed so far; null if the payment cannot be found yet. */
  | { readonly answer: "unconfirmed"; readonly paymentId: string | null }
  | {
      readonly answer: PaymentFailure
      /** Null if the processor created no payment. */
      readonly paymentId: string | null
      /** The payment was canceled at the processor before the card was tried. */
      readonly isCardUntried?: true
    }

/** The processor's current status of a payment. */
export type PaymentStatus = PaymentAnswer | { readonly answer: "unknown" }

/** The processor's answer for a hold: an authorized amount that is never captured. */
export type HoldAnswer =
  /** The card holds the amount. */
  | { readonly answer: "held"; readonly paymentId: string }
  /** The card held the amount, and does not hold it any more. */
  | { readonly answer: "released" }
  /** The hold is being processed, or its status is unknown to the processor. */
  | { readonly answer: "processing" | "unconfirmed" }
  | { readonly answer: PaymentFailure }

/** The answer for a hold that ended or was never made. */
export type EndedHoldAnswer = Exclude<HoldAnswer, { readonly answer: "held" }>

/**
 * A payment processor. It throws ProviderMisconfigured if its account or our key does not allow a
 * request, which says nothing about the company's card.
 */
export interface CardProcessor {
  /** Takes a payment; idempotent. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly pay: (payment: PaymentOrder) => Promise<PaymentAnswer>
  /** Checks the status of a payment. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkPaymentStatus: (payment: CardPayment) => Promise<PaymentStatus>
  /**
   * Ensures that a payment which was not executed never will be, even if a late order arrives; an
   * executed payment stays. Returns the final status.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly cancelPayment: (payment: CardPayment) => Promise<PaymentAnswer>
  /**
   * Places a hold on the company's card; idempotent. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly hold: (hold: CardPayment) => Promise<HoldAnswer>
  /** Checks the status of a hold. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkHoldStatus: (
    hold: CardPayment,
  ) => Promise<HoldAnswer | { readonly answer: "unknown" }>
  /**
   * Releases a hold, and ensures that one which was not executed never will be. Idempotent.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly release: (hold: CardPayment) => Promise<EndedHoldAnswer>
  /**
   * The error of the last order if the account or our key did not allow it; null after the next
   * accepted order.
   */
  readonly configurationError: () => ProviderMisconfigured | null
}

/** The processor's hosted pages, on which a company adds its card on file. */
export interface CardSetupPages {
  /**
   * The processor's customer id of a company. Creates the customer, who carries only our company
   * id, if there is none.
   *
   * @param formerId the recorded id, returned while the processor still has that customer
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly ensureCustomer: (companyId: CompanyId, formerId: string | null) => Promise<string>
  /**
   * Opens a page for a customer.
   *
   * @param returnTo our address that the page links back to
   * @returns the page's address, valid for some minutes
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly openPage: (customerId: string, returnTo: string) => Promise<string>
  /**
   * When the customer's card on file was added, UTC milliseconds; null if there is none.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly cardAddedAt: (customerId: string) => Promise<number | null>
}

/** The outcomes of a simulated company card. */
export const SIMULATED_CARD_OUTCOMES = [
  "paid",
  "declined",
  "payment_failed",
  "needs_owner",
  "processing",
  "unconfirmed",
] as const

/** An outcome of a simulated card. */
export type SimulatedCardOutcome = (typeof SIMULATED_CARD_OUTCOMES)[number]

export interface SimulatedCards {
  /** Sets the outcome of payments from a company's card; null removes the card. */
  readonly setOutcome: (companyId: CompanyId, outcome: SimulatedCardOutcome | null) => Promise<void>
}
