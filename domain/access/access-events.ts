/**
 * The facts about who may do what in a company, and the forms they are stored in. Names, emails and
 * labels are sealed before a command is made; the core never sees them. Those about people are in
 * `team-events.ts`, those about its card in `card-events.ts`.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, flag, list, oneOf, optional, plain, time } from "../kernel/format.ts"
import { id, sealed } from "../kernel/id-kinds.ts"
import { cardFormats } from "./card-events.ts"
import { ALL_OPERATIONS } from "./permissions.ts"
import { teamFormats } from "./team-events.ts"

/** The plans a company can be on, by their monthly dollars; `payg` pays as it goes. */
export const PLANS = ["payg", "29", "79", "197", "329"] as const

/** A company's plan. */
export type Plan = (typeof PLANS)[number]

const terms = {
  plan: oneOf(...PLANS),
  /** Whether the company pays by its card or from prepaid funds. */
  pays: oneOf("prepaid", "card"),
}

const keyOnly = { at: time, keyId: id.key }

/** Everything that can happen to a company's access. */
export const accessFormats = {
  /** The company's people and keys can be named from now on. */
  CompanyOpened: {
    version: 1,
    fields: { at: time, companyId: id.company, name: sealed, ...terms },
  },
  /** The company is on another plan, or pays in another way. */
  PlanChanged: { version: 1, fields: { at: time, ...terms } },
  ...teamFormats,
  /** A key was made. Its secret was shown once; only the SHA-256 is kept. */
  KeyCreated: {
    version: 1,
    fields: {
      at: time,
      keyId: id.key,
      /** Whose key it is; null for a shared key of the company's app. */
      personId: optional(id.person),
      /** SHA-256 of the whole key text, hexadecimal. */
      keyHash: plain,
      operations: list(oneOf(...ALL_OPERATIONS)),
      label: optional(sealed),
    },
  },
  /** A key may use these operations from now on, and no other. */
  KeyOperationsChanged: {
    version: 1,
    fields: { at: time, keyId: id.key, operations: list(oneOf(...ALL_OPERATIONS)) },
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
      pushId: plain,
      /** Whether that went to the company's own code. */
      inOwnCode: flag,
    },
  },
  ...cardFormats,
  /** The company's apps are updated from another channel. */
  ChannelChanged: { version: 1, fields: { at: time, channel: plain } },
  /** The company earns by the companies it brings. */
  AffiliateJoined: {
    version: 1,
    fields: {
      at: time,
      /** What its link ends in. */
      tag: plain,
    },
  },
} satisfies FormatTable

/** Everything that can happen to a company's access. */
export type AccessEvent = FactOf<typeof accessFormats>

/** Writes and reads access facts. */
export const accessCodec = codecOf(accessFormats)
