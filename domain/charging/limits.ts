/**
 * Spending limits: what they count, and whether an amount fits (specification, "Spending limits").
 *
 * A charge is added to *tallies*, and a limit watches one tally in one period. That is the whole
 * rule: which tallies a charge touches says which limits apply to it.
 *
 * | tally | counts | limits on it |
 * |---|---|---|
 * | company × class | everything the company spends | company limits |
 * | person × class | all the person's spending | person limits |
 * | person × class, keys left out | the same without their own keys | person limits with `leaveKeysOut` |
 * | key | everything the key spends | key limits |
 */
import type { ValueOf, ValuesOf } from "../kernel/event-format.ts"
import { flag, list, micros, enumOf, optional, instant } from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"
import type { KeyId, PersonId } from "../kernel/ids.ts"
import { isMicros } from "../kernel/money.ts"
import { PERIODS } from "../kernel/window.ts"

/** How `SpendingClass` is stored. */
export const spendingClass = enumOf("ai", "general")

/** What spending is for: AI models, or everything else. */
export type SpendingClass = ValueOf<typeof spendingClass>

/**
 * Who spends, and through what: a person's own key, the app's shared key (with the signed-in person
 * or without), a person on the dashboard or in the app, or the company alone (rent, incoming calls).
 */
export type Spender =
  | { readonly via: "own_key"; readonly keyId: KeyId; readonly personId: PersonId }
  | { readonly via: "app_key"; readonly keyId: KeyId; readonly personId: PersonId | null }
  | { readonly via: "person"; readonly keyId: null; readonly personId: PersonId }
  | { readonly via: "company"; readonly keyId: null; readonly personId: null }

/** What of a limit is named in order to find it: a holder has one limit per class. */
export const limitScopeFields = {
  holder: enumOf("company", "person", "key"),
  /** The person or key; null for the company. */
  holderId: optional(id.holder),
  /** `all` for a key's limit, which has no other. */
  class: enumOf("ai", "general", "all"),
}

/** What of a limit is named in order to find it. */
export type LimitScope = ValuesOf<typeof limitScopeFields>

/** Whom a limit binds. */
export type LimitHolder = LimitScope["holder"]

/** How `Period` is stored. */
export const period = enumOf(...PERIODS)

/** A limit as it is set. */
export const limitFields = {
  ...limitScopeFields,
  period,
  amountMicros: micros,
  /** Amounts at which one email is sent per window; they stop nothing. */
  remindersMicros: list(micros),
  /** A person's limit that does not count the spending of their own keys. */
  leaveKeysOut: flag,
}

/** A limit as it is set. A key's limit has class `all`; others are `ai` or `general`. */
export type Limit = ValuesOf<typeof limitFields>

/** A limit as it stood when a decision looked at it: the evidence of a yes or a no. */
export const limitReadingFields = {
  ...limitScopeFields,
  period,
  amountMicros: micros,
  /** Spent in the window so far, with `pendingMicros`, without what is asked. */
  usedMicros: micros,
  /** How much of it are calls that were served and not yet recorded (`calls.ts`). */
  unrecordedMicros: micros,
  /** What is left, never below 0. */
  remainingMicros: micros,
  /** What the refused charge asked for; 0 where a call was refused up front. */
  askedMicros: micros,
  /** When the window began, UTC milliseconds, inclusive. */
  windowStart: instant,
  /** When it starts anew, UTC milliseconds. */
  resetsAt: instant,
}

/** A limit as it stood when a decision looked at it. */
export type LimitReading = ValuesOf<typeof limitReadingFields>

/** Why a limit of this form cannot be, as a sentence; null where it can. */
export function limitFault(limit: Limit): string | null {
  if ((limit.holder === "company") !== (limit.holderId === null)) {
    return "A company limit names no holder, a person's or key's limit names one."
  }
  if ((limit.holder === "key") !== (limit.class === "all")) {
    return "A key's limit counts every class; a company's or person's limit is for ai or general."
  }
  if (limit.period === "day" && limit.holder !== "key") {
    return "Only a key's limit can be for a day; a company's or person's is for a week or a month."
  }
  if (limit.leaveKeysOut && limit.holder !== "person") {
    return "Only a person's limit can leave keys out."
  }
  if (limit.amountMicros < 0 || limit.remindersMicros.some((amount) => amount <= 0)) {
    return "A limit is 0 or more, and a reminder more than 0."
  }
  if (![limit.amountMicros, ...limit.remindersMicros].every(isMicros)) {
    return "A limit and its reminders are whole micros, at most nine thousand million dollars."
  }
  return null
}

/** Whether nothing more may be spent: used ≥ amount, so a limit of $0 refuses at once. */
export function isLimitExhausted(
  reading: Pick<LimitReading, "usedMicros" | "amountMicros">,
): boolean {
  return reading.usedMicros >= reading.amountMicros
}

/** Whether what is asked fits beside what is used. */
export function fitsLimit(
  reading: Pick<LimitReading, "usedMicros" | "amountMicros" | "askedMicros">,
): boolean {
  return reading.usedMicros + reading.askedMicros <= reading.amountMicros
}

/** Whether two limits of one name say the same. */
export function areLimitsEqual(a: Limit, b: Limit): boolean {
  return (
    a.period === b.period &&
    a.amountMicros === b.amountMicros &&
    a.leaveKeysOut === b.leaveKeysOut &&
    a.remindersMicros.length === b.remindersMicros.length &&
    a.remindersMicros.every((amount, i) => amount === b.remindersMicros[i])
  )
}
