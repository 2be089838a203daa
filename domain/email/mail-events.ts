/**
 * Events of one mail to up to fifty recipients, and their stored formats. Each address is sealed under a key of its
 * recipient; the content is in a blob.
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
  /** Index among the mail's recipients, from 0. */
  recipientIndex: integer,
  /** Formatted by `formatMailbox`. */
  to: sealedText,
  tag: addressTag,
})

export type MailRecipient = ValueOf<typeof recipient>

export const MAIL_DISPATCH_RESULTS = [
  /** The recipient's own server accepted it. */
  "delivered",
  /** A relay accepted it and will try to deliver it. */
  "relayed",
  /** Rejected temporarily, or from this address; it is retried. */
  "deferred",
  /** The address does not exist, rejects the mail permanently, or is suppressed. */
  "bounced",
  /** The server may have accepted it; its answer was lost. */
  "unknown",
] as const

export type MailDispatchResult = (typeof MAIL_DISPATCH_RESULTS)[number]

const outcome = record({
  recipientIndex: integer,
  result: enumOf(...MAIL_DISPATCH_RESULTS),
  /** A status code (RFC 3463), a reply code (RFC 5321) or a word of ours. */
  code: optional(asciiText),
})

/** The outcome of a mail for one recipient. */
export type MailOutcome = ValueOf<typeof outcome>

/** The stored formats of a mail's events. */
export const mailFormats = {
  /** The mail is paid for and is dispatched from now on. */
  MailAccepted: {
    version: 1,
    fields: {
      at: instant,
      mailId,
      chargeId: asciiText,
      keyId: optional(id.key),
      personId: optional(id.person),
      sendingDomainId: asciiText,
      /** Formatted by `formatMailbox`, sealed under the company's key. */
      from: sealedText,
      recipients: list(recipient),
      bodyHash: asciiText,
      /** Whether each recipient is offered to unsubscribe from this sending domain. */
      hasUnsubscribe: flag,
    },
  },
  MailDispatched: { version: 1, fields: { at: instant, mailId, outcomes: list(outcome) } },
  /** The whole mail was refused before any recipient had it; its charge is refunded. */
  MailRefused: { version: 1, fields: { at: instant, mailId, code: asciiText } },
  /** The mail came back from a recipient whose server had accepted it. */
  MailBounced: {
    version: 1,
    fields: { at: instant, mailId, recipientIndex: integer, code: asciiText },
  },
  /** A charge was made for a mail that was never accepted; it can no longer be. */
  MailAbandoned: { version: 1, fields: { at: instant, mailId } },
} satisfies EventFormats

export type MailEvent = FactOf<typeof mailFormats>

/** An event of a mail of type `T`. */
export type MailFact<T extends MailEvent["type"]> = Extract<MailEvent, { readonly type: T }>

export const mailCodec = codecOf(mailFormats)
