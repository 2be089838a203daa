import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { readLimits, exhaustedLimit } from "../../domain/charging/ledger-views.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  chargeCommand,
  charged,
  chargeReduced,
  fundsAdded,
  limitSet,
  ledgerOpened,
  setLimitCommand,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]

describe("SetLimit", () => {
  it("sets a limit", () => {
    given(ledgerDecider, ...ready)
      .when(setLimitCommand())
      .records(limitSet())
  })

  it("records nothing if the limit is unchanged", () => {
    given(ledgerDecider, limitSet()).when(setLimitCommand()).recordsNothing()
    const whole = { ...PERSON_LIMIT, remindersMicros: [1, 2], leaveKeysOut: true }
    given(ledgerDecider, limitSet(whole)).when(setLimitCommand(whole)).recordsNothing()
  })

  it.each([{ period: "week" }, { amountMicros: 1 }, { remindersMicros: [1] }] as const)(
    "replaces a limit that differs in %j",
    (changed) => {
      given(ledgerDecider, limitSet()).when(setLimitCommand(changed)).records(limitSet(changed))
      const readings = readLimits(foldFacts(ledgerDecider, limitSet(), limitSet(changed)), NOW)
      expect(readings).toHaveLength(1)
    },
  )

  it("replaces a person's limit that differs in leaveKeysOut or in one reminder", () => {
    const whole = { ...PERSON_LIMIT, remindersMicros: [1, 2], leaveKeysOut: true }
    for (const changed of [
      { leaveKeysOut: false },
      { remindersMicros: [1, 3] },
      { remindersMicros: [2, 1] },
      { remindersMicros: [1, 2, 3] },
    ]) {
      given(ledgerDecider, limitSet(whole))
        .when(setLimitCommand({ ...whole, ...changed }))
        .records(limitSet({ ...whole, ...changed }))
    }
  })

  it("replaces a person's limit that leaves keys out by one that does not", () => {
    const state = foldFacts(
      ledgerDecider,
      limitSet({ ...PERSON_LIMIT, leaveKeysOut: true }),
      charged(),
      limitSet(PERSON_LIMIT),
    )
    expect(readLimits(state, NOW)).toMatchObject([{ holder: "person", usedMicros: 9_000 }])
  })

  it("can lower a limit below the used amount: nothing remains, and no charge is accepted", () => {
    const facts = [...ready, charged(), limitSet({ amountMicros: 8_999 })]
    expect(readLimits(foldFacts(ledgerDecider, ...facts), NOW)).toMatchObject([
      { usedMicros: 9_000, remainingMicros: 0 },
    ])
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ chargeId: "chg_2", amountMicros: 1 }))
      .refuses("spend_limit_reached")
  })

  it.each([
    ["a company's limit for a day", { period: "day" }],
    ["a person's limit for a day", { ...PERSON_LIMIT, period: "day" }],
    ["a company's limit for a holder", { holderId: "per_1" }],
    ["a person's limit without a person", { holder: "person" }],
    ["a key's limit of one class", { ...KEY_LIMIT, class: "ai" }],
    ["a company's limit of all classes", { class: "all" }],
    ["a company's limit that leaves keys out", { leaveKeysOut: true }],
    ["a key's limit that leaves keys out", { ...KEY_LIMIT, leaveKeysOut: true }],
    ["an amount below zero", { amountMicros: -1 }],
    ["half a micro", { amountMicros: 0.5 }],
    ["more than can be added exactly", { amountMicros: MAX_MICROS + 1 }],
    ["a reminder at zero", { remindersMicros: [0] }],
    ["a reminder at half a micro", { remindersMicros: [0.5] }],
  ] as const)("is rejected for %s", (_case, changed) => {
    given(ledgerDecider, ...ready)
      .when(setLimitCommand(changed))
      .refuses("bad_limit")
  })

  it.each(["day", "week", "month"] as const)("sets a key's limit for a %s", (period) => {
    given(ledgerDecider)
      .when(setLimitCommand({ ...KEY_LIMIT, period }))
      .records(limitSet({ ...KEY_LIMIT, period }))
  })
})

describe("RemoveLimit", () => {
  const name = { holder: "company", holderId: null, class: "general" } as const
  const remove = { type: "RemoveLimit", at: NOW, ...name } as const

  it("removes a limit", () => {
    given(ledgerDecider, limitSet())
      .when(remove)
      .records({ type: "LimitRemoved", at: NOW, ...name })
  })

  it("is rejected if there is no such limit, after a removal or for another class", () => {
    given(ledgerDecider, limitSet(), { type: "LimitRemoved", at: NOW, ...name })
      .when(remove)
      .refuses("no_such_limit")
    given(ledgerDecider, limitSet())
      .when({ ...remove, class: "ai" })
      .refuses("no_such_limit")
  })

  it("keeps the used amount for the next limit", () => {
    const removed: LedgerEvent = { type: "LimitRemoved", at: NOW, ...name }
    const state = foldFacts(ledgerDecider, ...ready, limitSet(), charged(), removed, limitSet())
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 9_000 }])
  })
})

describe("a limit counts", () => {
  const persons = limitSet({ ...PERSON_LIMIT, amountMicros: 9_000 })
  const leftOut = limitSet({ ...PERSON_LIMIT, amountMicros: 9_000, leaveKeysOut: true })
  const used = (limit: LedgerEvent, ...facts: readonly LedgerEvent[]) =>
    readLimits(foldFacts(ledgerDecider, limit, ...facts), NOW)[0]?.usedMicros
  const shared = { via: "app_key", keyId: "key_app" } as const
  const dashboard = { via: "person", keyId: null } as const

  it("for a person: own keys, the app key with their sign-in, the dashboard", () => {
    expect(used(persons, charged(), charged(shared), charged(dashboard))).toBe(27_000)
    expect(used(persons, charged({ personId: "per_2" }))).toBe(0)
    expect(used(persons, charged({ ...shared, personId: null }))).toBe(0)
    expect(used(persons, charged({ class: "ai" }))).toBe(0)
  })

  it("for a person without their keys: the app key and the dashboard only", () => {
    expect(used(leftOut, charged())).toBe(0)
    expect(used(leftOut, charged(shared), charged(dashboard))).toBe(18_000)
  })

  it("for the company: all spending of its class", () => {
    const alone = { via: "company", keyId: null, personId: null } as const
    const all = [charged(), charged(shared), charged(dashboard), charged(alone)]
    expect(used(limitSet(), ...all)).toBe(36_000)
    expect(used(limitSet({ class: "ai" }), ...all, charged({ class: "ai" }))).toBe(9_000)
  })

  it("for a key: both classes of that key", () => {
    const byKey = limitSet(KEY_LIMIT)
    expect(used(byKey, charged(), charged({ class: "ai" }), charged({ keyId: "key_2" }))).toBe(
      18_000,
    )
  })

  it("for a person without their keys, and does not reject calls with an own key", () => {
    const own = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
    const app = { ...shared, personId: "per_1" } as const
    const state = foldFacts(ledgerDecider, leftOut, charged(dashboard))
    expect(exhaustedLimit(state, own, NOW)).toBeNull()
    expect(exhaustedLimit(state, app, NOW)).toMatchObject({ holder: "person", remainingMicros: 0 })
    expect(exhaustedLimit(state, { ...app, personId: null }, NOW)).toBeNull()
  })
})

describe("a refund", () => {
  // Monday, 1 June 2026: a day, a week and a month begin together.
  const first = isoInstant("2026-06-01T00:00:00.000Z")
  const last = isoInstant("2026-06-01T23:59:59.999Z")
  const used = (chargedAt: number, now: number) =>
    (["day", "week", "month"] as const).map((period) => {
      const limit = limitSet({ ...KEY_LIMIT, period, at: now })
      const facts = [charged({ at: chargedAt }), charged({ chargeId: "chg_2", at: now })]
      const state = foldFacts(
        ledgerDecider,
        ...facts,
        chargeReduced({ countedAt: chargedAt, at: now }),
        limit,
      )
      return readLimits(state, now)[0]?.usedMicros
    })

  it("lowers the windows that contain its charge, from their first millisecond", () => {
    expect(used(first, last)).toEqual([9_000, 9_000, 9_000])
    expect(used(first, first)).toEqual([9_000, 9_000, 9_000])
  })

  it("does not lower windows that have begun since", () => {
    expect(used(first - 1, first)).toEqual([9_000, 9_000, 9_000])
    expect(used(last, last + 1)).toEqual([9_000, 9_000, 9_000])
  })
})

describe("an exhausted limit", () => {
  const own = { via: "own_key", keyId: "key_1", personId: "per_1" } as const

  it("rejects callers before a call from the micro that reaches it", () => {
    const used = charged({ amountMicros: 27_000 })
    const micro = charged({ amountMicros: 26_999 })
    expect(exhaustedLimit(foldFacts(ledgerDecider, limitSet(), micro), own, NOW)).toBeNull()
    expect(exhaustedLimit(foldFacts(ledgerDecider, limitSet(), used), own, NOW)).toMatchObject({
      holder: "company",
      usedMicros: 27_000,
      remainingMicros: 0,
      askedMicros: 0,
    })
  })

  it("is exhausted from the start if it is $0", () => {
    const nothing = limitSet({ ...KEY_LIMIT, amountMicros: 0 })
    expect(exhaustedLimit(foldFacts(ledgerDecider, nothing), own, NOW)).toMatchObject({
      holder: "key",
    })
  })

  it("rejects general calls only if its class is general", () => {
    const ai = limitSet({ class: "ai", amountMicros: 0 })
    expect(exhaustedLimit(foldFacts(ledgerDecider, ai), own, NOW)).toBeNull()
  })

  it("is available again in its next window, even without a new fact", () => {
    const state = foldFacts(ledgerDecider, limitSet(), charged({ amountMicros: 27_000 }))
    expect(exhaustedLimit(state, own, isoInstant("2026-03-31T23:59:59.999Z"))).not.toBeNull()
    expect(exhaustedLimit(state, own, isoInstant("2026-04-01T00:00:00.000Z"))).toBeNull()
  })
})
