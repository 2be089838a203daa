/**
 * The events of a ledger and their stored formats. A format is final: a change is a new version with an upcaster
 * from the one before, and a golden file holds each version ever written. The stream's name contains the company,
 * so events don't.
 */
import type {
  EventFormat,
  EventFormats,
  ValueOf,
  FactOf,
  ValuesOf,
} from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  micros,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { id } from "../kernel/id-field-types.ts"
import {
  limitFields,
  limitScopeFields,
  limitReadingFields,
  period,
  spendingClass,
} from "./limits.ts"
import { purchaseFormats } from "./purchase-events.ts"

type Facts = typeof ledgerFormats

export type LedgerEvent = FactOf<Facts>

/** An event of a ledger of type `T`. */
export type LedgerFact<T extends LedgerEvent["type"]> = FactOf<Facts, T>

/** Money was spent: the check against funds and limits and the reservation are this one event. */
export type Charged = LedgerFact<"Charged">

/** All or part of a charge was refunded. */
export type ChargeReduced = LedgerFact<"ChargeReduced">

/** API calls of one UTC day were counted. */
export type ApiCallsCounted = LedgerFact<"ApiCallsCounted">

/** A limit was set or replaced: a holder has one per class, a key has one. */
export type LimitSet = LedgerFact<"LimitSet">

/** Spending reached an amount of which people want a reminder. */
export type ReminderReached = LedgerFact<"ReminderReached">

/** A UTC month was closed: its bill never changes again. */
export type MonthClosed = LedgerFact<"MonthClosed">

/** The number of calls of one key, for one person or for none. */
export type ApiCallCounter = ValueOf<typeof apiCallCounter>

/** Who spends and for what: the fields that a charge and its refusal share. */
export type ChargeRequest = ValuesOf<typeof chargeRequestFields>

export type ChargeRefusalCode = (typeof CHARGE_REFUSAL_CODES)[number]

/** A refused charge, with all evidence of the decision. */
export type ChargeRefused = FactOf<{ readonly ChargeRefused: typeof chargeRefusedFormat }>

const via = enumOf("own_key", "app_key", "person", "company")

/** Who spends and for what: the fields that a charge and its refusal share. */
export const chargeRequestFields = {
  chargeId: asciiText,
  via,
  keyId: optional(id.key),
  personId: optional(id.person),
  class: spendingClass,
  /** An item of the price book, or any text for usage outside the API. */
  item: text,
  quantity: integer,
  unitPriceMicros: micros,
  /** The version of the price book that the unit price is from. */
  priceVersion: integer,
  amountMicros: micros,
  /** What was paid for: a message, a box, a number. */
  resource: optional(text),
  /** When the caller sent the request. Only for the bill; no decision reads it. */
  requestedAt: instant,
  /** When rent or a minute was due; only for the bill. */
  dueAt: optional(instant),
  /** When the paid service started, if it differs from `at`; only for the bill. */
  servedFrom: optional(instant),
}

/**
 * Why a charge does not require funds (docs/decisions/charging.md). `funds`: the nightly charge of API calls,
 * whatever the
 * funds are. `funds_while_above_zero`: rent and stored minutes, while funds are above zero; they may make the funds
 * negative once.
 */
const exemption = enumOf("funds", "funds_while_above_zero")

/** Why a charge does not require funds. */
export type FundsExemption = ValueOf<typeof exemption>

export const CHARGE_REFUSAL_CODES = [
  "ledger_closed",
  "account_locked",
  "spend_limit_reached",
  "payment_required",
  "too_many_open_charges",
  "amount_too_large",
] as const

/**
 * A refusal with all evidence of the decision. It is stored in `refusals-<companyId>` and not in the ledger, so
 * that refused callers cannot grow the ledger.
 */
export const chargeRefusedFormat = {
  version: 1,
  fields: {
    at: instant,
    ...chargeRequestFields,
    isPending: flag,
    exemption: optional(exemption),
    code: enumOf(...CHARGE_REFUSAL_CODES),
    /** Revision of the last ledger event that the decision knew; -1 for none. */
    ledgerRevision: integer,
    fundsMicros: micros,
    /** How much may be spent beyond the funds; 0 for a prepaid-only company. */
    creditLineMicros: micros,
    /** The company cannot pay by itself when funds are short; an operator or owner must add funds. */
    prepaidOnly: flag,
    /** The amount of the company's buffered calls, which counted in the limits. */
    unrecordedMicros: micros,
    /** Every limit that applied, in the order key, person, company. */
    limits: list(record(limitReadingFields)),
    /** Index in `limits` of the first that refused; null if no limit did. */
    refusingLimit: optional(integer),
  },
} satisfies EventFormat

/** The number of calls of one key, for one person or for none. */
export const apiCallCounter = record({
  via: enumOf("own_key", "app_key"),
  keyId: id.key,
  personId: optional(id.person),
  calls: integer,
})

const terms = {
  /** When funds are short, the response is 402 without a way to pay: an operator or owner must add funds. */
  prepaidOnly: flag,
  /** How far below zero the funds may go; ignored if `prepaidOnly` is true. */
  creditLineMicros: micros,
}

/** The stored formats of a ledger's events. */
export const ledgerFormats = {
  /** The company exists and may spend. Its funds are zero. */
  LedgerOpened: { version: 1, fields: { at: instant, ...terms } },
  /** How much may be spent beyond the funds changed. */
  TermsChanged: { version: 1, fields: { at: instant, ...terms } },
  FundsAdded: {
    version: 1,
    fields: {
      at: instant,
      amountMicros: micros,
      /** The operator's own reference; adding funds with the same one again records nothing. */
      reference: optional(text),
    },
  },
  /** An operator corrected the funds up or down; they may become negative. */
  FundsCorrected: {
    version: 1,
    fields: {
      at: instant,
      /** The change, not 0. */
      amountMicros: micros,
      reason: text,
    },
  },
  LowFundsAlertSet: {
    version: 1,
    fields: {
      at: instant,
      /** 0 or more; null for no alert. */
      belowMicros: optional(micros),
    },
  },
  /** The preceding event made the funds fall below the alert's amount, or set an amount above them. */
  LowFundsReached: {
    version: 1,
    fields: {
      at: instant,
      belowMicros: micros,
      fundsMicros: micros,
    },
  },
  LimitSet: { version: 1, fields: { at: instant, ...limitFields } },
  /** Spending is still counted and applies if a limit is set again. */
  LimitRemoved: { version: 1, fields: { at: instant, ...limitScopeFields } },
  /** Spending reached an amount of which people want a reminder: once per limit, amount and window. */
  ReminderReached: {
    version: 1,
    fields: {
      at: instant,
      ...limitScopeFields,
      period,
      limitMicros: micros,
      reminderMicros: micros,
      usedMicros: micros,
      windowStart: instant,
      resetsAt: instant,
    },
  },
  Charged: {
    version: 1,
    fields: {
      at: instant,
      ...chargeRequestFields,
      /** True while the paid work can still fail: the charge will be settled or refunded. */
      isPending: flag,
      /** Why funds were not required; null if they were. */
      exemption: optional(exemption),
      /** The caller chose the id, and it never charges again (`recent-names.ts`). */
      isExternalId: flag,
      /** The charge counts in no window: its calls did when they were counted (docs/decisions/charging.md). */
      isAlreadyCounted: flag,
    },
  },
  ChargesSettled: { version: 1, fields: { at: instant, chargeIds: list(asciiText) } },
  /**
   * All or part of a charge was refunded: because its work failed, which ends a pending charge, or because an
   * operator refunded a settled one.
   */
  ChargeReduced: {
    version: 1,
    fields: {
      at: instant,
      chargeId: asciiText,
      amountMicros: micros,
      /** When the charge was counted, which determines the windows that still contain it. */
      countedAt: instant,
      via,
      keyId: optional(id.key),
      personId: optional(id.person),
      class: spendingClass,
      item: text,
      resource: optional(text),
      reason: text,
    },
  },
  /**
   * API calls of one UTC day were counted. They count in the limits now; the funds are charged the following night.
   */
  ApiCallsCounted: {
    version: 1,
    fields: {
      at: instant,
      /** The first millisecond of the UTC day that they count for. */
      day: instant,
      /** The price of a call on that day: one per company and day, that of the day's first call. */
      unitPriceMicros: micros,
      priceVersion: integer,
      counters: list(apiCallCounter),
      /**
       * Set if the calls exceed a limit, because another process counted calls concurrently
       * (docs/decisions/charging.md).
       */
      exemption: optional(enumOf("limits")),
    },
  },
  ...purchaseFormats,
  /** A payment was missed: charges are refused until the account is unlocked. */
  AccountLocked: { version: 1, fields: { at: instant } },
  AccountUnlocked: { version: 1, fields: { at: instant } },
  MonthClosed: {
    version: 1,
    fields: {
      at: instant,
      /** `YYYY-MM`. */
      month: asciiText,
      /** Funds at the start of the month; with the sums below they add up to `fundsMicros`. */
      openingMicros: micros,
      addedMicros: micros,
      purchasedMicros: micros,
      correctedMicros: micros,
      chargedMicros: micros,
      reducedMicros: micros,
      fundsMicros: micros,
      charges: integer,
      /** The revision of the last event before this one. */
      headRevision: integer,
      headHash: asciiText,
    },
  },
  /** The company was deleted: charges are refused; pending work may still end. */
  LedgerClosed: { version: 1, fields: { at: instant } },
  LedgerReopened: { version: 1, fields: { at: instant } },
  /** The deletion can no longer be undone: the company's keys are destroyed from here on. */
  ErasureStarted: { version: 1, fields: { at: instant } },
} satisfies EventFormats

export const ledgerCodec = codecOf(ledgerFormats)
