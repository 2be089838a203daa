import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import {
  purchaseAllowanceOf,
  ledgerRevision,
  pendingChargeIds,
  readLimits,
} from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { foldFacts, decideStamped } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  callCounter,
  chargeCommand,
  charged,
  chargesSettled,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  dailyCallsCharge,
  ledgerOpened,
  reminderReached,
} from "./ledger-facts.ts"
import {
  purchaseFailedFact,
  purchaseTermsSetFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"

const saved = (state: LedgerState): unknown => ledgerCheckpoint.save(state)
/** A checkpoint after a round trip through JSON. */
const stored = (state: LedgerState): unknown => JSON.parse(JSON.stringify(saved(state)))

/** Facts that fill every part of the state. */
const MUCH: readonly LedgerEvent[] = [
  ledgerOpened(5_000),
  fundsAdded(1_000_000, "wire 1"),
  { type: "LowFundsAlertSet", at: NOW, belowMicros: 900_000 },
  limitSet({ remindersMicros: [9_000, 20_000] }),
  limitSet({ ...PERSON_LIMIT, leaveKeysOut: true }),
  limitSet({ ...KEY_LIMIT, period: "day" }),
  charged(),
  reminderReached(),
  charged({ chargeId: "order_1", keyId: "key_2", isPending: false, isExternalId: true }),
  charged({ chargeId: "chg_3", via: "app_key", keyId: "key_app", personId: null, class: "ai" }),
  chargeReduced({ chargeId: "chg_4" }),
  apiCallsCounted({ day: isoInstant("2026-03-01"), counters: [callCounter(2)] }),
  dailyCallsCharge({ chargeId: "key_1:per_1:2026-03-01", servedFrom: isoInstant("2026-03-01") }),
  apiCallsCounted(),
  purchaseTermsSetFact(),
  purchaseStartedFact({ amountMicros: 5_000_000 }),
  purchasePaidFact({ amountMicros: 5_000_000 }),
  purchaseStartedFact({ purchaseId: "pur_2", amountMicros: 6_000_000 }),
  purchaseFailedFact({ purchaseId: "pur_2", amountMicros: 6_000_000 }),
  purchaseStartedFact({ purchaseId: "pur_3", amountMicros: 7_000_000 }),
  { type: "AccountLocked", at: NOW },
  { type: "LedgerClosed", at: NOW },
  { type: "TermsChanged", at: NOW, prepaidOnly: true, creditLineMicros: 6 },
]

describe("a checkpoint", () => {
  it("holds the whole state as JSON data, and restores it", () => {
    const state = foldFacts(ledgerDecider, ...MUCH)
    expect(stored(state)).toEqual(saved(state))
    const loaded = ledgerCheckpoint.load(stored(state))
    expect(saved(loaded)).toEqual(saved(state))
    expect(readLimits(loaded, NOW)).toEqual(readLimits(state, NOW))
    expect(pendingChargeIds(loaded)).toEqual(["chg_1", "chg_3"])
    expect(purchaseAllowanceOf(loaded, "key_1", NOW)).toMatchObject({
      paidMicros: 5_000_000,
      pendingMicros: 7_000_000,
    })
    expect(ledgerRevision(loaded)).toBe(MUCH.length - 1)
  })

  it("has named parts", () => {
    const spent = { item: "text_segment", resource: "msg_1" }
    expect(stored(foldFacts(ledgerDecider, ...MUCH))).toMatchObject({
      scalars: {
        facts: MUCH.length,
        opened: true,
        closedAt: NOW,
        erasing: false,
        locked: true,
        prepaidOnly: true,
        creditLineMicros: 6,
        noticeMicros: 900_000,
        openMicros: 18_000,
        month: { start: isoInstant("2026-03-01"), end: isoInstant("2026-04-01"), charges: 4 },
      },
      references: ["wire 1"],
      open: [
        ["chg_1", { at: NOW, amountMicros: 9_000, keyId: "key_1", class: "general", ...spent }],
        ["chg_3", { via: "app_key", keyId: "key_app", personId: null, class: "ai" }],
      ],
      chargedThrough: isoInstant("2026-03-01"),
      uncharged: [["key_1:per_1:2026-03-02", { calls: 1, day: isoInstant("2026-03-02") }]],
      purchases: {
        terms: [["key_1", { mode: "on" }]],
        pending: [["pur_3", { startedAt: NOW, keyId: "key_1", amountMicros: 7_000_000 }]],
        ended: [
          ["pur_1", "paid"],
          ["pur_2", "failed"],
        ],
        pendingMicros: 7_000_000,
      },
      recent: {
        names: [
          ["charge order_1", 8],
          ["back chg_4", 10],
        ],
        forgottenTo: -1,
      },
    })
  })

  it("of a new ledger restores a new ledger", () => {
    const loaded = ledgerCheckpoint.load(stored(ledgerDecider.initial()))
    expect(loaded).toEqual(ledgerDecider.initial())
    ledgerDecider.evolve(loaded, ledgerOpened())
    expect(
      decideStamped(ledgerDecider, { type: "CloseMonth", at: isoInstant("2026-04-01") }, loaded),
    ).toHaveLength(1)
  })

  it("omits holders whose counters are zero", () => {
    const quiet = [
      charged(),
      chargeReduced(),
      limitSet(),
      charged({ chargeId: "chg_2", keyId: "key_2" }),
    ]
    expect(stored(foldFacts(ledgerDecider, ...quiet))).toMatchObject({
      tallies: { keys: [["key_2", [9_000, 9_000, 9_000]]] },
    })
  })

  it("does not change with a state that was loaded from it", () => {
    const state = foldFacts(ledgerDecider, ...MUCH)
    const checkpoint = saved(state)
    const text = JSON.stringify(checkpoint)
    const loaded = ledgerCheckpoint.load(checkpoint)
    const facts = [
      charged({ chargeId: "chg_9", isExternalId: true }),
      chargesSettled("chg_1"),
      fundsAdded(5, "wire"),
      apiCallsCounted(),
      purchasePaidFact({ purchaseId: "pur_3", amountMicros: 7_000_000 }),
      purchaseTermsSetFact({}, "key_2"),
      reminderReached({ reminderMicros: 20_000 }),
      limitSet({ class: "ai" }),
    ]
    for (const fact of facts) ledgerDecider.evolve(loaded, fact)
    expect(JSON.stringify(saved(state))).toBe(text)
    expect(JSON.stringify(checkpoint)).toBe(text)
  })

  it("restores the windows of its counters", () => {
    const state = ledgerCheckpoint.load(stored(foldFacts(ledgerDecider, limitSet(), charged())))
    expect(readLimits(state, isoInstant("2026-03-31T23:59:59.999Z"))).toMatchObject([
      { usedMicros: 9_000 },
    ])
    expect(readLimits(state, isoInstant("2026-04-01"))).toMatchObject([{ usedMicros: 0 }])
  })
})

describe("the state of a ledger stays small", () => {
  it("forgets the reminders of windows that have ended", () => {
    const daily = limitSet({ ...KEY_LIMIT, period: "day", remindersMicros: [1] })
    const days = Array.from({ length: 40 }, (_, i) => {
      const windowStart = isoInstant("2026-03-02") + i * 86_400_000
      const window = { period: "day", reminderMicros: 1, windowStart, at: windowStart } as const
      return reminderReached({ ...KEY_LIMIT, ...window })
    })
    expect(stored(foldFacts(ledgerDecider, daily, ...days))).toMatchObject({
      reached: [[expect.any(String), {}]],
    })
    const next = charged({ at: isoInstant("2026-05-01") })
    expect(stored(foldFacts(ledgerDecider, daily, ...days, next))).toMatchObject({ reached: [] })
  })

  it("keeps separate counters for hundreds of holders", () => {
    const count = 500
    const by = (i: number) => ({ keyId: `key_${i}`, personId: `per_${i % 100}` }) as const
    const facts = Array.from({ length: count }, (_, i) => {
      return charged({ chargeId: `chg_${i}`, ...by(i), amountMicros: i, isPending: false })
    })
    const limits = Array.from({ length: count }, (_, i) => {
      return limitSet({ ...KEY_LIMIT, holderId: `key_${i}`, amountMicros: 2 * i })
    })
    const people = Array.from({ length: 100 }, (_, i) => {
      return limitSet({ ...PERSON_LIMIT, holderId: `per_${i}` })
    })
    const state = foldFacts(
      ledgerDecider,
      ...facts.slice(0, 250),
      ...limits,
      ...facts.slice(250),
      ...people,
    )
    const used = readLimits(state, NOW).map(({ usedMicros }) => usedMicros)
    const ofPeople = people.map((_, i) => 5 * i + 100 + 200 + 300 + 400)
    expect(used).toEqual([...facts.map(({ amountMicros }) => amountMicros), ...ofPeople])
    ledgerDecider.evolve(state, fundsAdded(1_000_000))
    for (const i of [0, 1, 249, 250, 499]) {
      const one = chargeCommand({ chargeId: `chg_${i}:2`, ...by(i), amountMicros: i })
      expect(decideStamped(ledgerDecider, one, state)).toMatchObject([{ type: "Charged" }])
      const more = { ...one, amountMicros: i + 1, unitPriceMicros: i + 1 }
      expect(decideStamped(ledgerDecider, more, state)).toMatchObject({
        code: "spend_limit_reached",
      })
    }
  })
})
