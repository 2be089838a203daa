/**
 * An arbitrary for every event type. They are typed by the events themselves, so a new type, a new
 * field or a field of another type does not compile until it is here too.
 */
import fc from "fast-check"
import type { Fact } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import { PLANS } from "../../domain/access/access-events.ts"
import { ALL_OPERATIONS } from "../../domain/access/operations.ts"
import { PERMISSIONS, ROLES } from "../../domain/access/permissions.ts"
import type { ChargeRequest, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { PriceEvent } from "../../domain/charging/price-book.ts"
import { PRICED_ITEMS } from "../../domain/charging/price-book.ts"
import type { RefusalEvent } from "../../domain/charging/refusals.ts"
import type { CompaniesEvent } from "../../domain/company/companies.ts"
import type { PhoneEvent } from "../../domain/phone/phone.ts"
import type { RecipientEvent } from "../../domain/phone/recipient-events.ts"

/** An arbitrary for each field of an event but its type. */
type FieldArbitraries<E> = { readonly [K in keyof E]-?: fc.Arbitrary<E[K]> }

/** The fields of each event type of a union. */
type Arbitraries<E extends Fact> = {
  readonly [T in E["type"]]: FieldArbitraries<Omit<Extract<E, { type: T }>, "type">>
}

const PLAIN = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@+- "]
const plain = fc.string({ unit: fc.constantFrom(...PLAIN), maxLength: 40 })
/** Every code point but the halves of a pair, the ones that JSON escapes more often than not. */
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom("\u0000", "\b", "\t", "\n", "\f", "\r", '"', "\\", "/", "\u007f", "\u2028"),
  ),
})
const at = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800_000 }),
  fc.integer({ min: -62_198_755_200_000, max: 253_402_300_800_000 }),
  fc.constantFrom(-1, 0, 1, 253_402_300_799_999, 253_402_300_800_000),
)
const micros = fc.oneof(
  fc.integer({ min: -MAX_MICROS, max: MAX_MICROS }),
  fc.constantFrom(0, 1, -1, MAX_MICROS, -MAX_MICROS, 9_000),
)
const int = fc.maxSafeInteger().map((n) => n + 0)
const flag = fc.boolean()
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 5 })

const via = fc.constantFrom("own_key", "shared_key", "person", "company")
const spendingClass = fc.constantFrom("ai", "general")
const holder = fc.constantFrom("company", "person", "key")
const limitClass = fc.constantFrom("ai", "general", "all")
const limitName = { holder, holderId: orNull(plain), class: limitClass }
const period = fc.constantFrom(...PERIODS)

const request: FieldArbitraries<ChargeRequest> = {
  chargeId: plain,
  via,
  keyId: orNull(plain),
  personId: orNull(plain),
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
const purchase = { purchaseId: plain, keyId: plain, personId: orNull(plain), amountMicros: micros }

const ledger: Arbitraries<LedgerEvent> = {
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
    keyId: orNull(plain),
    personId: orNull(plain),
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
      fc.record({
        via: fc.constantFrom("own_key", "shared_key"),
        keyId: plain,
        personId: orNull(plain),
        calls: int,
      }),
    ),
    exempt: fc.constantFrom("limits", null),
  },
  PurchaseTermsSet: {
    at,
    keyId: plain,
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

const refusals: Arbitraries<RefusalEvent> = {
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
    limits: some(fc.record(reading)),
    refusedBy: orNull(int),
  },
  RefusalsCounted: { at, counts: some(fc.record({ kind: plain, minute: at, count: int })) },
}

const prices: Arbitraries<PriceEvent> = {
  PriceBookOpened: {
    at,
    prices: some(fc.record({ item: fc.constantFrom(...PRICED_ITEMS), unitPriceMicros: micros })),
  },
  PriceSet: {
    at,
    item: fc.constantFrom(...PRICED_ITEMS),
    unitPriceMicros: micros,
    version: int,
  },
}

const plan = fc.constantFrom(...PLANS)
const pays = fc.constantFrom("prepaid", "card")

const access: Arbitraries<AccessEvent> = {
  CompanyOpened: { at, companyId: plain, name: plain, plan, pays },
  PlanChanged: {
    at,
    plan: fc.constantFrom(...PLANS),
    pays: fc.constantFrom("prepaid", "card"),
  },
  PersonAdded: {
    at,
    personId: plain,
    name: plain,
    email: plain,
    emailTag: plain,
    role: fc.constantFrom(...ROLES),
    permissions: some(fc.constantFrom(...PERMISSIONS)),
  },
  KeyCreated: {
    at,
    keyId: plain,
    personId: orNull(plain),
    keyHash: plain,
    operations: some(fc.constantFrom(...ALL_OPERATIONS)),
    label: orNull(plain),
  },
  KeyPaused: { at, keyId: plain },
  KeyResumed: { at, keyId: plain },
  KeyDeleted: { at, keyId: plain },
  CardSet: { at, verified: flag, failing: flag },
  CardRemoved: { at },
}

const companies: Arbitraries<CompaniesEvent> = {
  CompanyRegistered: {
    at,
    companyId: plain,
    name: plain,
    nameTag: plain,
    plan,
    pays,
    fundsMicros: micros,
    withNumber: flag,
    owner: fc.record({ personId: plain, name: plain, email: plain, emailTag: plain }),
  },
}

const phone: Arbitraries<PhoneEvent> = {
  NumberAdded: {
    at,
    numberId: plain,
    number: plain,
    numberTag: plain,
    kind: fc.constantFrom("local", "toll_free"),
    locality: orNull(text),
    region: orNull(plain),
    sms: flag,
    mms: flag,
    voice: flag,
    monthlyMicros: micros,
    paidThrough: orNull(at),
    test: flag,
  },
}

const standing = fc.record({
  stoppedAt: orNull(at),
  stopKeyword: orNull(text),
  addedAt: orNull(at),
  firstMessageId: orNull(plain),
})
const aboutText = { at, standing, messageId: plain }

const recipient: Arbitraries<RecipientEvent> = {
  TextQueued: {
    ...aboutText,
    purpose: fc.constantFrom("text", "opt_out_reply", "opt_in_reply", "help_reply"),
    chargeId: orNull(plain),
    giveBackMicros: micros,
    numberId: plain,
    to: plain,
    body: plain,
    segments: int,
    lineAdded: flag,
    keyId: orNull(plain),
    personId: orNull(plain),
  },
  TextAccepted: { ...aboutText, carrierId: text },
  TextRejected: { ...aboutText, errorCode: text },
  TextDelivered: aboutText,
  TextUndelivered: { ...aboutText, errorCode: text },
  TextAbandoned: aboutText,
  TextReceived: { ...aboutText, numberId: plain, from: plain, body: plain, media: int },
  OptedOutByText: { at, standing, phone: plain, keyword: text },
  OptedInByText: { at, standing, phone: plain, keyword: text },
  OptOutAdded: { at, standing, phone: plain },
  OptOutRemoved: { at, standing, phone: plain },
}

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = { ledger, refusals, prices, access, companies, phone, recipient }
