/**
 * The facts about who may do what in a company, and the forms they are stored in. Names, emails and
 * labels are sealed before a command is made; the core never sees them. Those about people are in
 * `team-events.ts`.
 */
import type { CompanyId, KeyId, PersonId, Sealed } from "../kernel/ids.ts"
import type { Formats } from "../kernel/format.ts"
import { codecOf, flag, list, oneOf, optional, plain, time } from "../kernel/format.ts"
import type { Operation } from "./operations.ts"
import { ALL_OPERATIONS } from "./operations.ts"
import type { TeamEvent } from "./team-events.ts"
import { teamFormats } from "./team-events.ts"

/** The plans a company can be on, by their monthly dollars; `payg` pays as it goes. */
export const PLANS = ["payg", "29", "79", "197", "329"] as const

/** A company's plan. */
export type Plan = (typeof PLANS)[number]

/** The company's people and keys can be named from now on. */
export interface CompanyOpened {
  readonly type: "CompanyOpened"
  readonly at: number
  readonly companyId: CompanyId
  readonly name: Sealed
  readonly plan: Plan
  /** Whether the company pays by its card or from prepaid funds. */
  readonly pays: "prepaid" | "card"
}

/** The company is on another plan, or pays in another way. */
export interface PlanChanged {
  readonly type: "PlanChanged"
  readonly at: number
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
}

/** A key was made. Its secret was shown once; only the SHA-256 is kept. */
export interface KeyCreated {
  readonly type: "KeyCreated"
  readonly at: number
  readonly keyId: KeyId
  /** Whose key it is; null for a shared key of the company's app. */
  readonly personId: PersonId | null
  /** SHA-256 of the whole key text, hexadecimal. */
  readonly keyHash: string
  readonly operations: readonly Operation[]
  readonly label: Sealed | null
}

/** A key stopped working until it is resumed. */
export interface KeyPaused {
  readonly type: "KeyPaused"
  readonly at: number
  readonly keyId: KeyId
}

/** A paused key works again. */
export interface KeyResumed {
  readonly type: "KeyResumed"
  readonly at: number
  readonly keyId: KeyId
}

/** A key is gone for good. */
export interface KeyDeleted {
  readonly type: "KeyDeleted"
  readonly at: number
  readonly keyId: KeyId
}

/** A key stopped working because its company was deleted. */
export interface KeySwitchedOff {
  readonly type: "KeySwitchedOff"
  readonly at: number
  readonly keyId: KeyId
}

/** The deletion of the company was undone: what it switched off works again. */
export interface KeySwitchedOn {
  readonly type: "KeySwitchedOn"
  readonly at: number
  readonly keyId: KeyId
}

/** A payment card is on file. */
export interface CardSet {
  readonly type: "CardSet"
  readonly at: number
  /** A temporary hold went through. */
  readonly verified: boolean
  /** The last payment by it failed: the account is not paid up. */
  readonly failing: boolean
}

/** No card is on file. */
export interface CardRemoved {
  readonly type: "CardRemoved"
  readonly at: number
}

/** The company's apps are updated from another channel. */
export interface ChannelChanged {
  readonly type: "ChannelChanged"
  readonly at: number
  readonly channel: string
}

/** The company earns by the companies it brings. */
export interface AffiliateJoined {
  readonly type: "AffiliateJoined"
  readonly at: number
  /** What its link ends in. */
  readonly tag: string
}

/** Everything that can happen to a company's access. */
export type AccessEvent =
  | CompanyOpened
  | PlanChanged
  | TeamEvent
  | KeyCreated
  | KeyPaused
  | KeyResumed
  | KeyDeleted
  | KeySwitchedOff
  | KeySwitchedOn
  | CardSet
  | CardRemoved
  | ChannelChanged
  | AffiliateJoined

const keyOnly = { version: 1, fields: { at: time, keyId: plain } }

/** The stored form of each access fact. */
export const accessFormats: Formats<AccessEvent> = {
  CompanyOpened: {
    version: 1,
    fields: {
      at: time,
      companyId: plain,
      name: plain,
      plan: oneOf(...PLANS),
      pays: oneOf("prepaid", "card"),
    },
  },
  PlanChanged: {
    version: 1,
    fields: { at: time, plan: oneOf(...PLANS), pays: oneOf("prepaid", "card") },
  },
  ...teamFormats,
  // Version 1 also said what the key may buy: that is decided in the ledger (`PurchaseTermsSet`).
  KeyCreated: {
    version: 2,
    lifts: { 1: (raw) => raw },
    fields: {
      at: time,
      keyId: plain,
      personId: optional(plain),
      keyHash: plain,
      operations: list(oneOf(...ALL_OPERATIONS)),
      label: optional(plain),
    },
  },
  KeyPaused: keyOnly,
  KeyResumed: keyOnly,
  KeyDeleted: keyOnly,
  KeySwitchedOff: keyOnly,
  KeySwitchedOn: keyOnly,
  CardSet: { version: 1, fields: { at: time, verified: flag, failing: flag } },
  CardRemoved: { version: 1, fields: { at: time } },
  ChannelChanged: { version: 1, fields: { at: time, channel: plain } },
  AffiliateJoined: { version: 1, fields: { at: time, tag: plain } },
}

/** Writes and reads access facts. */
export const accessCodec = codecOf<AccessEvent>(accessFormats)
