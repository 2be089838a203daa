/**
 * The facts about one recipient of a company's texts, and the forms they are stored in.
 *
 * Every fact repeats how the recipient stands after it (opt-out and first text), so that an auditor
 * can judge any one of them alone. Phone numbers and bodies are sealed under the recipient's key.
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
  /** When they texted STOP; null while that does not stand. Only their START ends it. */
  stoppedAt: optional(instant),
  /** The word they stopped with. */
  stopKeyword: optional(text),
  /** When the company added an opt-out; null while that does not stand. */
  addedAt: optional(instant),
  /** The text that was their first, and so carried the opt-out line where that is on. */
  firstMessageId: optional(messageId),
})

/** How a recipient stands: two kinds of opt-out that end differently, and the first text. */
export type OptOutState = ValueOf<typeof optOuts>

const purpose = enumOf("text", "opt_out_reply", "opt_in_reply", "help_reply")

/** What a text is for: the company's own, or a free reply to a keyword. */
export type TextPurpose = ValueOf<typeof purpose>

const optInMethod = enumOf("web", "phone", "paper", "text")

/** How somebody agreed to be texted. */
export type OptInMethod = ValueOf<typeof optInMethod>

const base = { at: instant, optOuts }
const ofText = { ...base, messageId }

/** Everything that can happen between a company and a recipient. */
export const recipientFormats = {
  /** A text will be sent: it is paid for (or free) and a worker takes it from here. */
  TextQueued: {
    version: 1,
    fields: {
      ...ofText,
      purpose,
      /** The open charge that pays for it; null for a free reply. */
      chargeId: optional(asciiText),
      /** Charged for an opt-out line that was not needed after all: given back when it is accepted. */
      refundMicros: micros,
      numberId,
      to: sealedText,
      body: sealedText,
      segments: integer,
      lineAdded: flag,
      keyId: optional(id.key),
      personId: optional(id.person),
    },
  },
  /** The carrier took it. */
  TextAccepted: {
    version: 1,
    fields: {
      ...ofText,
      /** The carrier's own name for it. */
      carrierId: text,
    },
  },
  /** The carrier refused it: it was never sent. */
  TextRejected: { version: 1, fields: { ...ofText, errorCode: text } },
  /** It reached the recipient. */
  TextDelivered: { version: 1, fields: ofText },
  /** It was sent and did not reach the recipient. */
  TextUndelivered: { version: 1, fields: { ...ofText, errorCode: text } },
  /** A charge was made for a text that was never queued; from now on it cannot be. */
  TextAbandoned: { version: 1, fields: ofText },
  /** The recipient texted the company. */
  TextReceived: {
    version: 1,
    fields: { ...ofText, numberId, from: sealedText, body: sealedText, media: integer },
  },
  /** The recipient texted an opt-out word. */
  OptedOutByText: { version: 1, fields: { ...base, phone: sealedText, keyword: text } },
  /** The carrier holds to a STOP that it never told of: as if they had texted it here. */
  OptedOutAtCarrier: { version: 1, fields: { ...base, phone: sealedText } },
  /** The recipient texted an opt-in word: every opt-out ends. */
  OptedInByText: { version: 1, fields: { ...base, phone: sealedText, keyword: text } },
  /** The company stopped texting this recipient. */
  OptOutAdded: { version: 1, fields: { ...base, phone: sealedText } },
  /** The company undid its own opt-out. */
  OptOutRemoved: { version: 1, fields: { ...base, phone: sealedText } },
  /** The recipient agreed on a form of the company's. It ends no opt-out: only their START ends a STOP. */
  OptedInByForm: {
    version: 1,
    fields: {
      ...base,
      optInId: asciiText,
      phone: sealedText,
      firstName: sealedText,
      /** Whether they agreed to texts about what they ordered or asked for. */
      service: flag,
      /** Whether they agreed to offers. */
      offers: flag,
      method: optInMethod,
      /** The page of the form; null where there is none. */
      sourceUrl: optional(text),
    },
  },
} satisfies EventFormats

/** Everything that can happen between a company and a recipient. */
export type RecipientEvent = FactOf<typeof recipientFormats>

/** Those of its facts that are of these types. */
export type RecipientFact<T extends RecipientEvent["type"]> = FactOf<typeof recipientFormats, T>

/** A text will be sent: it is paid for (or free) and a worker takes it from here. */
export type TextQueued = RecipientFact<"TextQueued">

/** Writes and reads the facts about a recipient. */
export const recipientCodec = codecOf(recipientFormats)
