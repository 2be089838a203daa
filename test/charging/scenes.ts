/**
 * Scenes: what must come in one order to stand on a border, and what random turns seldom do in that
 * order.
 */
import fc from "fast-check"
import { PERIODS, type Period } from "../../domain/kernel/window.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import type { Amount, Intention, Turn, Wait } from "./turns.ts"
import { CALLERS, NAMES, SPENDERS } from "./turns.ts"

/** Who spends under which limit, for scenes in which the two must meet. */
const MEETINGS = NAMES.map((name) => {
  const isTheirs = ({ keyId, personId }: (typeof SPENDERS)[number]): boolean => {
    return name.holderId === null || name.holderId === keyId || name.holderId === personId
  }
  const spenders = SPENDERS.filter(isTheirs)
  const callers = CALLERS.filter(isTheirs)
  const periods: readonly Period[] = name.holder === "key" ? PERIODS : ["week", "month"]
  return { name, spenders, callers, periods }
})

const off = fc.constantFrom(-1, 0, 0, 1)
const aim: fc.Arbitrary<Amount> = fc.record({ left: fc.constant("least" as const), off })
const anyPeriod = fc.constantFrom<Period>("day", "week", "month")

const borderOf = (periods: readonly Period[]): fc.Arbitrary<Wait> =>
  fc.record({
    until: fc.oneof(fc.constantFrom(...periods), anyPeriod),
    off: fc.constantFrom(-86_400_000, -1, 0, 1),
  })

/** A turn of the first process. */
export const turn = (wait: Wait, ...intentions: readonly Intention[]): Turn => ({
  wait,
  on: 0,
  intentions,
})

const FUNDS: Intention = { do: "funds", micros: 40, reference: null }
/** No time passes. */
export const NOW: Wait = { ms: 0 }

/** Ready to be charged: neither locked nor closed, and with funds. */
export const READY = turn({ ms: 1 }, { do: "unlock" }, { do: "reopen" }, FUNDS)

/** A limit is set, filled, and asked again on a border that may or may not be its own. */
const filled: fc.Arbitrary<readonly Turn[]> = fc.constantFrom(...MEETINGS).chain((meeting) => {
  const { name, spenders, periods } = meeting
  const by = fc.constantFrom(...spenders)
  const charged = name.class === "ai" ? ("ai" as const) : ("general" as const)
  const spend = (spent: fc.Arbitrary<Amount>): fc.Arbitrary<Intention> =>
    fc.record({
      do: fc.constant("charge" as const),
      spender: by,
      class: fc.constant(charged),
      amount: spent,
      open: fc.boolean(),
      exempt: fc.constant(null),
      sameAs: fc.constant(null),
      askedEarlierMs: fc.constantFrom(0, 1),
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
  const ask = fc.oneof(aim, fc.record({ micros: fc.nat(12) }))
  return fc
    .tuple(limit, spend(aim), borderOf(periods), spend(ask), spend(aim))
    .map(([set, fill, cross, asked, askedAgain]) => [
      READY,
      turn(NOW, set),
      turn(NOW, fill),
      turn(cross, asked),
      turn({ ms: 1 }, askedAgain),
    ])
})

/** A limit is filled by calls, that may be recorded on the other side of a border. */
const called: fc.Arbitrary<readonly Turn[]> = fc
  .constantFrom(...MEETINGS.filter(({ name }) => name.class !== "ai"))
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
          READY,
          turn(NOW, limit),
          turn(NOW, ...first),
          // What another process serves meanwhile knows nothing of the first calls.
          beside(turn(NOW, ...other)),
          turn(NOW, ...(late.recordLate ? [] : [record])),
          turn(cross, ...last),
          beside(turn(NOW, ...(late.otherLate ? [] : [record]))),
          turn(NOW, chargeAll),
          turn({ until: "day", off: 0 }, chargeAll),
          beside(turn(NOW, record)),
          turn({ until: "day", off: 0 }, chargeAll),
          turn({ ms: 1 }, chargeAll),
        ]
      })
  })

/** The same turn, of the other process. */
function beside(own: Turn): Turn {
  return { ...own, on: 1 }
}

/** Reminders are reached, and reached again: after the limit was set anew, or what was spent came back. */
const reminded: fc.Arbitrary<readonly Turn[]> = fc
  .constantFrom(...MEETINGS.filter(({ name }) => name.class !== "ai"))
  .chain(({ name, spenders, periods }) =>
    fc.record({
      name: fc.constant(name),
      spender: fc.constantFrom(...spenders),
      period: fc.constantFrom(...periods),
      begins: anyPeriod,
      remindersMicros: fc.constantFrom([3], [3, 5], [5, 3, 4], [1, 8]),
      amounts: fc.tuple(fc.integer({ min: 2, max: 9 }), fc.nat(3), fc.nat(3)),
      between: fc.constantFrom<Intention>(
        { do: "give back", place: 1, part: "whole" },
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
      open: true,
      exempt: "funds",
      sameAs: null,
      askedEarlierMs: 0,
      quantity: 1,
    })
    const [first, second, third] = amounts
    return [
      READY,
      turn({ until: begins, off: 0 }, limit(28)),
      turn(NOW, spend(first)),
      turn(NOW, between),
      turn(NOW, limit(28 + wider)),
      turn({ ms: 1 }, spend(second)),
      turn(cross, spend(third)),
      turn(NOW, spend(first)),
    ]
  })

/** An allowance is taken on both sides of a month's edge, to the micro. */
const bought: fc.Arbitrary<readonly Turn[]> = fc
  .record({
    keyId: fc.constantFrom("key_a1", "key_b1"),
    month: fc.constantFrom(11_000_000, 17_000_000),
    ends: fc.constantFrom("pay" as const, "decline" as const),
    offs: fc.tuple(off, off, off),
    edge: fc.constantFrom(-1, 0),
  })
  .map(({ keyId, month, ends, offs, edge }): readonly Turn[] => {
    const buy = (purchaseId: PurchaseId, left: "purchase" | "month", by: number): Intention => {
      return { do: "buy", purchaseId, keyId, cents: { left, off: by }, odd: 0 }
    }
    const terms = { mode: "on", perPurchaseMicros: 6_000_000, perMonthMicros: month } as const
    return [
      turn({ ms: 1 }, { do: "reopen" }, { do: "purchase terms", keyId, ...terms }),
      turn(NOW, buy("pur_7", "purchase", offs[0])),
      turn(NOW, buy("pur_8", "month", offs[1])),
      turn({ until: "month", off: edge }, buy("pur_9", "purchase", 0)),
      turn(NOW, { do: "order", purchaseId: "pur_7" }, { do: ends, purchaseId: "pur_7" }),
      turn(NOW, buy("pur_10", "month", offs[2])),
      turn({ ms: 2 }, { do: "decline", purchaseId: "pur_9" }, buy("pur_11", "month", 0)),
      turn(NOW, { do: "pay", purchaseId: "pur_8" }, { do: "pay", purchaseId: "pur_11" }),
    ]
  })

/** What comes back in a month, by hand and by the work, of charges of that month and the one before. */
const returned: fc.Arbitrary<readonly Turn[]> = fc
  .record({
    sizes: fc.array(fc.constantFrom(3, 6, 9, 12), { minLength: 3, maxLength: 3 }),
    opens: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    parts: fc.array(fc.constantFrom("whole" as const, "some" as const), {
      minLength: 3,
      maxLength: 3,
    }),
    edge: fc.constantFrom(-1, 0, 1),
  })
  .map(({ sizes, opens, parts, edge }): readonly Turn[] => {
    const spend = (i: number): Intention => ({
      do: "charge",
      spender: { via: "company", keyId: null, personId: null },
      class: i === 0 ? "ai" : "general",
      amount: { micros: sizes[i] ?? 0 },
      open: opens[i] ?? false,
      exempt: "funds",
      sameAs: null,
      askedEarlierMs: 0,
      quantity: 1,
    })
    const back = (i: number, place: number): Intention => {
      return { do: "give back by hand", place, part: parts[i] ?? "whole", behind: 0 }
    }
    const whole: Intention = { do: "correct", to: 12 }
    return [
      turn({ ms: 1 }, { do: "unlock" }, { do: "reopen" }, whole),
      turn(NOW, spend(0)),
      turn({ until: "month", off: edge }, { do: "correct", to: 0 }),
      turn(NOW, back(0, 0)),
      turn(NOW, whole),
      turn({ ms: 1 }, spend(1)),
      turn(NOW, back(1, 0)),
      turn(NOW, spend(2)),
      turn(NOW, back(2, 0)),
    ]
  })

/** Any of them. */
export const scenes: fc.Arbitrary<readonly Turn[]> = fc.oneof(
  { weight: 3, arbitrary: filled },
  { weight: 2, arbitrary: called },
  { weight: 1, arbitrary: bought },
  { weight: 1, arbitrary: returned },
  { weight: 1, arbitrary: reminded },
)
