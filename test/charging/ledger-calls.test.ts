import { describe, expect, it } from "vitest"
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { readLimits, exhaustedLimit } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import {
  exceededLimitOfCall,
  mustFlushCalls,
  bufferServedCall,
  drainServedCalls,
} from "../../domain/charging/served-calls.ts"
import { decideStamped, foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  chargeCommand,
  charged,
  apiCallsCounted,
  fundsAdded,
  limitSet,
  ledgerOpened,
  recordCallsCommand,
} from "./ledger-facts.ts"

const call: ServedApiCall = {
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  unitPriceMicros: 100,
  priceVersion: 1,
}
const MIDNIGHT = isoInstant("2026-03-03")

/** A ledger with these facts that has since served so many calls. */
function serving(calls: number, ...facts: readonly LedgerEvent[]): LedgerState {
  const state = foldFacts(ledgerDecider, ...facts)
  for (let i = 0; i < calls; i += 1) expect(bufferServedCall(state, call, NOW)).toBeNull()
  return state
}

describe("a served call", () => {
  it("counts immediately, as unrecorded, in every limit that applies to it", () => {
    const limits = [limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT)]
    expect(readLimits(serving(2, ...limits, charged()), NOW)).toMatchObject([
      { holder: "company", usedMicros: 9_200, unrecordedMicros: 200, remainingMicros: 17_800 },
      { holder: "person", usedMicros: 9_200, unrecordedMicros: 200, remainingMicros: 17_800 },
      { holder: "key", usedMicros: 9_200, unrecordedMicros: 200, remainingMicros: 17_800 },
    ])
  })

  it("counts in no other limit: not for ai, another person or key, or without keys", () => {
    const others = [
      limitSet({ class: "ai" }),
      limitSet({ ...PERSON_LIMIT, holderId: "per_2" }),
      limitSet({ ...KEY_LIMIT, holderId: "key_2" }),
      limitSet({ ...PERSON_LIMIT, leaveKeysOut: true }),
    ]
    for (const limit of others) {
      expect(readLimits(serving(1, limit), NOW)).toMatchObject([
        { usedMicros: 0, unrecordedMicros: 0 },
      ])
    }
  })

  it("is not a fact: it changes neither the revision nor a checkpoint", () => {
    const facts = [ledgerOpened(), fundsAdded(5), limitSet(), apiCallsCounted()]
    const saved = ledgerCheckpoint.save(serving(3, ...facts))
    expect(saved).toEqual(ledgerCheckpoint.save(foldFacts(ledgerDecider, ...facts)))
    const loaded = ledgerCheckpoint.load(saved)
    expect(readLimits(loaded, NOW)).toMatchObject([{ usedMicros: 100, unrecordedMicros: 0 }])
    expect(drainServedCalls(loaded)).toBeNull()
  })

  it("needs no funds: an empty, locked or closed ledger serves it", () => {
    for (const type of ["AccountLocked", "LedgerClosed"] as const) {
      expect(
        bufferServedCall(foldFacts(ledgerDecider, ledgerOpened(), { type, at: NOW }), call, NOW),
      ).toBeNull()
    }
  })

  it("is rejected if its price does not fit, and changes nothing", () => {
    const state = serving(1, limitSet({ amountMicros: 199 }))
    const refused = bufferServedCall(state, call, NOW)
    expect(refused).toMatchObject({
      holder: "company",
      usedMicros: 100,
      unrecordedMicros: 100,
      askedMicros: 100,
      remainingMicros: 99,
    })
    expect(exceededLimitOfCall(state, call, NOW)).toEqual(refused)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 100 }])
    expect(drainServedCalls(state)).toMatchObject({ counters: [{ calls: 1 }] })
  })

  it("reaches a limit to the micro; every further call is rejected before it is served", () => {
    const state = serving(2, limitSet({ amountMicros: 200 }))
    const caller = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
    expect(exhaustedLimit(state, caller, NOW)).toMatchObject({
      usedMicros: 200,
      unrecordedMicros: 200,
    })
    expect(bufferServedCall(state, call, NOW)).not.toBeNull()
  })

  it("is rejected by the first exceeded limit of key, person, company", () => {
    const full = { amountMicros: 0 }
    const [company, person, key] = [
      limitSet(full),
      limitSet({ ...PERSON_LIMIT, ...full }),
      limitSet({ ...KEY_LIMIT, ...full }),
    ]
    const refusedBy = (...limits: readonly LedgerEvent[]) =>
      bufferServedCall(foldFacts(ledgerDecider, ...limits), call, NOW)?.holder
    expect(refusedBy(company, person, key)).toBe("key")
    expect(refusedBy(company, person)).toBe("person")
    expect(refusedBy(company)).toBe("company")
    expect(refusedBy(company, limitSet({ ...KEY_LIMIT, amountMicros: 100 }))).toBe("company")
  })

  it("uses up a limit for charges, whose refusals include it as evidence", () => {
    const facts = [ledgerOpened(), fundsAdded(1_000_000), limitSet({ amountMicros: 9_000 })]
    const state = serving(1, ...facts)
    expect(decideStamped(ledgerDecider, chargeCommand(), state)).toMatchObject({
      code: "spend_limit_reached",
      ledgerRevision: 2,
      unrecordedMicros: 100,
      refusingLimit: 0,
      limits: [{ usedMicros: 100, unrecordedMicros: 100, remainingMicros: 8_900 }],
    })
    const fits = chargeCommand({ amountMicros: 8_900 })
    expect(decideStamped(ledgerDecider, fits, state)).toEqual([charged({ amountMicros: 8_900 })])
  })

  it("reaches reminders with the next charge", () => {
    const state = serving(1, fundsAdded(9_000), limitSet({ remindersMicros: [9_100] }))
    expect(decideStamped(ledgerDecider, chargeCommand(), state)).toMatchObject([
      { type: "Charged" },
      { type: "ReminderReached", reminderMicros: 9_100, usedMicros: 9_100 },
    ])
  })

  it("appears in a refusal without limits only as the unrecorded sum", () => {
    const state = serving(3)
    expect(decideStamped(ledgerDecider, chargeCommand(), state)).toMatchObject({
      code: "payment_required",
      unrecordedMicros: 300,
      limits: [],
    })
  })
})

describe("buffered calls", () => {
  it("are drained as one command, with the calls of each key and person together", () => {
    const state = serving(2)
    const shared = { ...call, via: "app_key", keyId: "key_app" } as const
    bufferServedCall(state, { ...shared, personId: null }, NOW)
    bufferServedCall(state, { ...shared, personId: "per_2" }, NOW)
    bufferServedCall(state, { ...shared, personId: "per_3" }, NOW)
    bufferServedCall(state, call, NOW)
    const price = { unitPriceMicros: 100, priceVersion: 1 }
    expect(drainServedCalls(state)).toEqual({
      type: "RecordApiCalls",
      day: isoInstant("2026-03-02"),
      ...price,
      counters: [
        { via: "own_key", keyId: "key_1", personId: "per_1", calls: 3 },
        { via: "app_key", keyId: "key_app", personId: null, calls: 1 },
        { via: "app_key", keyId: "key_app", personId: "per_2", calls: 1 },
        { via: "app_key", keyId: "key_app", personId: "per_3", calls: 1 },
      ],
    })
  })

  it("no longer count once they are drained, and can be drained once", () => {
    const state = serving(2, limitSet())
    drainServedCalls(state)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 0, unrecordedMicros: 0 }])
    expect(drainServedCalls(state)).toBeNull()
    expect(bufferServedCall(state, call, NOW)).toBeNull()
    expect(drainServedCalls(state)).toMatchObject({ counters: [{ calls: 1 }] })
  })

  it("must be stored from the first millisecond of the next day", () => {
    expect(mustFlushCalls(serving(0), MIDNIGHT)).toBe(false)
    const state = serving(1)
    expect(mustFlushCalls(state, NOW)).toBe(false)
    expect(mustFlushCalls(state, MIDNIGHT - 1)).toBe(false)
    expect(mustFlushCalls(state, MIDNIGHT)).toBe(true)
    drainServedCalls(state)
    expect(mustFlushCalls(state, MIDNIGHT)).toBe(false)
  })

  it("count in the windows that contain their day, while these are current", () => {
    const monday = isoInstant("2026-03-02")
    const pending = (period: "day" | "week" | "month", when: number) => {
      const state = serving(1, limitSet({ ...KEY_LIMIT, period }))
      return readLimits(state, when)[0]?.unrecordedMicros
    }
    expect(pending("day", MIDNIGHT - 1)).toBe(100)
    expect(pending("day", MIDNIGHT)).toBe(0)
    expect(pending("week", monday + 7 * 86_400_000 - 1)).toBe(100)
    expect(pending("week", monday + 7 * 86_400_000)).toBe(0)
    expect(pending("month", isoInstant("2026-04-01") - 1)).toBe(100)
    expect(pending("month", isoInstant("2026-04-01"))).toBe(0)
  })

  it("are no longer in the company's unrecorded sum on the next day", () => {
    const state = serving(1)
    const tomorrow = chargeCommand({ at: MIDNIGHT })
    expect(decideStamped(ledgerDecider, tomorrow, state)).toMatchObject({ unrecordedMicros: 0 })
    expect(decideStamped(ledgerDecider, { ...tomorrow, at: MIDNIGHT - 1 }, state)).toMatchObject({
      unrecordedMicros: 100,
    })
  })

  it("stay when another process's facts arrive", () => {
    const state = serving(1, limitSet({ amountMicros: 300 }))
    ledgerDecider.evolve(state, apiCallsCounted())
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 200, unrecordedMicros: 100 }])
    expect(bufferServedCall(state, call, NOW)).toBeNull()
    expect(bufferServedCall(state, call, NOW)).not.toBeNull()
  })
})

it("counts calls for their own day while no calls of that day are charged, even for day 0", () => {
  const late = { at: 86_400_001, day: 0 }
  given(ledgerDecider).when(recordCallsCommand(late)).records(apiCallsCounted(late))
})

describe("the price of a call", () => {
  const dear = { ...call, unitPriceMicros: 300, priceVersion: 2 }

  it("is that of the day's first buffered call", () => {
    const state = serving(1, limitSet())
    expect(bufferServedCall(state, dear, NOW)).toBeNull()
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 200 }])
    expect(drainServedCalls(state)).toMatchObject({ unitPriceMicros: 100, priceVersion: 1 })
  })

  it("is that of the day's first stored call", () => {
    const state = foldFacts(ledgerDecider, apiCallsCounted(), limitSet())
    expect(bufferServedCall(state, dear, NOW)).toBeNull()
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 200, unrecordedMicros: 100 }])
    expect(drainServedCalls(state)).toMatchObject({ unitPriceMicros: 100, priceVersion: 1 })
  })

  it("decides whether the call fits", () => {
    const state = serving(1, limitSet({ amountMicros: 200 }))
    expect(exceededLimitOfCall(state, dear, NOW)).toBeNull()
    expect(
      exceededLimitOfCall(foldFacts(ledgerDecider, limitSet({ amountMicros: 200 })), dear, NOW),
    ).not.toBeNull()
  })

  it("is a new one on the next day, whatever the previous day's price", () => {
    const state = foldFacts(ledgerDecider, apiCallsCounted(), limitSet())
    expect(bufferServedCall(state, dear, MIDNIGHT)).toBeNull()
    expect(drainServedCalls(state)).toMatchObject({
      day: MIDNIGHT,
      unitPriceMicros: 300,
      priceVersion: 2,
    })
  })
})
