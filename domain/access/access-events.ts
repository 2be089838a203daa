/**
 * The facts about who may do what in a company, and the forms they are stored in. Names, emails and
 * labels are sealed before a command is made; the core never sees them.
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

// The facts about a company's people, and the forms they are stored in. Names and emails are sealed
// before a command is made; the core never sees them.

/** Everything that can happen to a company's people. */
const teamFormats = {
  /** Somebody belongs to the company. */
  PersonAdded: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      name: sealedText,
      email: sealedText,
      /** Keyed hash of the email in lower case: two people of a company cannot share one. */
      emailTag: asciiText,
      role: enumOf(...ROLES),
      /** Granted one by one, on top of the role. */
      permissions: list(enumOf(...PERMISSIONS)),
    },
  },
  /** What is known of somebody is another; what is null stays as it was. */
  PersonChanged: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      name: optional(sealedText),
      email: optional(sealedText),
      /** Of the new email; null where it stays. */
      emailTag: optional(asciiText),
      role: optional(enumOf(...ROLES)),
    },
  },
  /** What somebody may beside their role, and what they may not though the role lets them: all of it. */
  AppAccessSet: {
    version: 1,
    fields: {
      at: instant,
      personId: id.person,
      grant: list(enumOf(...GRANTABLE)),
      deny: list(enumOf(...GRANTABLE)),
    },
  },
  /** Somebody belongs to the company no more. Their keys were deleted with this. */
  PersonRemoved: { version: 1, fields: { at: instant, personId: id.person } },
  /** Somebody was invited. Adding a person with this email ends it; so does its time. */
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
  /** An invitation was taken back before anybody accepted it. */
  InvitationWithdrawn: {
    version: 1,
    fields: { at: instant, inviteId: asciiText, emailTag: asciiText },
  },
} satisfies EventFormats

/** Everything that can happen to a company's people. */
export type TeamEvent = FactOf<typeof teamFormats>

/** What is known of somebody is another; what is null stays as it was. */
export type PersonChanged = FactOf<typeof teamFormats, "PersonChanged">

/** `hold_` and a unique part: a sum that is held on a card for a moment. */
export type HoldId = `hold_${string}`

/** The id of a hold that a text is. */
export const parseHoldId = createIdParser("hold_")

/** Why a card was not found to be good. */
export const CARD_CHECK_FAILURES = [
  "declined",
  "payment_failed",
  "needs_owner",
  "no_card",
  "card_changed",
] as const

/** One of them. */
export type CardCheckFailure = (typeof CARD_CHECK_FAILURES)[number]

const holdId = idFieldType("a hold's id", parseHoldId)

/** Everything that can happen to a company's card. */
const cardFormats = {
  /** The payment processor knows the company as this customer, whose card payments are taken from. */
  ProcessorCustomerSet: { version: 1, fields: { at: instant, customerId: text } },
  /** A payment card is on file. */
  CardSet: {
    version: 1,
    fields: {
      at: instant,
      /** A temporary hold went through. */
      verified: flag,
      /** The last payment by it failed: the account is not paid up. */
      failing: flag,
    },
  },
  /** No card is on file. */
  CardRemoved: { version: 1, fields: { at: instant } },
  /** A sum is to be held on the card, and let go at once. */
  CardCheckStarted: { version: 1, fields: { at: instant, holdId, amountMicros: micros } },
  /** The sum was held and let go: the card is good for it. */
  CardVerified: { version: 1, fields: { at: instant, holdId } },
  /** The sum could not be held, or not on the card that is on file by now. */
  CardCheckFailed: {
    version: 1,
    fields: { at: instant, holdId, code: enumOf(...CARD_CHECK_FAILURES) },
  },
} satisfies EventFormats

/** Everything that can happen to a company's card. */
export type CardEvent = FactOf<typeof cardFormats>

/** The plans a company can be on, by their monthly dollars; `payg` pays as it goes. */
export const PLANS = ["payg", "29", "79", "197", "329"] as const

/** A company's plan. */
export type Plan = (typeof PLANS)[number]

const terms = {
  plan: enumOf(...PLANS),
  /** Whether the company pays by its card or from prepaid funds. */
  pays: enumOf("prepaid", "card"),
}

const keyOnly = { at: instant, keyId: id.key }

/** Everything that can happen to a company's access. */
const accessFormats = {
  /** The company's people and keys can be named from now on. */
  CompanyOpened: {
    version: 1,
    fields: { at: instant, companyId: id.company, name: sealedText, ...terms },
  },
  /** The company is on another plan, or pays in another way. */
  PlanChanged: { version: 1, fields: { at: instant, ...terms } },
  ...teamFormats,
  /** A key was made. Its secret was shown once; only the SHA-256 is kept. */
  KeyCreated: {
    version: 1,
    fields: {
      at: instant,
      keyId: id.key,
      /** Whose key it is; null for a shared key of the company's app. */
      personId: optional(id.person),
      /** SHA-256 of the whole key text, hexadecimal. */
      keyHash: asciiText,
      operations: list(enumOf(...ALL_OPERATIONS)),
      label: optional(sealedText),
    },
  },
  /** A key may use these operations from now on, and no other. */
  KeyOperationsChanged: {
    version: 1,
    fields: { at: instant, keyId: id.key, operations: list(enumOf(...ALL_OPERATIONS)) },
  },
  /** A key stopped working until it is resumed. */
  KeyPaused: { version: 1, fields: keyOnly },
  /** A paused key works again. */
  KeyResumed: { version: 1, fields: keyOnly },
  /** A key is gone for good. */
  KeyDeleted: { version: 1, fields: keyOnly },
  /** A key stopped working because its company was deleted. */
  KeySwitchedOff: { version: 1, fields: keyOnly },
  /** The deletion of the company was undone: what it switched off works again. */
  KeySwitchedOn: { version: 1, fields: keyOnly },
  /** A key stopped working for good: its text stood in a push, so that others may have read it. */
  KeyLeaked: {
    version: 1,
    fields: {
      ...keyOnly,
      /** The push it was found in. */
      pushId: asciiText,
      /** Whether that went to the company's own code. */
      inOwnCode: flag,
    },
  },
  ...cardFormats,
  /** The company's apps are updated from another channel. */
  ChannelChanged: { version: 1, fields: { at: instant, channel: asciiText } },
  /** The company earns by the companies it brings. */
  AffiliateJoined: {
    version: 1,
    fields: {
      at: instant,
      /** What its link ends in. */
      tag: asciiText,
    },
  },
} satisfies EventFormats

/** Everything that can happen to a company's access. */
export type AccessEvent = FactOf<typeof accessFormats>

/** Writes and reads access facts. */
export const accessCodec = codecOf(accessFormats)
