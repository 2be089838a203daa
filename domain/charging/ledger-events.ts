/**
 * The facts of a company's ledger, and the forms they are stored in. Names and fields are stored
 * formats: they are versioned, never edited. The stream's name says whose they are, so no fact
 * repeats the company.
 */
import type { ChargeId, KeyId, PersonId } from "../kernel/ids.ts"
import type { Formats } from "../kernel/format.ts"
import {
  codecOf,
  flag,
  int,
  list,
  micros,
  oneOf,
  optional,
  plain,
  record,
  text,
  time,
} from "../kernel/format.ts"
import type { Micros } from "../kernel/money.ts"
import type { Period } from "../kernel/window.ts"
import type { Holder, LimitReading, SpendingClass } from "./limits.ts"

/** The company exists and may spend. Funds begin at zero. */
export interface LedgerOpened {
  readonly type: "LedgerOpened"
  readonly at: number
  /** Short of funds it answers 402 without a way to pay: an operator or the owner adds funds. */
  readonly prepaidOnly: boolean
  /** How far below zero the funds of a pay-by-card company may go. */
  readonly creditLineMicros: Micros
}

/** An operator or a payment raised the funds. */
export interface FundsAdded {
  readonly type: "FundsAdded"
  readonly at: number
  readonly amountMicros: Micros
  /** The adder's own name for it; the same reference again adds nothing. */
  readonly reference: string | null
}

/** A limit was set or replaced: a holder has one per class, a key has one. */
export interface LimitSet {
  readonly type: "LimitSet"
  readonly at: number
  readonly holder: Holder
  readonly holderId: PersonId | KeyId | null
  readonly class: SpendingClass | "all"
  readonly period: Period
  readonly amountMicros: Micros
  readonly remindersMicros: readonly Micros[]
  readonly leaveKeysOut: boolean
}

/** A limit is gone. What was spent stays summed and counts when a limit is set again. */
export interface LimitRemoved {
  readonly type: "LimitRemoved"
  readonly at: number
  readonly holder: Holder
  readonly holderId: PersonId | KeyId | null
  readonly class: SpendingClass | "all"
}

/** Who spends and for what: the part that a charge and its refusal share. */
export interface ChargeRequest {
  readonly chargeId: ChargeId
  readonly via: "own_key" | "shared_key" | "person" | "company"
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly class: SpendingClass
  /** What is bought, a name of the price book or, from outside the API, any text. */
  readonly item: string
  readonly quantity: number
  readonly unitPriceMicros: Micros
  /** The price book's version that the unit price is from. */
  readonly priceVersion: number
  readonly amountMicros: Micros
  /** What it was for: a message, a box, a number. */
  readonly resource: string | null
  /** When the caller asked, by the clock of that moment. Data for the bill; decides nothing. */
  readonly requestedAt: number
  /** When the thing was due, for rent and minutes; data for the bill. */
  readonly dueAt: number | null
  /** When the service began that this pays for, where it differs from `at`; data for the bill. */
  readonly servedFrom: number | null
}

/** Money was spent: the check against funds and limits and the reservation are this one fact. */
export interface Charged extends ChargeRequest {
  readonly type: "Charged"
  readonly at: number
  /** True while its work can still fail: it will be closed, or given back. */
  readonly open: boolean
  /** Funds were not asked (the nightly call charge, rent, kept minutes: decisions.md §4). */
  readonly exempt: "funds" | null
}

/** The work of these charges succeeded: they can no longer be given back by it. */
export interface ChargesClosed {
  readonly type: "ChargesClosed"
  readonly at: number
  readonly chargeIds: readonly ChargeId[]
}

/** All or part of a charge came back to the funds. It ends the charge; there is no second one. */
export interface ChargeGivenBack {
  readonly type: "ChargeGivenBack"
  readonly at: number
  readonly chargeId: ChargeId
  readonly amountMicros: Micros
  /** When it was charged: says in which windows it still counts. */
  readonly chargedAt: number
  readonly via: "own_key" | "shared_key" | "person" | "company"
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly class: SpendingClass
  readonly item: string
  readonly resource: string | null
  readonly reason: string
}

/** A missed payment: nothing can be charged until it is unlocked. */
export interface AccountLocked {
  readonly type: "AccountLocked"
  readonly at: number
}

/** Charges are possible again. */
export interface AccountUnlocked {
  readonly type: "AccountUnlocked"
  readonly at: number
}

/** Everything that can happen to a ledger. */
export type LedgerEvent =
  | LedgerOpened
  | FundsAdded
  | LimitSet
  | LimitRemoved
  | Charged
  | ChargesClosed
  | ChargeGivenBack
  | AccountLocked
  | AccountUnlocked

/** Why a charge was refused. */
export type ChargeRefusalCode =
  | "spend_limit_reached"
  | "payment_required"
  | "account_locked"
  | "too_many_open_charges"
  | "amount_too_large"

/**
 * A charge that was not accepted, with everything the decision looked at. It is no fact of the
 * ledger: it is kept in `refusals-<companyId>`, so that refused callers cannot grow the ledger.
 */
export interface ChargeRefused extends ChargeRequest {
  readonly type: "ChargeRefused"
  readonly at: number
  readonly code: ChargeRefusalCode
  /** The ledger revision it was decided at: the last fact the decision knew; -1 for none. */
  readonly ledgerRevision: number
  readonly fundsMicros: Micros
  readonly creditLineMicros: Micros
  /** Short of funds, there is no way to pay: somebody must add funds. */
  readonly prepaidOnly: boolean
  /** Calls served and not yet recorded that weighed in the limits. */
  readonly pendingMicros: Micros
  /** Every limit that applied, in the order key, person, company. */
  readonly limits: readonly LimitReading[]
  /** The place in `limits` of the first that refused; null where no limit did. */
  readonly refusedBy: number | null
}

const via = oneOf("own_key", "shared_key", "person", "company")
const spendingClass = oneOf("ai", "general")
const limitClass = oneOf("ai", "general", "all")
const holder = oneOf("company", "person", "key")
const period = oneOf("day", "week", "month")

const requestFields = {
  chargeId: plain,
  via,
  keyId: optional(plain),
  personId: optional(plain),
  class: spendingClass,
  item: text,
  quantity: int,
  unitPriceMicros: micros,
  priceVersion: int,
  amountMicros: micros,
  resource: optional(text),
  requestedAt: time,
  dueAt: optional(time),
  servedFrom: optional(time),
}

const limitName = { holder, holderId: optional(plain), class: limitClass }

/** The evidence of a refusal, as it is stored in `refusals-<companyId>`. */
export const chargeRefusedFields = {
  at: time,
  ...requestFields,
  code: oneOf(
    "spend_limit_reached",
    "payment_required",
    "account_locked",
    "too_many_open_charges",
    "amount_too_large",
  ),
  ledgerRevision: int,
  fundsMicros: micros,
  creditLineMicros: micros,
  prepaidOnly: flag,
  pendingMicros: micros,
  limits: list(
    record<LimitReading>({
      ...limitName,
      period,
      amountMicros: micros,
      usedMicros: micros,
      remainingMicros: micros,
      askedMicros: micros,
      windowStart: time,
      resetsAt: time,
    }),
  ),
  refusedBy: optional(int),
}

/** The stored form of each ledger fact. */
export const ledgerFormats: Formats<LedgerEvent> = {
  LedgerOpened: { version: 1, fields: { at: time, prepaidOnly: flag, creditLineMicros: micros } },
  FundsAdded: {
    version: 1,
    fields: { at: time, amountMicros: micros, reference: optional(text) },
  },
  LimitSet: {
    version: 1,
    fields: {
      at: time,
      ...limitName,
      period,
      amountMicros: micros,
      remindersMicros: list(micros),
      leaveKeysOut: flag,
    },
  },
  LimitRemoved: { version: 1, fields: { at: time, ...limitName } },
  Charged: {
    version: 1,
    fields: { at: time, ...requestFields, open: flag, exempt: optional(oneOf("funds")) },
  },
  ChargesClosed: { version: 1, fields: { at: time, chargeIds: list(plain) } },
  ChargeGivenBack: {
    version: 1,
    fields: {
      at: time,
      chargeId: plain,
      amountMicros: micros,
      chargedAt: time,
      via,
      keyId: optional(plain),
      personId: optional(plain),
      class: spendingClass,
      item: text,
      resource: optional(text),
      reason: text,
    },
  },
  AccountLocked: { version: 1, fields: { at: time } },
  AccountUnlocked: { version: 1, fields: { at: time } },
}

/** Writes and reads ledger facts. */
export const ledgerCodec = codecOf<LedgerEvent>(ledgerFormats)
