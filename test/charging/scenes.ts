/** Scenes: sequences of turns that reach a boundary, and that random turns seldom contain. */
import fc from "fast-check"
import { PERIODS, type Period } from "../../domain/kernel/window.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import type { AmountChoice, Intention, HistoryTurn, TurnDelay } from "./history.ts"
import { KEY_SPENDERS, LIMIT_NAMES, SPENDERS } from "./history.ts"

/** Spenders with the limits that apply to them, for scenes that need both. */
const LIMITED_SPENDERS = LIMIT_NAMES.map((name) => {
  const isTheirs = ({ keyId, personId }: (typeof SPENDERS)[number]): boolean => {
    return name.holderId === null || name.holderId === keyId || name.holderId === personId
  }
  const spenders = SPENDERS.filter(isTheirs)
  const callers = KEY_SPENDERS.filter(isTheirs)
  const periods: readonly Period[] = name.holder === "key" ? PERIODS : ["week", "month"]
  return { name, spenders, callers, periods }
})

const off = fc.constantFrom(-1, 0, 0, 1)
const leastLeft: fc.Arbitrary<AmountChoice> = fc.record({
  left: fc.constant("least" as const),
  off,
})
const anyPeriod = fc.constantFrom<Period>("day", "week", "month")

const borderOf = (periods: readonly Period[]): fc.Arbitrary<TurnDelay> =>
  fc.record({
    until: fc.oneof(fc.constantFrom(...periods), anyPeriod),
    off: fc.constantFrom(-86_400_000, -1, 0, 1),
  })

/** A turn of the first process. */
export const firstProcessTurn = (
  delay: TurnDelay,
  ...intentions: readonly Intention[]
): HistoryTurn => ({
  delay,
  process: 0,
  intentions,
})

const FUNDS: Intention = { do: "funds", micros: 40, reference: null }
/** No time passes. */
export const NO_DELAY: TurnDelay = { ms: 0 }

/** Prepares the ledger for charges: unlocked, open, and with funds. */
export const READY_TURN = firstProcessTurn({ ms: 1 }, { do: "unlock" }, { do: "reopen" }, FUNDS)

/** A limit is set, filled, and tried again at a boundary that may or may not be its own. */
const limitFillingScenes: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .constantFrom(...LIMITED_SPENDERS)
  .chain((meeting) => {
    const { name, spenders, periods } = meeting
    const by = fc.constantFrom(...spenders)
    const charged = name.class === "ai" ? ("ai" as const) : ("general" as const)
    const spend = (spent: fc.Arbitrary<AmountChoice>): fc.Arbitrary<Intention> =>
      fc.record({
        do: fc.constant("charge" as const),
        spender: by,
        class: fc.constant(charged),
        amount: spent,
        isPending: fc.boolean(),
        exempt: fc.constant(null),
        repeatsCharge: fc.constant(null),
        requestedEarlierMs: fc.constantFrom(0, 1),
        quantity: fc.constant(1 as const),
      })
    const limit: fc.Arbitrary<Intention> = fc.record({
      do: fc.constant("limit" as const),
      name: fc.constant(name),
      period: fc.constantFrom(...periods),
      amount: fc.record({
        used: fc.constant(true as const),
        off: fc.constantFrom(1, 5, 9),
        leaveKeysOut: fc.boolean(),
        remindersMicros: fc.constant([]),
        reminderOff: fc.constantFrom(null, 1, 4),
      }),
    })
    const amount = fc.oneof(leastLeft, fc.record({ micros: fc.nat(12) }))
    return fc
      .tuple(limit, spend(leastLeft), borderOf(periods), spend(amount), spend(leastLeft))
      .map(([set, fill, cross, spending, secondSpending]) => [
        READY_TURN,
        firstProcessTurn(NO_DELAY, set),
        firstProcessTurn(NO_DELAY, fill),
        firstProcessTurn(cross, spending),
        firstProcessTurn({ ms: 1 }, secondSpending),
      ])
  })

/** A limit is filled by calls, which may be stored after a boundary. */
const callScenes: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .constantFrom(...LIMITED_SPENDERS.filter(({ name }) => name.class !== "ai"))
  .chain(({ name, callers, periods }) => {
    const serve: fc.Arbitrary<Intention> = fc.record({
      do: fc.constant("serve" as const),
      caller: fc.constantFrom(...callers),
      priceMicros: fc.constantFrom(1, 2),
    })
    return fc
      .record({
        period: fc.constantFrom(...periods),
        room: fc.constantFrom(1, 2, 4),
        reminderOff: fc.constantFrom(null, 1, 2),
        leaveKeysOut: fc.boolean(),
        first: fc.array(serve, { minLength: 1, maxLength: 4 }),
        other: fc.array(serve, { maxLength: 2 }),
        cross: borderOf(periods),
        last: fc.array(serve, { maxLength: 2 }),
        recordLate: fc.boolean(),
        otherLate: fc.boolean(),
      })
      .map(({ period, room, reminderOff, leaveKeysOut, first, other, cross, last, ...late }) => {
        const record: Intention = { do: "record" }
        const chargeAll: Intention = { do: "charge calls", most: 1_000 }
        const limit: Intention = {
          do: "limit",
          name,
          period,
          amount: { used: true, off: room, leaveKeysOut, remindersMicros: [], reminderOff },
        }
        return [
          READY_TURN,
          firstProcessTurn(NO_DELAY, limit),
          firstProcessTurn(NO_DELAY, ...first),
          // The other process does not know of the first calls yet.
          inOtherProcess(firstProcessTurn(NO_DELAY, ...other)),
          firstProcessTurn(NO_DELAY, ...(late.recordLate ? [] : [record])),
          firstProcessTurn(cross, ...last),
          inOtherProcess(firstProcessTurn(NO_DELAY, ...(late.otherLate ? [] : [record]))),
          firstProcessTurn(NO_DELAY, chargeAll),
          firstProcessTurn({ until: "day", off: 0 }, chargeAll),
          inOtherProcess(firstProcessTurn(NO_DELAY, record)),
          firstProcessTurn({ until: "day", off: 0 }, chargeAll),
          firstProcessTurn({ ms: 1 }, chargeAll),
        ]
      })
  })

function inOtherProcess(turn: HistoryTurn): HistoryTurn {
  return { ...turn, process: 1 }
}

/** Reminders are reached, and again after the limit is set again or a charge is refunded. */
const reminderScenes: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .constantFrom(...LIMITED_SPENDERS.filter(({ name }) => name.class !== "ai"))
  .chain(({ name, spenders, periods }) =>
    fc.record({
      name: fc.constant(name),
      spender: fc.constantFrom(...spenders),
      period: fc.constantFrom(...periods),
      begins: anyPeriod,
      remindersMicros: fc.constantFrom([3], [3, 5], [5, 3, 4], [1, 8]),
      amounts: fc.tuple(fc.integer({ min: 2, max: 9 }), fc.nat(3), fc.nat(3)),
      between: fc.constantFrom<Intention>(
        { do: "refund", place: 1, part: "whole" },
        { do: "unlimit", name },
        { do: "record" },
      ),
      wider: fc.nat(2),
      cross: borderOf(periods),
    }),
  )
  .map(({ name, spender, period, begins, remindersMicros, amounts, between, wider, cross }) => {
    const limit = (micros: number): Intention => {
      const amount = { micros, leaveKeysOut: false, remindersMicros, reminderOff: null }
      return { do: "limit", name, period, amount }
    }
    const spend = (micros: number): Intention => ({
      do: "charge",
      spender,
      class: "general",
      amount: { micros },
      isPending: true,
      exempt: "funds",
      repeatsCharge: null,
      requestedEarlierMs: 0,
      quantity: 1,
    })
    const [first, second, third] = amounts
    return [
      READY_TURN,
      firstProcessTurn({ until: begins, off: 0 }, limit(28)),
      firstProcessTurn(NO_DELAY, spend(first)),
      firstProcessTurn(NO_DELAY, between),
      firstProcessTurn(NO_DELAY, limit(28 + wider)),
      firstProcessTurn({ ms: 1 }, spend(second)),
      firstProcessTurn(cross, spend(third)),
      firstProcessTurn(NO_DELAY, spend(first)),
    ]
  })

/** An allowance is used on both sides of the end of a month, to the micro. */
const purchaseScenes: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .record({
    keyId: fc.constantFrom("key_a1", "key_b1"),
    month: fc.constantFrom(11_000_000, 17_000_000),
    ends: fc.constantFrom("pay" as const, "decline" as const),
    offs: fc.tuple(off, off, off),
    edge: fc.constantFrom(-1, 0),
  })
  .map(({ keyId, month, ends, offs, edge }): readonly HistoryTurn[] => {
    const buy = (purchaseId: PurchaseId, left: "purchase" | "month", by: number): Intention => {
      return { do: "buy", purchaseId, keyId, cents: { left, off: by }, odd: 0 }
    }
    const terms = { mode: "on", perPurchaseMicros: 6_000_000, perMonthMicros: month } as const
    return [
      firstProcessTurn({ ms: 1 }, { do: "reopen" }, { do: "purchase terms", keyId, ...terms }),
      firstProcessTurn(NO_DELAY, buy("pur_7", "purchase", offs[0])),
      firstProcessTurn(NO_DELAY, buy("pur_8", "month", offs[1])),
      firstProcessTurn({ until: "month", off: edge }, buy("pur_9", "purchase", 0)),
      firstProcessTurn(
        NO_DELAY,
        { do: "order", purchaseId: "pur_7" },
        { do: ends, purchaseId: "pur_7" },
      ),
      firstProcessTurn(NO_DELAY, buy("pur_10", "month", offs[2])),
      firstProcessTurn(
        { ms: 2 },
        { do: "decline", purchaseId: "pur_9" },
        buy("pur_11", "month", 0),
      ),
      firstProcessTurn(
        NO_DELAY,
        { do: "pay", purchaseId: "pur_8" },
        { do: "pay", purchaseId: "pur_11" },
      ),
    ]
  })

/** Refunds in a month, by operators and jobs, for charges of that month and the previous one. */
const refundScenes: fc.Arbitrary<readonly HistoryTurn[]> = fc
  .record({
    sizes: fc.array(fc.constantFrom(3, 6, 9, 12), { minLength: 3, maxLength: 3 }),
    opens: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    parts: fc.array(fc.constantFrom("whole" as const, "some" as const), {
      minLength: 3,
      maxLength: 3,
    }),
    edge: fc.constantFrom(-1, 0, 1),
  })
  .map(({ sizes, opens, parts, edge }): readonly HistoryTurn[] => {
    const spend = (i: number): Intention => ({
      do: "charge",
      spender: { via: "company", keyId: null, personId: null },
      class: i === 0 ? "ai" : "general",
      amount: { micros: sizes[i] ?? 0 },
      isPending: opens[i] ?? false,
      exempt: "funds",
      repeatsCharge: null,
      requestedEarlierMs: 0,
      quantity: 1,
    })
    const back = (i: number, place: number): Intention => {
      return { do: "operator refund", place, part: parts[i] ?? "whole", behind: 0 }
    }
    const whole: Intention = { do: "correct", to: 12 }
    return [
      firstProcessTurn({ ms: 1 }, { do: "unlock" }, { do: "reopen" }, whole),
      firstProcessTurn(NO_DELAY, spend(0)),
      firstProcessTurn({ until: "month", off: edge }, { do: "correct", to: 0 }),
      firstProcessTurn(NO_DELAY, back(0, 0)),
      firstProcessTurn(NO_DELAY, whole),
      firstProcessTurn({ ms: 1 }, spend(1)),
      firstProcessTurn(NO_DELAY, back(1, 0)),
      firstProcessTurn(NO_DELAY, spend(2)),
      firstProcessTurn(NO_DELAY, back(2, 0)),
    ]
  })

export const scenes: fc.Arbitrary<readonly HistoryTurn[]> = fc.oneof(
  { weight: 3, arbitrary: limitFillingScenes },
  { weight: 2, arbitrary: callScenes },
  { weight: 1, arbitrary: purchaseScenes },
  { weight: 1, arbitrary: refundScenes },
  { weight: 1, arbitrary: reminderScenes },
)
