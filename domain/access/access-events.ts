/**
 * Events about who may do what in a company, and their stored formats. Names, emails and labels are sealed before a
 * command is made, so the domain never sees them.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  list,
  enumOf,
  optional,
  asciiText,
  instant,
  micros,
  text,
} from "../kernel/event-format.ts"
import { id, sealedText, idFieldType } from "../kernel/id-field-types.ts"
import { ALL_OPERATIONS, GRANTABLE, PERMISSIONS, ROLES } from "./permissions.ts"
import { createIdParser } from "../kernel/ids.ts"

const teamFormats = {
  PersonAdded: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      name: sealedText,
      email: sealedText,
      /** Keyed hash of the lowercase email: two people of a company cannot share one. */
      emailTag: asciiText,
      role: enumOf(...ROLES),
      /** Granted in addition to the role. */
      permissions: list(enumOf(...PERMISSIONS)),
    },
  },
  /** A null field is unchanged. */
  PersonChanged: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      name: optional(sealedText),
      email: optional(sealedText),
      emailTag: optional(asciiText),
      role: optional(enumOf(...ROLES)),
    },
  },
  /** The complete lists: granted in addition to the role, and denied despite the role. */
  AppAccessSet: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      grant: list(enumOf(...GRANTABLE)),
      deny: list(enumOf(...GRANTABLE)),
    },
  },
  /** The person's keys were deleted in the same append. */
  PersonRemoved: { version: 1, fields: { at: instant, personId: id.person } },
  /** Ends when a person with this email is added, or when it expires. */
  PersonInvited: {
    version: 1,
    fields: {
      at: instant,
      inviteId: asciiText,
      email: sealedText,
      emailTag: asciiText,
      role: enumOf(...ROLES),
      expiresAt: instant,
    },
  },
  InvitationWithdrawn: {
    version: 1,
    fields: { at: instant, inviteId: asciiText, emailTag: asciiText },
  },
} satisfies EventFormats

/** Every event about a company's people. */
export type TeamEvent = FactOf<typeof teamFormats>

/** A person's details changed; a null field is unchanged. */
export type PersonChanged = FactOf<typeof teamFormats, "PersonChanged">

/** `hold_` and a unique part: a short authorization on a card. */
export type HoldId = `hold_${string}`

export const parseHoldId = createIdParser("hold_")

export const CARD_CHECK_FAILURES = [
  "declined",
  "payment_failed",
  "needs_owner",
  "no_card",
  "card_changed",
] as const

export type CardCheckFailure = (typeof CARD_CHECK_FAILURES)[number]

const holdId = idFieldType("a hold's id", parseHoldId)

const cardFormats = {
  /** The id of the company at the payment processor. */
  ProcessorCustomerSet: { version: 1, fields: { at: instant, customerId: text } },
  CardSet: {
    version: 1,
    fields: {
      at: instant,
      /** A temporary hold succeeded. */
      verified: flag,
      /** The last card payment failed, so the account is not paid up. */
      failing: flag,
    },
  },
  CardRemoved: { version: 1, fields: { at: instant } },
  /** An amount is about to be held on the card and released immediately. */
  CardCheckStarted: { version: 1, fields: { at: instant, holdId, amountMicros: micros } },
  CardVerified: { version: 1, fields: { at: instant, holdId } },
  /** The hold failed, or the card on file changed meanwhile. */
  CardCheckFailed: {
    version: 1,
    fields: { at: instant, holdId, code: enumOf(...CARD_CHECK_FAILURES) },
  },
} satisfies EventFormats

/** Every event about a company's card. */
export type CardEvent = FactOf<typeof cardFormats>

/** The plans of a company, by dollars per month; `payg` is pay as you go. */
export const PLANS = ["payg", "29", "79", "197", "329"] as const

/** A company's plan. */
export type Plan = (typeof PLANS)[number]

const terms = {
  plan: enumOf(...PLANS),
  /** Whether the company pays by card or from prepaid funds. */
  pays: enumOf("prepaid", "card"),
}

const keyOnly = { at: instant, keyId: id.key }

const accessFormats = {
  CompanyOpened: {
    version: 1,
    fields: { at: instant, companyId: id.company, name: sealedText, ...terms },
  },
  PlanChanged: { version: 1, fields: { at: instant, ...terms } },
  ...teamFormats,
  /** The secret was shown once; only its SHA-256 is stored. */
  KeyCreated: {
    version: 1,
    fields: {
      at: instant,
      keyId: id.key,
      /** Null for an app key. */
      personId: optional(id.person),
      /** SHA-256 of the key text, in hexadecimal. */
      keyHash: asciiText,
      operations: list(enumOf(...ALL_OPERATIONS)),
      label: optional(sealedText),
    },
  },
  KeyOperationsChanged: {
    version: 1,
    fields: { at: instant, keyId: id.key, operations: list(enumOf(...ALL_OPERATIONS)) },
  },
  KeyPaused: { version: 1, fields: keyOnly },
  KeyResumed: { version: 1, fields: keyOnly },
  KeyDeleted: { version: 1, fields: keyOnly },
  /** The key stopped working because its company was deleted. */
  KeySwitchedOff: { version: 1, fields: keyOnly },
  /** The company's deletion was undone, so the key works again. */
  KeySwitchedOn: { version: 1, fields: keyOnly },
  /** The key is disabled permanently: its text was found in a push, where others may have read it. */
  KeyLeaked: {
    version: 1,
    fields: {
      ...keyOnly,
      pushId: asciiText,
      /** Whether the push went to the company's own repository. */
      inOwnCode: flag,
    },
  },
  ...cardFormats,
  /** The release channel of the company's apps. */
  ChannelChanged: { version: 1, fields: { at: instant, channel: asciiText } },
  /** The company earns a commission on the companies it refers. */
  AffiliateJoined: {
    version: 1,
    fields: {
      at: instant,
      /** The suffix of the company's affiliate link. */
      tag: asciiText,
    },
  },
} satisfies EventFormats

/** Every event about a company's access. */
export type AccessEvent = FactOf<typeof accessFormats>

export const accessCodec = codecOf(accessFormats)
