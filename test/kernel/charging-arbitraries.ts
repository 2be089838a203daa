/** An arbitrary for every event type of `domain/charging`. See `event-arbitraries.ts`. */
import fc from "fast-check"
import type { ChargeRequest, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { PriceEvent } from "../../domain/charging/price-book.ts"
import { PRICED_ITEMS } from "../../domain/charging/price-book.ts"
import type { RefusalEvent } from "../../domain/charging/refusals.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import type { Arbitraries, FieldArbitraries } from "./arbitrary-kinds.ts"
import { at, flag, id, int, micros, orNull, plain, record, some, text } from "./arbitrary-kinds.ts"

const via = fc.constantFrom("own_key", "shared_key", "person", "company")
const spendingClass = fc.constantFrom("ai", "general")
const holder = fc.constantFrom("company", "person", "key")
const limitClass = fc.constantFrom("ai", "general", "all")
const limitName = { holder, holderId: orNull(fc.oneof(id.person, id.key)), class: limitClass }
const period = fc.constantFrom(...PERIODS)

const request: FieldArbitraries<ChargeRequest> = {
  chargeId: plain,
  via,
  keyId: orNull(id.key),
  personId: orNull(id.person),
  class: spendingClass,
  item: text,
  quantity: int,
  unitPriceMicros: micros,
  priceVersion: int,
  amountMicros: micros,
  resource: orNull(text),
  requestedAt: at,
  dueAt: orNull(at),
  servedFrom: orNull(at),
}

const exempt = fc.constantFrom("funds", null)
const purchase = {
  purchaseId: id.purchase,
  keyId: id.key,
  personId: orNull(id.person),
  amountMicros: micros,
}

/** Of a company's ledger. */
export const ledger: Arbitraries<LedgerEvent> = {
  LedgerOpened: { at, prepaidOnly: flag, creditLineMicros: micros },
  TermsChanged: { at, prepaidOnly: flag, creditLineMicros: micros },
  FundsAdded: { at, amountMicros: micros, reference: orNull(text) },
  FundsCorrected: { at, amountMicros: micros, reason: text },
  LimitSet: {
    at,
    ...limitName,
    period,
    amountMicros: micros,
    remindersMicros: some(micros),
    leaveKeysOut: flag,
  },
  LimitRemoved: { at, ...limitName },
  ReminderReached: {
    at,
    ...limitName,
    period,
    limitMicros: micros,
    reminderMicros: micros,
    usedMicros: micros,
    windowStart: at,
    resetsAt: at,
  },
  Charged: { at, ...request, open: flag, exempt, once: flag, weighed: flag },
  ChargesClosed: { at, chargeIds: some(plain) },
  ChargeGivenBack: {
    at,
    chargeId: plain,
    amountMicros: micros,
    chargedAt: at,
    via,
    keyId: orNull(id.key),
    personId: orNull(id.person),
    class: spendingClass,
    item: text,
    resource: orNull(text),
    reason: text,
  },
  ApiCallsCounted: {
    at,
    day: at,
    unitPriceMicros: micros,
    priceVersion: int,
    tallies: some(
      record({
        via: fc.constantFrom("own_key", "shared_key"),
        keyId: id.key,
        personId: orNull(id.person),
        calls: int,
      }),
    ),
    exempt: fc.constantFrom("limits", null),
  },
  PurchaseTermsSet: {
    at,
    keyId: id.key,
    mode: fc.constantFrom("on", "off", "needs_owner_review"),
    perPurchaseMicros: micros,
    perMonthMicros: micros,
  },
  PurchaseStarted: { at, ...purchase },
  PurchasePaid: { at, ...purchase, startedAt: at, paymentId: text },
  PurchaseFailed: { at, ...purchase, startedAt: at, code: plain },
  AccountLocked: { at },
  AccountUnlocked: { at },
  MonthClosed: {
    at,
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
  LedgerClosed: { at },
  LedgerReopened: { at },
  ErasureBegun: { at },
}

const reading: FieldArbitraries<LimitReading> = {
  ...limitName,
  period,
  amountMicros: micros,
  usedMicros: micros,
  pendingMicros: micros,
  remainingMicros: micros,
  askedMicros: micros,
  windowStart: at,
  resetsAt: at,
}

/** Of its refusals. */
export const refusals: Arbitraries<RefusalEvent> = {
  ChargeRefused: {
    at,
    ...request,
    open: flag,
    exempt,
    code: fc.constantFrom(
      "ledger_closed",
      "spend_limit_reached",
      "payment_required",
      "account_locked",
      "too_many_open_charges",
      "amount_too_large",
    ),
    ledgerRevision: int,
    fundsMicros: micros,
    creditLineMicros: micros,
    prepaidOnly: fc.boolean(),
    pendingMicros: micros,
    limits: some(record(reading)),
    refusedBy: orNull(int),
  },
  RefusalsCounted: { at, counts: some(record({ kind: plain, minute: at, count: int })) },
}

/** Of the price book. */
export const prices: Arbitraries<PriceEvent> = {
  PriceBookOpened: {
    at,
    prices: some(record({ item: fc.constantFrom(...PRICED_ITEMS), unitPriceMicros: micros })),
  },
  PriceSet: {
    at,
    item: fc.constantFrom(...PRICED_ITEMS),
    unitPriceMicros: micros,
    version: int,
  },
}
