/** The facts about a company's payment card, and the forms they are stored in. */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { flag, micros, oneOf, text, time } from "../kernel/format.ts"
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `hold_` and a unique part: a sum that is held on a card for a moment. */
export type HoldId = `hold_${string}`

/** The id of a hold that a text is. */
export const parseHoldId = idParser("hold_")

/** Why a card was not found to be good. */
export const CARD_FAULTS = [
  "declined",
  "payment_failed",
  "needs_owner",
  "no_card",
  "card_changed",
] as const

/** One of them. */
export type CardFault = (typeof CARD_FAULTS)[number]

const holdId = idKind("a hold's id", parseHoldId)

/** Everything that can happen to a company's card. */
export const cardFormats = {
  /** The payment processor knows the company as this customer, whose card payments are taken from. */
  ProcessorCustomerSet: { version: 1, fields: { at: time, customerId: text } },
  /** A payment card is on file. */
  CardSet: {
    version: 1,
    fields: {
      at: time,
      /** A temporary hold went through. */
      verified: flag,
      /** The last payment by it failed: the account is not paid up. */
      failing: flag,
    },
  },
  /** No card is on file. */
  CardRemoved: { version: 1, fields: { at: time } },
  /** A sum is to be held on the card, and let go at once. */
  CardCheckStarted: { version: 1, fields: { at: time, holdId, amountMicros: micros } },
  /** The sum was held and let go: the card is good for it. */
  CardVerified: { version: 1, fields: { at: time, holdId } },
  /** The sum could not be held, or not on the card that is on file by now. */
  CardCheckFailed: { version: 1, fields: { at: time, holdId, code: oneOf(...CARD_FAULTS) } },
} satisfies FormatTable

/** Everything that can happen to a company's card. */
export type CardEvent = FactOf<typeof cardFormats>
