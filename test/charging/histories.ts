/**
 * Random histories of a ledger that aim at boundaries: amounts are what a limit or the funds leave, plus or minus a
 * micro, and instants are the ends of windows, plus or minus a millisecond.
 */
import fc from "fast-check"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { forgottenNames, nearMaximumFunds } from "./extremes.ts"
import { scenes } from "./scenes.ts"
import type {
  AmountChoice,
  CentsChoice,
  LedgerHistory,
  Intention,
  ProcessIndex,
  LimitAmountChoice,
  HistoryTurn,
  TurnDelay,
} from "./history.ts"
import { KEY_SPENDERS, LIMIT_NAMES, SPENDERS } from "./history.ts"

const off = fc.constantFrom(-1, 0, 0, 1)
const indexChoice = fc.nat(30)
const period = fc.constantFrom<Period>("day", "week", "month")
const behind = fc.constantFrom(0, 0, 1, 3, 20)
const part = fc.constantFrom("whole", "whole", "some", "over", "none")
const keyId = fc.constantFrom("key_a1", "key_b1")
const purchaseId = fc.constantFrom("pur_1", "pur_2", "pur_3", "pur_4", "pur_5", "pur_6")

const wait: fc.Arbitrary<TurnDelay> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ms: fc.constantFrom(0, 0, 1, 1_000, 3_600_000) }) },
  { weight: 3, arbitrary: fc.record({ until: period, off: fc.constantFrom(-1, 0, 1) }) },
  { weight: 1, arbitrary: fc.record({ ms: fc.nat(40 * 86_400_000) }) },
)

const amount: fc.Arbitrary<AmountChoice> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ micros: fc.nat(12) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      left: fc.constantFrom("key", "person", "company", "least", "least", "funds"),
      off,
    }),
  },
)

const charge: fc.Arbitrary<Intention> = fc.record({
  do: fc.constant("charge"),
  spender: fc.constantFrom(...SPENDERS),
  class: fc.constantFrom("general", "general", "general", "ai"),
  amount,
  isPending: fc.boolean(),
  exempt: fc.constantFrom(null, null, null, null, "funds", "funds_while_above_zero"),
  repeatsCharge: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: indexChoice },
  ),
  requestedEarlierMs: fc.constantFrom(0, 0, 1, 86_400_000, 9 * 86_400_000, -3_600_000),
  quantity: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 2),
})

const remindersMicros = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 2 })
const reminderOff = fc.constantFrom(null, -1, 0, 1, 3)

const raise: fc.Arbitrary<LimitAmountChoice> = fc.oneof(
  fc.record({
    micros: fc.nat(30),
    leaveKeysOut: fc.boolean(),
    remindersMicros,
    reminderOff: fc.constant(null),
  }),
  fc.record({
    used: fc.constant(true as const),
    off: fc.constantFrom(-1, 0, 1, 5),
    leaveKeysOut: fc.boolean(),
    remindersMicros: fc.constant([]),
    reminderOff,
  }),
)

const cents: fc.Arbitrary<CentsChoice> = fc.oneof(
  fc.record({ cents: fc.constantFrom(0, 499, 500, 501, 700, 500_000, 500_001) }),
  fc.record({ left: fc.constantFrom("purchase", "month"), off }),
)

const purchaseTerms: fc.Arbitrary<Intention> = fc.record({
  do: fc.constant("purchase terms"),
  keyId,
  mode: fc.constantFrom("on", "on", "on", "on", "off", "needs_owner_review"),
  perPurchaseMicros: fc.constantFrom(-1, 0, 5_000_000, 7_000_000, 6_000_000_000),
  perMonthMicros: fc.constantFrom(0, 11_000_000, 12_000_000, 6_000_000_000, 30_000_000),
})

const buy: fc.Arbitrary<Intention> = fc.record({
  do: fc.constant("buy"),
  purchaseId,
  keyId: fc.oneof({ weight: 6, arbitrary: keyId }, { weight: 1, arbitrary: fc.constant(null) }),
  cents,
  odd: fc.constantFrom(0, 0, 0, 0, 0, 1),
})

const notice: fc.Arbitrary<Intention> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("notice"),
      below: fc.record({ off: fc.constantFrom(-6, -3, -1, 0, 1) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("notice"),
      below: fc.oneof(fc.constant(null), fc.record({ micros: fc.integer({ min: -1, max: 40 }) })),
    }),
  },
)

const serve: fc.Arbitrary<Intention> = fc.record({
  do: fc.constant("serve"),
  caller: fc.constantFrom(...KEY_SPENDERS),
  priceMicros: fc.constantFrom(0, 1, 1, 2, 3),
})

const money: fc.Arbitrary<Intention> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("funds"),
      micros: fc.integer({ min: -1, max: 40 }),
      reference: fc.constantFrom(null, "a", "b", "c"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("correct"),
      to: fc.integer({ min: -9, max: 40 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("correct"), by: fc.integer({ min: -9, max: 9 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("open", "terms", "terms"),
      prepaidOnly: fc.boolean(),
      creditMicros: fc.constantFrom(0, 0, 3, 7, -1),
    }),
  },
)

const ending: fc.Arbitrary<Intention> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("refund"), place: indexChoice, part }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("close"),
      places: fc.array(indexChoice, { maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("operator refund"),
      place: indexChoice,
      part,
      behind,
    }),
  },
)

const intention: fc.Arbitrary<Intention> = fc.oneof(
  { weight: 12, arbitrary: charge },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("limit"),
      name: fc.constantFrom(...LIMIT_NAMES),
      period,
      amount: raise,
    }),
  },
  { weight: 6, arbitrary: ending },
  { weight: 5, arbitrary: serve },
  { weight: 3, arbitrary: money },
  { weight: 2, arbitrary: notice },
  { weight: 2, arbitrary: buy },
  { weight: 1, arbitrary: purchaseTerms },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("charge once"),
      name: fc.constantFrom("order_1", "order_2", "order_3"),
      micros: fc.nat(4),
      open: fc.boolean(),
      behind,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("pay", "pay", "decline", "order"), purchaseId }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("charge calls"), most: fc.constantFrom(1, 2, 1_000) }),
  },
  { weight: 1, arbitrary: fc.constant<Intention>({ do: "record" }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("unlimit"), name: fc.constantFrom(...LIMIT_NAMES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(["lock", "unlock", "unlock", "unlock", "shut", "reopen", "reopen", "reopen"] as const),
        "close month",
      ),
    }),
  },
)

const processChoice = fc.constantFrom<ProcessIndex[]>(0, 0, 0, 0, 1)

const batch = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(intention) },
  { weight: 1, arbitrary: fc.array(intention, { minLength: 2, maxLength: 5 }) },
)

const STARTS = [
  "2026-03-31T23:59:59.000Z",
  "2026-03-30T00:00:00.000Z",
  "2024-02-28T12:00:00.000Z",
  "2025-12-31T23:59:59.999Z",
  "2026-06-15T00:00:00.000Z",
].map((text) => Date.parse(text))

/** The start of a ledger: usually opened with some funds, sometimes empty. */
const beginnings: fc.Arbitrary<readonly HistoryTurn[]> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.constantFrom(0, 0, 7).map((creditMicros): readonly HistoryTurn[] => [
      {
        delay: { ms: 0 },
        process: 0,
        intentions: [
          { do: "open", prepaidOnly: false, creditMicros },
          { do: "funds", micros: 60, reference: null },
        ],
      },
    ]),
  },
  { weight: 2, arbitrary: fc.constant<readonly HistoryTurn[]>([]) },
)

const FORTNIGHT_MS = 14 * 86_400_000

/** The end of a ledger: usually none, otherwise deleted and then erased too early or just in time. */
const endings: fc.Arbitrary<readonly HistoryTurn[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<readonly HistoryTurn[]>([]) },
  {
    weight: 1,
    arbitrary: fc
      .record({ early: fc.constantFrom(0, 0, 1), end: fc.constantFrom("reopen", "erase") })
      .map(({ early, end }): readonly HistoryTurn[] => {
        const turns: readonly HistoryTurn[] = [
          { delay: { ms: 1 }, process: 0, intentions: [{ do: "reopen" }, { do: "shut" }] },
          { delay: { ms: FORTNIGHT_MS - early }, process: 0, intentions: [{ do: "erase" }] },
          { delay: { ms: 0 }, process: 0, intentions: [{ do: end }] },
          { delay: { ms: 1 }, process: 0, intentions: [{ do: "reopen" }] },
        ]
        return turns
      }),
  },
)

/** Histories of up to this many turns, with amounts in multiples of `unitMicros` and with these scenes. */
export function histories(
  turns: number,
  unitMicros = 1,
  among: fc.Arbitrary<readonly HistoryTurn[]> = scenes,
): fc.Arbitrary<LedgerHistory> {
  const one = fc
    .record({ delay: wait, process: processChoice, intentions: batch })
    .map((turn): readonly HistoryTurn[] => [turn])
  const parts = fc.oneof({ weight: 12, arbitrary: one }, { weight: 1, arbitrary: among })
  return fc
    .record({
      from: fc.constantFrom(...STARTS),
      first: beginnings,
      rest: fc.array(parts, { maxLength: turns, size: "max" }),
      isAlone: fc.constantFrom(false, false, true),
      last: endings,
    })
    .map(({ from, first, rest, isAlone, last }) => {
      const all = [first, ...rest, last].flat()
      const alone = all.map((turn) => ({ ...turn, process: 0 as const }))
      return { from, unitMicros, turns: isAlone ? alone : all }
    })
}

/** Histories with more names than a ledger remembers. */
export const crowdedHistories: fc.Arbitrary<LedgerHistory> = fc
  .record({ from: fc.constantFrom(...STARTS), turns: forgottenNames })
  .map((history) => ({ ...history, unitMicros: 1 }))

/** Histories with amounts near the largest exact sum. */
export const richHistories: fc.Arbitrary<LedgerHistory> = fc
  .constantFrom(MAX_MICROS / 12, MAX_MICROS / 8, MAX_MICROS / 3)
  .chain((unitMicros) => histories(40, unitMicros, fc.oneof(scenes, nearMaximumFunds)))
