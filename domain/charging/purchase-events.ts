/** The facts of a ledger about funds that API keys and owners buy, and the forms they are stored in. */
import type { FactOf, EventFormats, ValuesOf } from "../kernel/event-format.ts"
import { micros, enumOf, optional, asciiText, text, instant } from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"

const terms = {
  mode: enumOf("on", "off", "needs_owner_review"),
  perPurchaseMicros: micros,
  /** For all purchases that begin in one UTC month. */
  perMonthMicros: micros,
}

/** What a key may buy funds for, as an owner decided. */
export type PurchaseTerms = ValuesOf<typeof terms>

const purchase = {
  purchaseId: id.purchase,
  /** Null where an owner bought them without a key: then by whom is known. */
  keyId: optional(id.key),
  personId: optional(id.person),
  amountMicros: micros,
}

/** Everything that can happen to the purchases of a company. */
export const purchaseFormats = {
  /** An owner said what a key may buy funds for. */
  PurchaseTermsSet: { version: 1, fields: { at: instant, keyId: id.key, ...terms } },
  /** A key, or an owner, began to buy funds: a key's allowance is taken, nothing is paid yet. */
  PurchaseStarted: { version: 1, fields: { at: instant, ...purchase } },
  /** The payment provider named the payment, and does not say yet what it comes to. */
  PurchaseOrdered: {
    version: 1,
    fields: { at: instant, purchaseId: id.purchase, paymentId: text },
  },
  /** The payment arrived: the funds are raised. */
  PurchasePaid: {
    version: 1,
    fields: {
      at: instant,
      ...purchase,
      /** When it began: the month whose allowance it takes. */
      startedAt: instant,
      /** The payment provider's name for it. */
      paymentId: text,
    },
  },
  /** No payment came: the allowance is given back. */
  PurchaseFailed: {
    version: 1,
    fields: {
      at: instant,
      ...purchase,
      startedAt: instant,
      /** The code that callers see: `declined`, `no_card`, … */
      code: asciiText,
      /** The payment provider's name for it; null where it never named one. */
      paymentId: optional(text),
    },
  },
} satisfies EventFormats

/** Everything that can happen to the purchases of a company. */
export type PurchaseEvent = FactOf<typeof purchaseFormats>
