/**
 * The facts about one mail to up to fifty recipients, and the forms they are stored in. Addresses are
 * sealed under a key of each recipient's own; what the mail says stands in a blob.
 */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  enumOf,
  optional,
  asciiText,
  record,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { addressTag, mailId } from "./ids.ts"

const recipient = record({
  /** Its place among those of the mail, from 0. */
  recipientIndex: integer,
  /** As `formatMailbox` writes it. */
  to: sealedText,
  tag: addressTag,
})

/** Whom a mail is for. */
export type MailRecipient = ValueOf<typeof recipient>

/** What handing a mail over for one recipient can come to. */
export const MAIL_DISPATCH_RESULTS = [
  /** The recipient's own server has it. */
  "delivered",
  /** A relay has it, which promises only to try. */
  "relayed",
  /** Not now, or not from here: it is tried again. */
  "deferred",
  /** It is not to be had there, ever, or must not be written to. */
  "bounced",
  /** It may have been taken: nobody said so. */
  "unknown",
] as const

/** What handing a mail over for one recipient came to. */
export type MailDispatchResult = (typeof MAIL_DISPATCH_RESULTS)[number]

const outcome = record({
  recipientIndex: integer,
  result: enumOf(...MAIL_DISPATCH_RESULTS),
  /** What the other side said: a status code (RFC 3463), a reply code (RFC 5321) or a word of ours. */
  code: optional(asciiText),
})

/** What became of a mail for one recipient. */
export type MailOutcome = ValueOf<typeof outcome>

/** Everything that can happen to a mail. */
export const mailFormats = {
  /** It is paid for, and is handed over from here on. */
  MailAccepted: {
    version: 1,
    fields: {
      at: instant,
      mailId,
      /** The open charge that pays for it. */
      chargeId: asciiText,
      keyId: optional(id.key),
      personId: optional(id.person),
      sendingDomainId: asciiText,
      /** As `formatMailbox` writes it, sealed under the company's key. */
      from: sealedText,
      recipients: list(recipient),
      /** A keyed hash of what it says. */
      bodyHash: asciiText,
      /** Whether each recipient is offered not to be written to again from this sending domain. */
      hasUnsubscribe: flag,
    },
  },
  /** It was handed over for some of its recipients, or could not be. */
  MailDispatched: { version: 1, fields: { at: instant, mailId, outcomes: list(outcome) } },
  /** It was refused as a whole before anybody had it: what it cost is given back. */
  MailRefused: { version: 1, fields: { at: instant, mailId, code: asciiText } },
  /** It came back from somebody who seemed to have it. */
  MailBounced: {
    version: 1,
    fields: { at: instant, mailId, recipientIndex: integer, code: asciiText },
  },
  /** A charge was made for a mail that was never accepted; from now on it cannot be. */
  MailAbandoned: { version: 1, fields: { at: instant, mailId } },
} satisfies EventFormats

/** Everything that can happen to a mail. */
export type MailEvent = FactOf<typeof mailFormats>

/** One of these facts. */
export type MailFact<T extends MailEvent["type"]> = Extract<MailEvent, { readonly type: T }>

/** Writes and reads the facts about a mail. */
export const mailCodec = codecOf(mailFormats)
