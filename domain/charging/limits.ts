/**
 * Spending limits: what they count, and whether an amount fits (specification, "Spending limits").
 *
 * A charge is added to *counters*, and a limit applies to one counter in one period. The counters of a charge
 * determine the limits that apply to it.
 *
 * | counter | counts | limits on it |
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

/** The field type of `SpendingClass`. */
export const spendingClass = enumOf("ai", "general")

/** What spending is for: AI models, or everything else. */
export type SpendingClass = ValueOf<typeof spendingClass>

/**
 * Who spends, and through what: a person's own key, the app key (with or without a signed-in person), a person on
 * the dashboard or in the app, or the company itself (rent, incoming calls).
 */
export type Spender =
  | { readonly via: "own_key"; readonly keyId: KeyId; readonly personId: PersonId }
  | { readonly via: "app_key"; readonly keyId: KeyId; readonly personId: PersonId | null }
  | { readonly via: "person"; readonly keyId: null; readonly personId: PersonId }
  | { readonly via: "company"; readonly keyId: null; readonly personId: null }

/** The scope that identifies a limit: a holder has one limit per class. */
export const limitScopeFields = {
  holder: enumOf("company", "person", "key"),
  holderId: optional(id.holder),
  /** `all` for a key's limit; a key has no other. */
  class: enumOf("ai", "general", "all"),
}

export type LimitScope = ValuesOf<typeof limitScopeFields>

/** The kind of a limit's holder. */
export type LimitHolder = LimitScope["holder"]

/** The field type of `Period`. */
export const period = enumOf(...PERIODS)

export const limitFields = {
  ...limitScopeFields,
  period,
  amountMicros: micros,
  /** Amounts at which one email is sent per window; they refuse nothing. */
  remindersMicros: list(micros),
  /** Excludes the spending of the person's own keys. */
  leaveKeysOut: flag,
}

/** A limit. A key's limit has class `all`; others are `ai` or `general`. */
export type Limit = ValuesOf<typeof limitFields>

/** A limit as a decision read it: the evidence of the decision. */
export const limitReadingFields = {
  ...limitScopeFields,
  period,
  amountMicros: micros,
  /** Spent in the window so far, including `unrecordedMicros`, without `askedMicros`. */
  usedMicros: micros,
  /** The part of it from buffered calls (`api-calls.ts`). */
  unrecordedMicros: micros,
  remainingMicros: micros,
  /** The amount of the refused charge; 0 if a call was refused up front. */
  askedMicros: micros,
  windowStart: instant,
  resetsAt: instant,
}

export type LimitReading = ValuesOf<typeof limitReadingFields>

/** Explains in a sentence why a limit is invalid; null if it is valid. */
export function limitFault(limit: Limit): string | null {
  if ((limit.holder === "company") !== (limit.holderId === null)) {
    return "A company limit must not name a holder; a person's or key's limit must name one."
  }
  if ((limit.holder === "key") !== (limit.class === "all")) {
    return "A key's limit must be of class all; a company's or person's limit must be ai or general."
  }
  if (limit.period === "day" && limit.holder !== "key") {
    return "Only a key can have a daily limit; use a week or a month for a company or person."
  }
  if (limit.leaveKeysOut && limit.holder !== "person") {
    return "Only a person's limit can leave keys out."
  }
  if (limit.amountMicros < 0 || limit.remindersMicros.some((amount) => amount <= 0)) {
    return "A limit must be $0 or more, and a reminder more than $0."
  }
  if (![limit.amountMicros, ...limit.remindersMicros].every(isMicros)) {
    return "A limit and its reminders must be whole micro-dollars, at most $9 billion."
  }
  return null
}

/** Whether nothing more may be spent: used ≥ amount, so a limit of $0 refuses everything. */
export function isLimitExhausted(
  reading: Pick<LimitReading, "usedMicros" | "amountMicros">,
): boolean {
  return reading.usedMicros >= reading.amountMicros
}

/** Whether the requested amount fits in addition to what is used. */
export function fitsLimit(
  reading: Pick<LimitReading, "usedMicros" | "amountMicros" | "askedMicros">,
): boolean {
  return reading.usedMicros + reading.askedMicros <= reading.amountMicros
}

/** Whether two limits of one scope are equal. */
export function areLimitsEqual(a: Limit, b: Limit): boolean {
  return (
    a.period === b.period &&
    a.amountMicros === b.amountMicros &&
    a.leaveKeysOut === b.leaveKeysOut &&
    a.remindersMicros.length === b.remindersMicros.length &&
    a.remindersMicros.every((amount, i) => amount === b.remindersMicros[i])
  )
}
