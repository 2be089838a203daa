/**
 * The facts of a company's ledger. Names and fields are stored formats (`ledger-formats.ts`): they
 * are versioned, never edited. The stream's name says whose they are, so no fact repeats the company.
 */
import type { ChargeId, KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { Period } from "../kernel/window.ts"
import type { Holder, LimitReading, SpendingClass } from "./limits.ts"
import type { PurchaseEvent } from "./purchase-events.ts"

/** The company exists and may spend. Funds begin at zero. */
export interface LedgerOpened {
  readonly type: "LedgerOpened"
  readonly at: number
  /** Short of funds it answers 402 without a way to pay: an operator or the owner adds funds. */
  readonly prepaidOnly: boolean
  /** How far below zero the funds of a pay-by-card company may go. */
  readonly creditLineMicros: Micros
}

/** Who may spend beyond the funds changed. */
export interface TermsChanged {
  readonly type: "TermsChanged"
  readonly at: number
  /** See `LedgerOpened`; while it is true the credit line counts for nothing. */
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** An operator raised the funds. */
export interface FundsAdded {
  readonly type: "FundsAdded"
  readonly at: number
  readonly amountMicros: Micros
  /** The adder's own name for it; the same reference again adds nothing. */
  readonly reference: string | null
}

/** An operator corrected the funds, up or down. It may take them below zero: it says what is. */
export interface FundsCorrected {
  readonly type: "FundsCorrected"
  readonly at: number
  /** The change, not 0. */
  readonly amountMicros: Micros
  readonly reason: string
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

/** Spending reached an amount at which people want to hear of it: once per limit, amount and window. */
export interface ReminderReached {
  readonly type: "ReminderReached"
  readonly at: number
  readonly holder: Holder
  readonly holderId: PersonId | KeyId | null
  readonly class: SpendingClass | "all"
  readonly period: Period
  /** What the limit allows. */
  readonly limitMicros: Micros
  /** The amount that was reached. */
  readonly reminderMicros: Micros
  readonly usedMicros: Micros
  /** When the window began, and when it starts anew, UTC milliseconds. */
  readonly windowStart: number
  readonly resetsAt: number
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
  /** The id is the caller's own name for it, and never charges again (`recent.ts`). */
  readonly once: boolean
  /** It weighs in no window: its calls did when they were counted (decisions.md §5). */
  readonly weighed: boolean
}

/** The work of these charges succeeded: they can no longer be given back by it. */
export interface ChargesClosed {
  readonly type: "ChargesClosed"
  readonly at: number
  readonly chargeIds: readonly ChargeId[]
}

/**
 * All or part of a charge came back to the funds: because its work failed, which ends an open
 * charge, or because an operator gives a final one back. There is no second one.
 */
export interface ChargeGivenBack {
  readonly type: "ChargeGivenBack"
  readonly at: number
  readonly chargeId: ChargeId
  readonly amountMicros: Micros
  /** When it weighed: says in which windows it still counts. */
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

/** How many calls one key served for one person, or for nobody in particular. */
export interface CallTally {
  readonly via: "own_key" | "shared_key"
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly calls: number
}

/** API calls of one UTC day were counted. They weigh in the limits now; the funds pay next night. */
export interface ApiCallsCounted {
  readonly type: "ApiCallsCounted"
  readonly at: number
  /** The first millisecond of the UTC day they are counted for. */
  readonly day: number
  /** What a call costs on that day: one price a day and company, that of the day's first call. */
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
  readonly tallies: readonly CallTally[]
  /** They pass a limit: other calls were counted meanwhile by another process (decisions.md §5). */
  readonly exempt: "limits" | null
}

/** A UTC month is over: its bill never changes again. */
export interface MonthClosed {
  readonly type: "MonthClosed"
  readonly at: number
  /** `YYYY-MM`. */
  readonly month: string
  /** Funds at its beginning; with the sums of the month they come to `fundsMicros`. */
  readonly openingMicros: Micros
  readonly addedMicros: Micros
  readonly purchasedMicros: Micros
  readonly correctedMicros: Micros
  readonly chargedMicros: Micros
  readonly givenBackMicros: Micros
  readonly fundsMicros: Micros
  /** How many charges there were. */
  readonly charges: number
  /** The last fact before the closing: its revision and hash. */
  readonly headRevision: number
  readonly headHash: string
}

/** The company was deleted: nothing more is sold to it. What is under way may still end. */
export interface LedgerClosed {
  readonly type: "LedgerClosed"
  readonly at: number
}

/** The deletion was undone. */
export interface LedgerReopened {
  readonly type: "LedgerReopened"
  readonly at: number
}

/** The deletion can be undone no more: the company's keys are destroyed from here on. */
export interface ErasureBegun {
  readonly type: "ErasureBegun"
  readonly at: number
}

/** Everything that can happen to a ledger. */
export type LedgerEvent =
  | LedgerOpened
  | TermsChanged
  | FundsAdded
  | FundsCorrected
  | LimitSet
  | LimitRemoved
  | ReminderReached
  | Charged
  | ChargesClosed
  | ChargeGivenBack
  | ApiCallsCounted
  | PurchaseEvent
  | AccountLocked
  | AccountUnlocked
  | MonthClosed
  | LedgerClosed
  | LedgerReopened
  | ErasureBegun

/** Why charges are refused. */
export const CHARGE_REFUSAL_CODES = [
  "ledger_closed",
  "account_locked",
  "spend_limit_reached",
  "payment_required",
  "too_many_open_charges",
  "amount_too_large",
] as const

/** Why a charge was refused. */
export type ChargeRefusalCode = (typeof CHARGE_REFUSAL_CODES)[number]

/**
 * A charge that was not accepted, with everything the decision looked at. It is no fact of the
 * ledger: it is kept in `refusals-<companyId>`, so that refused callers cannot grow the ledger.
 */
export interface ChargeRefused extends ChargeRequest {
  readonly type: "ChargeRefused"
  readonly at: number
  readonly open: boolean
  readonly exempt: "funds" | null
  readonly code: ChargeRefusalCode
  /** The ledger revision it was decided at: the last fact the decision knew; -1 for none. */
  readonly ledgerRevision: number
  readonly fundsMicros: Micros
  /** What may be spent beyond the funds; 0 for a prepaid-only company. */
  readonly creditLineMicros: Micros
  /** Short of funds, there is no way to pay: somebody must add funds. */
  readonly prepaidOnly: boolean
  /** The company's calls that were served and not yet recorded: they weighed in the limits. */
  readonly pendingMicros: Micros
  /** Every limit that applied, in the order key, person, company. */
  readonly limits: readonly LimitReading[]
  /** The place in `limits` of the first that refused; null where no limit did. */
  readonly refusedBy: number | null
}
