/**
 * Events of one recipient of a company's texts, and their stored formats.
 *
 * Every event repeats the recipient's state after it (opt-outs and first text), so that an auditor can check each
 * one separately. Phone numbers and bodies are sealed under the recipient's key.
 */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  micros,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { messageId, numberId } from "./ids.ts"

const optOuts = record({
  /** When the recipient texted STOP; null if they did not or sent START since. Only their START ends it. */
  stoppedAt: optional(instant),
  stopKeyword: optional(text),
  addedAt: optional(instant),
  /** The recipient's first text, which carried the opt-out line if that is enabled. */
  firstMessageId: optional(messageId),
})

/** A recipient's state: two kinds of opt-out that end differently, and the first text. */
export type OptOutState = ValueOf<typeof optOuts>

const purpose = enumOf("text", "opt_out_reply", "opt_in_reply", "help_reply")

/** The purpose of a text: the company's own, or a free reply to a keyword. */
export type TextPurpose = ValueOf<typeof purpose>

const optInMethod = enumOf("web", "phone", "paper", "text")

/** How a recipient consented to texts. */
export type OptInMethod = ValueOf<typeof optInMethod>

const base = { at: instant, optOuts }
const ofText = { ...base, messageId }

/** The stored formats of a recipient's events. */
export const recipientFormats = {
  /** The text is paid for (or free), and a worker sends it from here. */
  TextQueued: {
    version: 1,
    fields: {
      ...ofText,
      purpose,
      /** The pending charge for the text; null for a free reply. */
      chargeId: optional(asciiText),
      /** Charged for an opt-out line that was not needed; refunded when the text is accepted. */
      refundMicros: micros,
      numberId,
      to: sealedText,
      body: sealedText,
      segments: integer,
      /** Whether the body has the opt-out line. */
      lineAdded: flag,
      keyId: optional(id.key),
      personId: optional(id.person),
    },
  },
  TextAccepted: {
    version: 1,
    fields: {
      ...ofText,
      carrierId: text,
    },
  },
  /** The carrier rejected the text, so it was never sent. */
  TextRejected: { version: 1, fields: { ...ofText, errorCode: text } },
  TextDelivered: { version: 1, fields: ofText },
  TextUndelivered: { version: 1, fields: { ...ofText, errorCode: text } },
  /** A charge was made for a text that was never queued; it can no longer be. */
  TextAbandoned: { version: 1, fields: ofText },
  TextReceived: {
    version: 1,
    fields: { ...ofText, numberId, from: sealedText, body: sealedText, media: integer },
  },
  /** The recipient texted an opt-out keyword. */
  OptedOutByText: { version: 1, fields: { ...base, phone: sealedText, keyword: text } },
  /** The carrier enforces a STOP that it never reported; it is treated as if the recipient had texted it here. */
  OptedOutAtCarrier: { version: 1, fields: { ...base, phone: sealedText } },
  /** The recipient texted an opt-in keyword, which ends every opt-out. */
  OptedInByText: { version: 1, fields: { ...base, phone: sealedText, keyword: text } },
  OptOutAdded: { version: 1, fields: { ...base, phone: sealedText } },
  OptOutRemoved: { version: 1, fields: { ...base, phone: sealedText } },
  /** The recipient consented on a form of the company. This ends no opt-out: only their START ends a STOP. */
  OptedInByForm: {
    version: 1,
    fields: {
      ...base,
      optInId: asciiText,
      phone: sealedText,
      firstName: sealedText,
      /** Consent to texts about orders and requests. */
      service: flag,
      offers: flag,
      method: optInMethod,
      sourceUrl: optional(text),
    },
  },
} satisfies EventFormats

export type RecipientEvent = FactOf<typeof recipientFormats>

/** An event of a recipient of type `T`. */
export type RecipientFact<T extends RecipientEvent["type"]> = FactOf<typeof recipientFormats, T>

/** The text is paid for (or free), and a worker sends it from here. */
export type TextQueued = RecipientFact<"TextQueued">

export const recipientCodec = codecOf(recipientFormats)
