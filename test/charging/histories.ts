/**
 * Random histories of a ledger, aimed at the borders: amounts are what a limit or the funds leave,
 * give or take a micro; instants are the ends of windows, give or take a millisecond.
 *
 * A history is a list of intentions. What each one means is settled when its turn comes, from the
 * facts that the ledger on trial has recorded by then (`intentions.ts`): so it can aim at what is
 * left.
 */
import fc from "fast-check"
import type { Holder, LimitName, Spender } from "../../domain/charging/limits.ts"
import { PERIODS, type Period } from "../../domain/kernel/window.ts"

/** How long until the next command. */
type Wait =
  | { readonly ms: number }
  /** To the end of the window of this period, give or take some milliseconds. */
  | { readonly until: Period; readonly off: number }

/** How much: a number of micros, or what a limit or the funds leave, and a little more or less. */
export type Amount =
  { readonly micros: number } | { readonly left: Holder | "least" | "funds"; readonly off: number }

/** What somebody means to do. Places are taken modulo the number of things there are. */
export type Intention =
  | {
      readonly do: "charge"
      readonly spender: Spender
      readonly class: "ai" | "general"
      readonly amount: Amount
      readonly open: boolean
      readonly exempt: "funds" | null
      /** Null for a charge id of its own; else the place of one that was used before. */
      readonly sameAs: number | null
      readonly askedEarlierMs: number
    }
  | { readonly do: "close"; readonly places: readonly number[] }
  | {
      readonly do: "give back"
      readonly place: number
      readonly part: "whole" | "some" | "over" | "none"
    }
  | {
      readonly do: "limit"
      readonly name: LimitName
      readonly period: Period
      readonly amount: Raise
    }
  | { readonly do: "unlimit"; readonly name: LimitName }
  | { readonly do: "funds"; readonly micros: number; readonly reference: string | null }
  | { readonly do: "open" | "lock" | "unlock" }

/** A limit's amount: a number of micros, or what is used and a little more or less. */
type Raise = ({ readonly micros: number } | { readonly used: true; readonly off: number }) & {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly number[]
}

/** One turn of a history. */
export interface Turn {
  readonly wait: Wait
  readonly intention: Intention
}

/** A history before it is played. */
export interface History {
  readonly from: number
  readonly creditLineMicros: number
  readonly turns: readonly Turn[]
}

/** Whose names the histories use: two people, three keys of theirs, and the app's shared key. */
const SPENDERS: readonly Spender[] = [
  { via: "own_key", keyId: "key_a1", personId: "per_a" },
  { via: "own_key", keyId: "key_a2", personId: "per_a" },
  { via: "own_key", keyId: "key_b1", personId: "per_b" },
  { via: "shared_key", keyId: "key_app", personId: "per_a" },
  { via: "shared_key", keyId: "key_app", personId: null },
  { via: "person", keyId: null, personId: "per_a" },
  { via: "company", keyId: null, personId: null },
]

/** The limits that the histories set. */
export const NAMES: readonly LimitName[] = [
  { holder: "company", holderId: null, class: "general" },
  { holder: "company", holderId: null, class: "ai" },
  { holder: "person", holderId: "per_a", class: "general" },
  { holder: "person", holderId: "per_a", class: "ai" },
  { holder: "person", holderId: "per_b", class: "general" },
  { holder: "key", holderId: "key_a1", class: "all" },
  { holder: "key", holderId: "key_b1", class: "all" },
  { holder: "key", holderId: "key_app", class: "all" },
]

const few = fc.nat(12)
const off = fc.constantFrom(-1, 0, 0, 1)
const place = fc.nat(30)
const period = fc.constantFrom<Period>("day", "week", "month")

const wait: fc.Arbitrary<Wait> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ms: fc.constantFrom(0, 0, 1, 1_000, 3_600_000) }) },
  { weight: 3, arbitrary: fc.record({ until: period, off: fc.constantFrom(-1, 0, 1) }) },
  { weight: 1, arbitrary: fc.record({ ms: fc.nat(40 * 86_400_000) }) },
)

const amount: fc.Arbitrary<Amount> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ micros: few }) },
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
  open: fc.boolean(),
  exempt: fc.constantFrom(null, null, null, null, null, "funds"),
  sameAs: fc.option(place, { nil: null, freq: 5 }),
  askedEarlierMs: fc.constantFrom(0, 0, 1, 86_400_000, 9 * 86_400_000, -3_600_000),
})

const raise: fc.Arbitrary<Raise> = fc.oneof(
  fc.record({
    micros: fc.nat(30),
    leaveKeysOut: fc.boolean(),
    remindersMicros: fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 2 }),
  }),
  fc.record({
    used: fc.constant(true),
    off: fc.constantFrom(-1, 0, 1, 5),
    leaveKeysOut: fc.boolean(),
    remindersMicros: fc.constant([]),
  }),
)

const intention: fc.Arbitrary<Intention> = fc.oneof(
  { weight: 12, arbitrary: charge },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("limit"),
      name: fc.constantFrom(...NAMES),
      period,
      amount: raise,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("give back"),
      place,
      part: fc.constantFrom("whole", "whole", "some", "over", "none"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("close"), places: fc.array(place, { maxLength: 3 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("funds"),
      micros: fc.integer({ min: -1, max: 40 }),
      reference: fc.constantFrom(null, "a", "b", "c"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("unlimit"), name: fc.constantFrom(...NAMES) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("open", "lock", "unlock", "unlock", "unlock") }),
  },
)

const STARTS = [
  "2026-03-31T23:59:59.000Z",
  "2026-03-30T00:00:00.000Z",
  "2024-02-28T12:00:00.000Z",
  "2025-12-31T23:59:59.999Z",
  "2026-06-15T00:00:00.000Z",
].map((text) => Date.parse(text))

/** Who spends under which limit, for scenes in which the two must meet. */
const MEETINGS = NAMES.map((name) => {
  const spenders = SPENDERS.filter(({ keyId, personId }) => {
    return name.holderId === null || name.holderId === keyId || name.holderId === personId
  })
  const periods: readonly Period[] = name.holder === "key" ? PERIODS : ["week", "month"]
  return { name, spenders, periods }
})

/**
 * A limit is set, filled, and asked again on a border that may or may not be its own: what random
 * turns seldom do in this order.
 */
const scene: fc.Arbitrary<readonly Turn[]> = fc.constantFrom(...MEETINGS).chain((meeting) => {
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
    }),
  })
  const aim: fc.Arbitrary<Amount> = fc.record({ left: fc.constant("least" as const), off })
  const funds: Intention = { do: "funds", micros: 40, reference: null }
  const border: fc.Arbitrary<Wait> = fc.record({
    until: fc.oneof(fc.constantFrom(...periods), period),
    off: fc.constantFrom(-86_400_000, -1, 0, 1),
  })
  return fc
    .tuple(limit, spend(aim), border, spend(fc.oneof(aim, fc.record({ micros: few }))), spend(aim))
    .map(([set, fill, cross, ask, askAgain]) => [
      { wait: { ms: 1 }, intention: { do: "unlock" } },
      { wait: { ms: 0 }, intention: funds },
      { wait: { ms: 0 }, intention: set },
      { wait: { ms: 0 }, intention: fill },
      { wait: cross, intention: ask },
      { wait: { ms: 1 }, intention: askAgain },
    ])
})

/** Histories of about this many turns. */
export function histories(turns: number): fc.Arbitrary<History> {
  const one = fc.record({ wait, intention }).map((turn): readonly Turn[] => [turn])
  const parts = fc.oneof({ weight: 12, arbitrary: one }, { weight: 1, arbitrary: scene })
  return fc.record({
    from: fc.constantFrom(...STARTS),
    creditLineMicros: fc.constantFrom(0, 0, 7),
    turns: fc.array(parts, { maxLength: turns, size: "max" }).map((list) => list.flat()),
  })
}
