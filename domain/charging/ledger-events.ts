/**
 * The facts of a ledger, and the forms in which they are stored. A form is final: a change is a new
 * version with a lift from the one before it, and a golden file holds each version ever written.
 * The stream's name says whose they are, so no fact repeats the company.
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

/** Everything that can happen to a ledger. */
export type LedgerEvent = FactOf<Facts>

/** Those of its facts that are of these types. */
export type LedgerFact<T extends LedgerEvent["type"]> = FactOf<Facts, T>

/** Money was spent: the check against funds and limits and the reservation are this one fact. */
export type Charged = LedgerFact<"Charged">

/** All or part of a charge came back to the funds. */
export type ChargeReduced = LedgerFact<"ChargeReduced">

/** API calls of one UTC day were counted. */
export type ApiCallsCounted = LedgerFact<"ApiCallsCounted">

/** A limit was set or replaced: a holder has one per class, a key has one. */
export type LimitSet = LedgerFact<"LimitSet">

/** Spending reached an amount at which people want to hear of it. */
export type ReminderReached = LedgerFact<"ReminderReached">

/** A UTC month is over: its bill never changes again. */
export type MonthClosed = LedgerFact<"MonthClosed">

/** How many calls one key served for one person, or for nobody in particular. */
export type ApiCallCounter = ValueOf<typeof apiCallCounter>

/** Who spends and for what: the part that a charge and its refusal share. */
export type ChargeRequest = ValuesOf<typeof chargeRequestFields>

/** Why a charge was refused. */
export type ChargeRefusalCode = (typeof CHARGE_REFUSAL_CODES)[number]

/** A charge that was not accepted, with everything the decision looked at. */
export type ChargeRefused = FactOf<{ readonly ChargeRefused: typeof chargeRefusedFormat }>

const via = enumOf("own_key", "app_key", "person", "company")

/** Who spends and for what: the part that a charge and its refusal share. */
export const chargeRequestFields = {
  chargeId: asciiText,
  via,
  keyId: optional(id.key),
  personId: optional(id.person),
  class: spendingClass,
  /** What is bought, a name of the price book or, from outside the API, any text. */
  item: text,
  quantity: integer,
  unitPriceMicros: micros,
  /** The price book's version that the unit price is from. */
  priceVersion: integer,
  amountMicros: micros,
  /** What it was for: a message, a box, a number. */
  resource: optional(text),
  /** When the caller asked, by the clock of that moment. Data for the bill; decides nothing. */
  requestedAt: instant,
  /** When the thing was due, for rent and minutes; data for the bill. */
  dueAt: optional(instant),
  /** When the service began that this pays for, where it differs from `at`; data for the bill. */
  servedFrom: optional(instant),
}

/**
 * Why a charge does not ask for funds (decisions.md §4): `funds`, the nightly call charge, whatever they
 * are; `funds_while_above_zero`, rent and kept minutes, for as long as there is anything: it may take them
 * below zero once, and is then asked like any other.
 */
const exemption = enumOf("funds", "funds_while_above_zero")

/** Why a charge does not ask for funds. */
export type FundsExemption = ValueOf<typeof exemption>

/** Why charges are refused. */
export const CHARGE_REFUSAL_CODES = [
  "ledger_closed",
  "account_locked",
  "spend_limit_reached",
  "payment_required",
  "too_many_open_charges",
  "amount_too_large",
] as const

/**
 * The evidence of a refusal, with everything the decision looked at. It is no fact of the ledger: it
 * is stored in `refusals-<companyId>`, so that refused callers cannot grow the ledger.
 */
export const chargeRefusedFormat = {
  version: 1,
  fields: {
    at: instant,
    ...chargeRequestFields,
    isPending: flag,
    exemption: optional(exemption),
    code: enumOf(...CHARGE_REFUSAL_CODES),
    /** The ledger revision it was decided at: the last fact the decision knew; -1 for none. */
    ledgerRevision: integer,
    fundsMicros: micros,
    /** What may be spent beyond the funds; 0 for a prepaid-only company. */
    creditLineMicros: micros,
    /** Short of funds, there is no way to pay: somebody must add funds. */
    prepaidOnly: flag,
    /** The company's calls that were served and not yet recorded: they weighed in the limits. */
    unrecordedMicros: micros,
    /** Every limit that applied, in the order key, person, company. */
    limits: list(record(limitReadingFields)),
    /** The place in `limits` of the first that refused; null where no limit did. */
    refusingLimit: optional(integer),
  },
} satisfies EventFormat

/** How many calls one key served for one person, or for nobody in particular. */
export const apiCallCounter = record({
  via: enumOf("own_key", "app_key"),
  keyId: id.key,
  personId: optional(id.person),
  calls: integer,
})

const terms = {
  /** Short of funds it answers 402 without a way to pay: an operator or the owner adds funds. */
  prepaidOnly: flag,
  /** How far below zero the funds may go; it counts for nothing where `prepaidOnly` is true. */
  creditLineMicros: micros,
}

/** Everything that can happen to a ledger. */
export const ledgerFormats = {
  /** The company exists and may spend. Funds begin at zero. */
  LedgerOpened: { version: 1, fields: { at: instant, ...terms } },
  /** Who may spend beyond the funds changed. */
  TermsChanged: { version: 1, fields: { at: instant, ...terms } },
  /** An operator raised the funds. */
  FundsAdded: {
    version: 1,
    fields: {
      at: instant,
      amountMicros: micros,
      /** The adder's own name for it; the same reference again adds nothing. */
      reference: optional(text),
    },
  },
  /** An operator corrected the funds, up or down. It may take them below zero: it says what is. */
  FundsCorrected: {
    version: 1,
    fields: {
      at: instant,
      /** The change, not 0. */
      amountMicros: micros,
      reason: text,
    },
  },
  /** The owners want to hear of it when the funds fall below a sum, or no longer. */
  LowFundsAlertSet: {
    version: 1,
    fields: {
      at: instant,
      /** The sum, 0 or more; null for no notice. */
      belowMicros: optional(micros),
    },
  },
  /** The fact before this one took the funds below the sum of the notice, or set a sum above them. */
  LowFundsReached: {
    version: 1,
    fields: {
      at: instant,
      /** The sum they are below. */
      belowMicros: micros,
      fundsMicros: micros,
    },
  },
  /** A limit was set or replaced: a holder has one per class, a key has one. */
  LimitSet: { version: 1, fields: { at: instant, ...limitFields } },
  /** A limit is gone. What was spent stays summed and counts when a limit is set again. */
  LimitRemoved: { version: 1, fields: { at: instant, ...limitScopeFields } },
  /** Spending reached an amount at which people want to hear of it: once per limit, amount and window. */
  ReminderReached: {
    version: 1,
    fields: {
      at: instant,
      ...limitScopeFields,
      period,
      /** What the limit allows. */
      limitMicros: micros,
      /** The amount that was reached. */
      reminderMicros: micros,
      usedMicros: micros,
      /** When the window began, UTC milliseconds. */
      windowStart: instant,
      /** When it starts anew, UTC milliseconds. */
      resetsAt: instant,
    },
  },
  /** Money was spent: the check against funds and limits and the reservation are this one fact. */
  Charged: {
    version: 1,
    fields: {
      at: instant,
      ...chargeRequestFields,
      /** True while its work can still fail: it will be closed, or given back. */
      isPending: flag,
      /** Why the funds were not asked, where they were not. */
      exemption: optional(exemption),
      /** The id is the caller's own name for it, and never charges again (`recent.ts`). */
      isExternalId: flag,
      /** It weighs in no window: its calls did when they were counted (decisions.md §5). */
      isAlreadyCounted: flag,
    },
  },
  /** The work of these charges succeeded: they can no longer be given back by it. */
  ChargesSettled: { version: 1, fields: { at: instant, chargeIds: list(asciiText) } },
  /**
   * All or part of a charge came back to the funds: because its work failed, which ends an open
   * charge, or because an operator gives a final one back. There is no second one.
   */
  ChargeReduced: {
    version: 1,
    fields: {
      at: instant,
      chargeId: asciiText,
      amountMicros: micros,
      /** When it weighed: says in which windows it still counts. */
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
  /** API calls of one UTC day were counted. They weigh in the limits now; the funds pay next night. */
  ApiCallsCounted: {
    version: 1,
    fields: {
      at: instant,
      /** The first millisecond of the UTC day they are counted for. */
      day: instant,
      /** What a call costs on that day: one price a day and company, that of the day's first call. */
      unitPriceMicros: micros,
      priceVersion: integer,
      counters: list(apiCallCounter),
      /** They pass a limit: other calls were counted meanwhile by another process (decisions.md §5). */
      exemption: optional(enumOf("limits")),
    },
  },
  ...purchaseFormats,
  /** A missed payment: nothing can be charged until it is unlocked. */
  AccountLocked: { version: 1, fields: { at: instant } },
  /** Charges are possible again. */
  AccountUnlocked: { version: 1, fields: { at: instant } },
  /** A UTC month is over: its bill never changes again. */
  MonthClosed: {
    version: 1,
    fields: {
      at: instant,
      /** `YYYY-MM`. */
      month: asciiText,
      /** Funds at its beginning; with the sums of the month they come to `fundsMicros`. */
      openingMicros: micros,
      addedMicros: micros,
      purchasedMicros: micros,
      correctedMicros: micros,
      chargedMicros: micros,
      reducedMicros: micros,
      fundsMicros: micros,
      /** How many charges there were. */
      charges: integer,
      /** The revision of the last fact before the closing. */
      headRevision: integer,
      /** The hash of that fact. */
      headHash: asciiText,
    },
  },
  /** The company was deleted: nothing more is sold to it. What is under way may still end. */
  LedgerClosed: { version: 1, fields: { at: instant } },
  /** The deletion was undone. */
  LedgerReopened: { version: 1, fields: { at: instant } },
  /** The deletion can be undone no more: the company's keys are destroyed from here on. */
  ErasureStarted: { version: 1, fields: { at: instant } },
} satisfies EventFormats

/** Writes and reads ledger facts. */
export const ledgerCodec = codecOf(ledgerFormats)
