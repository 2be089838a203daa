/**
 * The facts about one recipient of a company's texts, and the forms they are stored in.
 *
 * Every fact repeats how the recipient stands after it (opt-out and first text), so that an auditor
 * can judge any one of them alone. Phone numbers and bodies are sealed under the recipient's key.
 */
import type { Formats, Kind } from "../kernel/format.ts"
import {
  codecOf,
  flag,
  int,
  micros,
  oneOf,
  optional,
  plain,
  record,
  text,
  time,
} from "../kernel/format.ts"
import type { ChargeId, KeyId, MessageId, NumberId, PersonId, Sealed } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"

/** How a recipient stands: two kinds of opt-out that end differently, and the first text. */
export interface Standing {
  /** When they texted STOP; null while that does not stand. Only their START ends it. */
  readonly stoppedAt: number | null
  /** The word they stopped with. */
  readonly stopKeyword: string | null
  /** When the company added an opt-out; null while that does not stand. */
  readonly addedAt: number | null
  /** The text that was their first, and so carried the opt-out line where that is on. */
  readonly firstMessageId: MessageId | null
}

/** What a text is for: the company's own, or a free reply to a keyword. */
export type TextPurpose = "text" | "opt_out_reply" | "opt_in_reply" | "help_reply"

interface RecipientFact {
  readonly at: number
  readonly standing: Standing
}

/** A text will be sent: it is paid for (or free) and a worker takes it from here. */
export interface TextQueued extends RecipientFact {
  readonly type: "TextQueued"
  readonly messageId: MessageId
  readonly purpose: TextPurpose
  /** The open charge that pays for it; null for a free reply. */
  readonly chargeId: ChargeId | null
  /** Charged for an opt-out line that was not needed after all: given back when it is accepted. */
  readonly giveBackMicros: Micros
  readonly numberId: NumberId
  readonly to: Sealed
  readonly body: Sealed
  readonly segments: number
  readonly lineAdded: boolean
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** The carrier took it. */
export interface TextAccepted extends RecipientFact {
  readonly type: "TextAccepted"
  readonly messageId: MessageId
  /** The carrier's own name for it. */
  readonly carrierId: string
}

/** The carrier refused it: it was never sent. */
export interface TextRejected extends RecipientFact {
  readonly type: "TextRejected"
  readonly messageId: MessageId
  readonly errorCode: string
}

/** It reached the recipient. */
export interface TextDelivered extends RecipientFact {
  readonly type: "TextDelivered"
  readonly messageId: MessageId
}

/** It was sent and did not reach the recipient. */
export interface TextUndelivered extends RecipientFact {
  readonly type: "TextUndelivered"
  readonly messageId: MessageId
  readonly errorCode: string
}

/** A charge was made for a text that was never queued; from now on it cannot be. */
export interface TextAbandoned extends RecipientFact {
  readonly type: "TextAbandoned"
  readonly messageId: MessageId
}

/** The recipient texted the company. */
export interface TextReceived extends RecipientFact {
  readonly type: "TextReceived"
  readonly messageId: MessageId
  readonly numberId: NumberId
  readonly from: Sealed
  readonly body: Sealed
  readonly media: number
}

/** The recipient texted an opt-out word. */
export interface OptedOutByText extends RecipientFact {
  readonly type: "OptedOutByText"
  readonly phone: Sealed
  readonly keyword: string
}

/** The recipient texted an opt-in word: every opt-out ends. */
export interface OptedInByText extends RecipientFact {
  readonly type: "OptedInByText"
  readonly phone: Sealed
  readonly keyword: string
}

/** The company stopped texting this recipient. */
export interface OptOutAdded extends RecipientFact {
  readonly type: "OptOutAdded"
  readonly phone: Sealed
}

/** The company undid its own opt-out. */
export interface OptOutRemoved extends RecipientFact {
  readonly type: "OptOutRemoved"
  readonly phone: Sealed
}

/** Everything that can happen between a company and a recipient. */
export type RecipientEvent =
  | TextQueued
  | TextAccepted
  | TextRejected
  | TextDelivered
  | TextUndelivered
  | TextAbandoned
  | TextReceived
  | OptedOutByText
  | OptedInByText
  | OptOutAdded
  | OptOutRemoved

const standing: Kind<Standing> = record<Standing>({
  stoppedAt: optional(time),
  stopKeyword: optional(text),
  addedAt: optional(time),
  firstMessageId: optional(plain),
})
const base = { at: time, standing }

/** The stored form of each fact about a recipient. */
export const recipientFormats: Formats<RecipientEvent> = {
  TextQueued: {
    version: 1,
    fields: {
      ...base,
      messageId: plain,
      purpose: oneOf("text", "opt_out_reply", "opt_in_reply", "help_reply"),
      chargeId: optional(plain),
      giveBackMicros: micros,
      numberId: plain,
      to: plain,
      body: plain,
      segments: int,
      lineAdded: flag,
      keyId: optional(plain),
      personId: optional(plain),
    },
  },
  TextAccepted: { version: 1, fields: { ...base, messageId: plain, carrierId: text } },
  TextRejected: { version: 1, fields: { ...base, messageId: plain, errorCode: text } },
  TextDelivered: { version: 1, fields: { ...base, messageId: plain } },
  TextUndelivered: { version: 1, fields: { ...base, messageId: plain, errorCode: text } },
  TextAbandoned: { version: 1, fields: { ...base, messageId: plain } },
  TextReceived: {
    version: 1,
    fields: { ...base, messageId: plain, numberId: plain, from: plain, body: plain, media: int },
  },
  OptedOutByText: { version: 1, fields: { ...base, phone: plain, keyword: text } },
  OptedInByText: { version: 1, fields: { ...base, phone: plain, keyword: text } },
  OptOutAdded: { version: 1, fields: { ...base, phone: plain } },
  OptOutRemoved: { version: 1, fields: { ...base, phone: plain } },
}

/** Writes and reads the facts about a recipient. */
export const recipientCodec = codecOf<RecipientEvent>(recipientFormats)
