/**
 * The forms in which the facts of a ledger are stored. A form is final: a change is a new version
 * with a lift from the one before it, and a golden file holds each version ever written.
 */
import type { EventFormat, Formats } from "../kernel/format.ts"
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
import type { CallTally, ChargeRefused, LedgerEvent } from "./ledger-events.ts"
import { CHARGE_REFUSAL_CODES } from "./ledger-events.ts"
import type { LimitReading } from "./limits.ts"

const via = oneOf("own_key", "shared_key", "person", "company")
const spendingClass = oneOf("ai", "general")
const period = oneOf("day", "week", "month")
const limitName = {
  holder: oneOf("company", "person", "key"),
  holderId: optional(plain),
  class: oneOf("ai", "general", "all"),
}

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

const purchase = {
  purchaseId: plain,
  keyId: plain,
  personId: optional(plain),
  amountMicros: micros,
}

/**
 * The evidence of a refusal, as it is stored in `refusals-<companyId>`. Version 2 says what else the charge asked for,
 * and of each limit what was not yet recorded.
 */
export const chargeRefusedFormat: EventFormat<ChargeRefused> = {
  version: 2,
  lifts: {
    1: (raw) => ({
      ...raw,
      // Every charge that version 1 could refuse was a text's: open, and asked for funds.
      open: true,
      limits: (raw["limits"] as readonly object[]).map((limit) => ({
        ...limit,
        pendingMicros: "0",
      })),
    }),
  },
  fields: {
    at: time,
    ...requestFields,
    open: flag,
    exempt: optional(oneOf("funds")),
    code: oneOf(...CHARGE_REFUSAL_CODES),
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
        pendingMicros: micros,
        remainingMicros: micros,
        askedMicros: micros,
        windowStart: time,
        resetsAt: time,
      }),
    ),
    refusedBy: optional(int),
  },
}

/** The stored form of each ledger fact. */
export const ledgerFormats: Formats<LedgerEvent> = {
  LedgerOpened: { version: 1, fields: { at: time, prepaidOnly: flag, creditLineMicros: micros } },
  TermsChanged: { version: 1, fields: { at: time, prepaidOnly: flag, creditLineMicros: micros } },
  FundsAdded: {
    version: 1,
    fields: { at: time, amountMicros: micros, reference: optional(text) },
  },
  FundsCorrected: { version: 1, fields: { at: time, amountMicros: micros, reason: text } },
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
  ReminderReached: {
    version: 1,
    fields: {
      at: time,
      ...limitName,
      period,
      limitMicros: micros,
      reminderMicros: micros,
      usedMicros: micros,
      windowStart: time,
      resetsAt: time,
    },
  },
  // Version 2 tells charges whose id is the caller's, and those that weighed before.
  Charged: {
    version: 2,
    lifts: { 1: (raw) => ({ ...raw, once: false, weighed: false }) },
    fields: {
      at: time,
      ...requestFields,
      open: flag,
      exempt: optional(oneOf("funds")),
      once: flag,
      weighed: flag,
    },
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
  ApiCallsCounted: {
    version: 1,
    fields: {
      at: time,
      day: time,
      unitPriceMicros: micros,
      priceVersion: int,
      tallies: list(
        record<CallTally>({
          via: oneOf("own_key", "shared_key"),
          keyId: plain,
          personId: optional(plain),
          calls: int,
        }),
      ),
      exempt: optional(oneOf("limits")),
    },
  },
  PurchaseTermsSet: {
    version: 1,
    fields: {
      at: time,
      keyId: plain,
      mode: oneOf("on", "off", "needs_owner_review"),
      perPurchaseMicros: micros,
      perMonthMicros: micros,
    },
  },
  PurchaseStarted: { version: 1, fields: { at: time, ...purchase } },
  PurchasePaid: {
    version: 1,
    fields: { at: time, ...purchase, startedAt: time, paymentId: text },
  },
  PurchaseFailed: { version: 1, fields: { at: time, ...purchase, startedAt: time, code: plain } },
  AccountLocked: { version: 1, fields: { at: time } },
  AccountUnlocked: { version: 1, fields: { at: time } },
  MonthClosed: {
    version: 1,
    fields: {
      at: time,
      month: plain,
      openingMicros: micros,
      addedMicros: micros,
      purchasedMicros: micros,
      correctedMicros: micros,
      chargedMicros: micros,
      givenBackMicros: micros,
      fundsMicros: micros,
      charges: int,
      headRevision: int,
      headHash: plain,
    },
  },
  LedgerClosed: { version: 1, fields: { at: time } },
  LedgerReopened: { version: 1, fields: { at: time } },
  ErasureBegun: { version: 1, fields: { at: time } },
}

/** Writes and reads ledger facts. */
export const ledgerCodec = codecOf<LedgerEvent>(ledgerFormats)
