/**
 * The payment processor: who takes a sum from a company's card on file, or from the buyer's own
 * wallet by a shared payment token, and says what became of it.
 *
 * Every call carries our own name for the payment, so asking for the same again is one payment.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { ProviderMisconfigured } from "../provider-errors.ts"

/** A payment as both sides know it. */
export interface CardPayment {
  /** Our own name for it: the same name is the same payment. */
  readonly idempotencyKey: string
  readonly companyId: CompanyId
  /** Whole cents. */
  readonly amountMicros: Micros
  /** When it was begun, by the ledger's clock, UTC milliseconds. */
  readonly startedAt: number
  /** The processor's id of the company as its customer; null where none is recorded. */
  readonly customerId: string | null
  /** The processor's id of the payment; null while it is not known. */
  readonly paymentId: string | null
}

/** A payment that is to be made. */
export interface PaymentOrder extends CardPayment {
  /** The buyer's own wallet; null: the company's card on file. Kept nowhere. */
  readonly sharedPaymentToken: string | null
}

/** Why a payment was not made, and will not be. */
export type PaymentFailure = "declined" | "payment_failed" | "needs_owner" | "no_card"

/** What the processor says of a payment. */
export type PaymentAnswer =
  | { readonly answer: "paid"; readonly paymentId: string }
  /** The payment is under way. */
  | { readonly answer: "processing"; readonly paymentId: string }
  /** The order arrived and was not carried out so far; null where the payment cannot be found yet. */
  | { readonly answer: "unconfirmed"; readonly paymentId: string | null }
  | {
      readonly answer: PaymentFailure
      /** Null where the processor made no payment of it. */
      readonly paymentId: string | null
      /** The payment was canceled at the processor before the card was tried. */
      readonly isCardUntried?: true
    }

/** What the processor knows of a payment by now. */
export type PaymentStatus = PaymentAnswer | { readonly answer: "unknown" }

/** What the processor says of a hold: a sum that a card is to have ready, and that is never taken. */
export type HoldAnswer =
  /** The card holds it. */
  | { readonly answer: "held"; readonly paymentId: string }
  /** The card held it, and does not any more. */
  | { readonly answer: "released" }
  /** It is under way, or the processor itself does not know. */
  | { readonly answer: "processing" | "unconfirmed" }
  | { readonly answer: PaymentFailure }

/** What a hold has come to once it is let go, or was never made. */
export type EndedHoldAnswer = Exclude<HoldAnswer, { readonly answer: "held" }>

/**
 * A payment processor. What its account or our key does not allow throws ProviderMisconfigured, which says
 * nothing about the company's card.
 */
export interface CardProcessor {
  /** Takes a payment, once by its name. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly pay: (payment: PaymentOrder) => Promise<PaymentAnswer>
  /** Asks what became of a payment. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkPaymentStatus: (payment: CardPayment) => Promise<PaymentStatus>
  /**
   * Sees that a payment that the processor does not know, or never carried out, is never made, however
   * late it is still asked for; one that was made stays as it is. Answers how it stands from now on.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly cancelPayment: (payment: CardPayment) => Promise<PaymentAnswer>
  /** Has the company's card hold a sum, once by its name. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly hold: (hold: CardPayment) => Promise<HoldAnswer>
  /** Asks what became of a hold. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkHoldStatus: (
    hold: CardPayment,
  ) => Promise<HoldAnswer | { readonly answer: "unknown" }>
  /**
   * Lets go of what a card holds; a hold that the processor does not know, or never carried out, is never
   * made, however late it is still asked for. Again: the same answer.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly release: (hold: CardPayment) => Promise<EndedHoldAnswer>
  /**
   * Why the processor did not take the last order, where its account or our key does not allow it; null
   * from the next order on that it takes.
   */
  readonly configurationError: () => ProviderMisconfigured | null
}

/** Pages of the processor's own, on which a company puts the card on file that payments are taken from. */
export interface CardSetupPages {
  /**
   * The processor's id of the company as its customer. It is made where there is none, and knows the
   * company by our id alone.
   *
   * @param formerId the id that is recorded, which stays while the processor still has that customer
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly ensureCustomer: (companyId: CompanyId, formerId: string | null) => Promise<string>
  /**
   * Opens a page for a customer.
   *
   * @param returnTo where its reader comes back to, an address of ours
   * @returns its address, good for some minutes
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly openPage: (customerId: string, returnTo: string) => Promise<string>
  /**
   * Since when the processor has the customer's card on file, UTC milliseconds; null: it has none.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly cardAddedAt: (customerId: string) => Promise<number | null>
}

/** What the built-in processor can be told to do with a company's card. */
export const SIMULATED_CARD_OUTCOMES = [
  "paid",
  "declined",
  "payment_failed",
  "needs_owner",
  "processing",
  "unconfirmed",
] as const

/** One of them. */
export type SimulatedCardOutcome = (typeof SIMULATED_CARD_OUTCOMES)[number]

/** The cards that the built-in processor knows: it plays every part of one but the money. */
export interface SimulatedCards {
  /** What it does with payments from this company's card; null: the card is gone. */
  readonly setOutcome: (companyId: CompanyId, outcome: SimulatedCardOutcome | null) => Promise<void>
}
