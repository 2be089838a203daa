/**
 * Random histories of ledgers with every command, for tests that compare the read models with the ledger. A step is an
 * intention; its command depends on the facts so far.
 */
import fc from "fast-check"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"

/** An intention. An `index` selects an item modulo the number of items. */
export type LedgerStep =
  | { readonly does: "command"; readonly command: LedgerCommand }
  | { readonly does: "pass"; readonly ms: number }
  /** Advances to the last millisecond of the day. */
  | { readonly does: "border" }
  | { readonly does: "end"; readonly index: number; readonly how: "close" | "refund" | "part" }
  /** An operator refunds a settled charge, as the read model shows it. */
  | { readonly does: "correct"; readonly index: number; readonly part: boolean }
  | { readonly does: "calls"; readonly daysAgo: number; readonly command: CallsCommand }
  | { readonly does: "settle"; readonly index: number; readonly paid: boolean }

type CallsCommand = Extract<LedgerCommand, { type: "RecordApiCalls" }>

const HOUR = 3_600_000
const DAY = 24 * HOUR

export const HISTORY_KEYS = ["key_1", "key_2"] as const
const keyId = fc.constantFrom(...HISTORY_KEYS)
const personId = fc.constantFrom("per_1", "per_2")
const amount = fc.constantFrom(0, 1, 9_000, 1_000_000)
const period = fc.constantFrom("day" as const, "week" as const, "month" as const)
const spendingClass = fc.constantFrom("ai" as const, "general" as const)

const limitName = fc.oneof(
  fc.record({
    holder: fc.constant("company" as const),
    holderId: fc.constant(null),
    class: spendingClass,
  }),
  fc.record({ holder: fc.constant("person" as const), holderId: personId, class: spendingClass }),
  fc.record({
    holder: fc.constant("key" as const),
    holderId: keyId,
    class: fc.constant("all" as const),
  }),
)

const limit: fc.Arbitrary<LedgerCommand> = fc
  .tuple(limitName, period, fc.constantFrom(0, 20_000, 5_000_000), fc.boolean())
  .map(([name, choice, amountMicros, flag]) => ({
    type: "SetLimit",
    ...name,
    period: choice === "day" && name.holder !== "key" ? "month" : choice,
    amountMicros,
    leaveKeysOut: flag && name.holder === "person",
    remindersMicros: flag ? [1, 9_000] : [20_000],
  }))

const spender = fc.oneof(
  fc.record({ via: fc.constant("own_key" as const), keyId, personId }),
  fc.record({ via: fc.constant("app_key" as const), keyId, personId: fc.option(personId) }),
  fc.record({ via: fc.constant("person" as const), keyId: fc.constant(null), personId }),
  fc.constant({ via: "company" as const, keyId: null, personId: null }),
)

/** Few ids, so that an id is used again after its charge has ended. */
const chargeId = fc.nat(15).map((index) => `chg_${index}`)

const charge: fc.Arbitrary<LedgerCommand> = fc
  .record({
    id: chargeId,
    by: spender,
    amountMicros: amount,
    class: spendingClass,
    item: fc.constantFrom("text_segment", "number_month_local", "thing"),
    isPending: fc.boolean(),
    exemption: fc.constantFrom(null, null, "funds" as const, "funds_while_above_zero" as const),
    isNamed: fc.boolean(),
  })
  .map(({ id, by, amountMicros, isPending, exemption, isNamed, ...rest }) => ({
    type: "Charge",
    // An id chosen by a caller is looked up first, so these are never used twice.
    chargeId: isNamed && !isPending ? `own_${id}_${amountMicros}` : id,
    ...by,
    ...rest,
    quantity: 1,
    unitPriceMicros: amountMicros,
    priceVersion: 1,
    amountMicros,
    resource: null,
    requestedAt: 0,
    dueAt: null,
    servedFrom: null,
    isPending,
    exemption,
    searchedUpTo: isNamed && !isPending ? -1 : null,
  }))

const purchase: fc.Arbitrary<LedgerCommand> = fc.oneof(
  fc.record({
    type: fc.constant("SetPurchaseTerms" as const),
    keyId,
    mode: fc.constantFrom("on", "on", "on", "off", "needs_owner_review"),
    perPurchaseMicros: fc.constantFrom(5_000_000, 20_000_000),
    perMonthMicros: fc.constantFrom(10_000_000, 100_000_000),
  }),
  fc.record({
    type: fc.constant("StartPurchase" as const),
    purchaseId: fc.nat(40).map((index) => `pur_${index}` as const),
    keyId,
    personId: fc.option(personId),
    amountMicros: fc.constantFrom(5_000_000, 7_010_000, 5_000),
  }),
)

const terms: fc.Arbitrary<LedgerCommand> = fc.oneof(
  fc.record({
    type: fc.constant("ChangeCreditTerms" as const),
    prepaidOnly: fc.boolean(),
    creditLineMicros: amount,
  }),
  fc.constantFrom<LedgerCommand>(
    { type: "LockAccount" },
    { type: "UnlockAccount" },
    { type: "UnlockAccount" },
    { type: "UnlockAccount" },
    { type: "CloseLedger" },
    { type: "ReopenLedger" },
    { type: "ReopenLedger" },
    { type: "ReopenLedger" },
  ),
)

const funds: fc.Arbitrary<LedgerCommand> = fc.oneof(
  fc.record({
    type: fc.constant("AddFunds" as const),
    amountMicros: fc.constantFrom(1, 1_000_000, 20_000_000),
    reference: fc.constantFrom(null, "a", "b"),
  }),
  fc.record({
    type: fc.constant("CorrectFunds" as const),
    amountMicros: fc.constantFrom(-2_000_000, -1, 1, 1_000_000),
    reason: fc.constant("counted again"),
  }),
  fc.record({
    type: fc.constant("SetLowFundsAlert" as const),
    belowMicros: fc.constantFrom(null, 0, 1_000_000, 20_000_000),
  }),
)

const calls: fc.Arbitrary<CallsCommand> = fc.record({
  type: fc.constant("RecordApiCalls" as const),
  day: fc.constant(0),
  unitPriceMicros: fc.constantFrom(0, 100, 700),
  priceVersion: fc.constantFrom(1, 2),
  counters: fc.array(
    fc.oneof(
      fc.record({
        via: fc.constant("own_key" as const),
        keyId,
        personId,
        calls: fc.integer({ min: 1, max: 50 }),
      }),
      fc.record({
        via: fc.constant("app_key" as const),
        keyId,
        personId: fc.option(personId),
        calls: fc.integer({ min: 1, max: 50 }),
      }),
    ),
    { minLength: 1, maxLength: 3 },
  ),
})

const chargeCalls = fc
  .constantFrom(1, 2, 500)
  .map((maxCharges): LedgerCommand => ({ type: "ChargeApiCalls", maxCharges }))
const removal = limitName.map((name): LedgerCommand => ({ type: "RemoveLimit", ...name }))

/** One of these arbitraries, chosen by weight. */
export const weighted = <T>(...all: readonly (readonly [number, fc.Arbitrary<T>])[]) =>
  fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))

export const actionArbitrary = <const D extends string, F extends object = object>(
  does: D,
  fields: { readonly [K in keyof F]: fc.Arbitrary<F[K]> },
): fc.Arbitrary<NoInfer<F> & { readonly does: D }> =>
  fc.record(fields).map((action) => ({ ...action, does }))

const command = weighted<LedgerCommand>(
  [12, charge],
  [4, limit],
  [1, removal],
  [5, purchase],
  [3, terms],
  [3, funds],
  [2, chargeCalls],
  [1, fc.constant({ type: "CloseMonth" })],
)
const index = fc.nat(20)

export const ledgerStep = weighted<LedgerStep>(
  [20, actionArbitrary("command", { command })],
  [4, actionArbitrary("pass", { ms: fc.constantFrom(1, HOUR, DAY, 7 * DAY, 31 * DAY) })],
  [3, actionArbitrary("border", {})],
  [5, actionArbitrary("end", { index, how: fc.constantFrom("close", "refund", "part") })],
  [3, actionArbitrary("correct", { index, part: fc.boolean() })],
  [4, actionArbitrary("calls", { daysAgo: fc.constantFrom(0, 0, 1, 3), command: calls })],
  [3, actionArbitrary("settle", { index: fc.nat(5), paid: fc.boolean() })],
)
