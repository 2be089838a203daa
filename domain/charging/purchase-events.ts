/** The events of a ledger about purchases of funds, and their stored formats. */
import type { FactOf, EventFormats, ValuesOf } from "../kernel/event-format.ts"
import { micros, enumOf, optional, asciiText, text, instant } from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"

const terms = {
  mode: enumOf("on", "off", "needs_owner_review"),
  perPurchaseMicros: micros,
  /** For all purchases that start in one UTC month. */
  perMonthMicros: micros,
}

/** How much a key may buy funds for, as an owner decided. */
export type PurchaseTerms = ValuesOf<typeof terms>

const purchase = {
  purchaseId: id.purchase,
  /** Null if an owner bought without a key; then the person is known. */
  keyId: optional(id.key),
  personId: optional(id.person),
  amountMicros: micros,
}

/** The stored formats of a company's purchase events. */
export const purchaseFormats = {
  PurchaseTermsSet: { version: 1, fields: { at: instant, keyId: id.key, ...terms } },
  /** A key or an owner started a purchase: the key's allowance is used, nothing is paid yet. */
  PurchaseStarted: { version: 1, fields: { at: instant, ...purchase } },
  /** The payment provider accepted the payment; its outcome is still unknown. */
  PurchaseOrdered: {
    version: 1,
    fields: { at: instant, purchaseId: id.purchase, paymentId: text },
  },
  /** The payment arrived and the funds were raised. */
  PurchasePaid: {
    version: 1,
    fields: {
      at: instant,
      ...purchase,
      /** When the purchase started, which determines the month of its allowance. */
      startedAt: instant,
      paymentId: text,
    },
  },
  /** The payment failed and the allowance is released. */
  PurchaseFailed: {
    version: 1,
    fields: {
      at: instant,
      ...purchase,
      startedAt: instant,
      /** The code that callers see: `declined`, `no_card`, … */
      code: asciiText,
      /** The payment provider's id of the payment; null if it has none. */
      paymentId: optional(text),
    },
  },
} satisfies EventFormats

/** Every event of a company's purchases. */
export type PurchaseEvent = FactOf<typeof purchaseFormats>
