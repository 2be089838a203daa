import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  callCounter,
  charged,
  apiCallsCounted,
  fundsAdded,
  limitSet,
  monthClosed,
  dailyCallsCharge,
  ledgerOpened,
  recordCallsCommand,
} from "./ledger-facts.ts"

const MIDNIGHT = isoInstant("2026-03-03")
const DAY_MS = 86_400_000

describe("RecordApiCalls", () => {
  it("counts calls for their day and in the limits", () => {
    const three = { counters: [callCounter(3)] }
    given(ledgerDecider, limitSet()).when(recordCallsCommand(three)).records(apiCallsCounted(three))
    const limits = [limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT)]
    const state = foldFacts(ledgerDecider, ledgerOpened(), ...limits, apiCallsCounted(three))
    expect(readLimits(state, NOW).map(({ usedMicros }) => usedMicros)).toEqual([300, 300, 300])
    expect(accountOf(state).fundsMicros).toBe(0)
  })

  it("counts each counter for its own key and person", () => {
    const other = { via: "app_key", keyId: "key_app", personId: null, calls: 2 } as const
    const state = foldFacts(
      ledgerDecider,
      limitSet(),
      limitSet(KEY_LIMIT),
      limitSet({ ...KEY_LIMIT, holderId: "key_app" }),
      apiCallsCounted({ counters: [callCounter(1), other] }),
    )
    expect(readLimits(state, NOW).map(({ usedMicros }) => usedMicros)).toEqual([300, 100, 200])
  })

  it("records nothing without calls", () => {
    given(ledgerDecider)
      .when(recordCallsCommand({ counters: [] }))
      .recordsNothing()
  })

  it.each([0, -1, 0.5, Number.NaN, Infinity])("is rejected for %d calls", (calls) => {
    given(ledgerDecider)
      .when(recordCallsCommand({ counters: [callCounter(1), callCounter(calls)] }))
      .refuses("bad_calls")
  })

  it("is rejected for a price below zero, or if its amount would not be exact", () => {
    given(ledgerDecider)
      .when(recordCallsCommand({ unitPriceMicros: -1 }))
      .refuses("bad_calls")
    given(ledgerDecider)
      .when(recordCallsCommand({ unitPriceMicros: MAX_MICROS, counters: [callCounter(2)] }))
      .refuses("bad_calls")
    const most = { unitPriceMicros: MAX_MICROS }
    given(ledgerDecider).when(recordCallsCommand(most)).records(apiCallsCounted(most))
    given(ledgerDecider)
      .when(recordCallsCommand({ unitPriceMicros: 0 }))
      .records(apiCallsCounted({ unitPriceMicros: 0 }))
  })

  it("is marked as exempt only if its calls exceed a limit", () => {
    const limit = limitSet({ amountMicros: 200 })
    given(ledgerDecider, limit, apiCallsCounted())
      .when(recordCallsCommand())
      .records(apiCallsCounted())
    given(ledgerDecider, limit, apiCallsCounted(), apiCallsCounted())
      .when(recordCallsCommand())
      .records(apiCallsCounted({ exemption: "limits" }))
    const key = limitSet({ ...KEY_LIMIT, amountMicros: 99 })
    given(ledgerDecider, limit, key)
      .when(recordCallsCommand())
      .records(apiCallsCounted({ exemption: "limits" }))
    given(ledgerDecider, limit, limitSet({ ...KEY_LIMIT, holderId: "key_2", amountMicros: 0 }))
      .when(recordCallsCommand())
      .records(apiCallsCounted())
  })

  it("ignores limits whose window began after the day of the calls", () => {
    const daily = limitSet({ ...KEY_LIMIT, period: "day", amountMicros: 0 })
    given(ledgerDecider, daily)
      .when(recordCallsCommand({ at: MIDNIGHT }))
      .records(apiCallsCounted({ at: MIDNIGHT }))
    given(ledgerDecider, daily)
      .when(recordCallsCommand({ at: MIDNIGHT - 1 }))
      .records(apiCallsCounted({ at: MIDNIGHT - 1, exemption: "limits" }))
  })

  it("uses the price of the calls that are already counted for the day", () => {
    given(ledgerDecider, apiCallsCounted())
      .when(recordCallsCommand({ unitPriceMicros: 300, priceVersion: 2 }))
      .records(apiCallsCounted())
    given(ledgerDecider, apiCallsCounted({ day: isoInstant("2026-03-01") }))
      .when(recordCallsCommand({ unitPriceMicros: 300, priceVersion: 2 }))
      .records(apiCallsCounted({ unitPriceMicros: 300, priceVersion: 2 }))
  })

  it("counts calls for the current day if their own day is already charged", () => {
    const late = { at: MIDNIGHT + 5 }
    given(ledgerDecider, apiCallsCounted(), dailyCallsCharge())
      .when(recordCallsCommand(late))
      .records(apiCallsCounted({ ...late, day: MIDNIGHT }))
    given(ledgerDecider, apiCallsCounted(), dailyCallsCharge())
      .when(recordCallsCommand({ ...late, day: isoInstant("2026-03-01") }))
      .records(apiCallsCounted({ ...late, day: MIDNIGHT }))
    given(ledgerDecider, apiCallsCounted())
      .when(recordCallsCommand(late))
      .records(apiCallsCounted(late))
  })

  it("counts in the windows of its day that are current, however late it is stored", () => {
    // 31 March 2026 is a Tuesday: its week crosses the end of the month.
    const [day, next] = [isoInstant("2026-03-31"), isoInstant("2026-04-01")]
    const used = (when: number) =>
      (["day", "week", "month"] as const).map((period) => {
        const limit = limitSet({ ...KEY_LIMIT, period, at: when })
        return readLimits(
          foldFacts(ledgerDecider, apiCallsCounted({ at: when, day }), limit),
          when,
        )[0]?.usedMicros
      })
    expect(used(next - 1)).toEqual([100, 100, 100])
    expect(used(next)).toEqual([0, 100, 0])
    expect(used(isoInstant("2026-04-06"))).toEqual([0, 0, 0])
  })

  it("is accepted for a locked account and a closed ledger, because the calls were served", () => {
    for (const type of ["AccountLocked", "LedgerClosed"] as const) {
      given(ledgerDecider, { type, at: NOW }).when(recordCallsCommand()).records(apiCallsCounted())
    }
  })
})

describe("ChargeApiCalls", () => {
  const charge = { type: "ChargeApiCalls", at: MIDNIGHT, maxCharges: 1_000 } as const

  it("charges a day's calls once it is over", () => {
    given(ledgerDecider, apiCallsCounted())
      .when({ ...charge, at: MIDNIGHT - 1 })
      .recordsNothing()
    given(ledgerDecider, apiCallsCounted(), apiCallsCounted({ counters: [callCounter(2)] }))
      .when(charge)
      .records(dailyCallsCharge({ quantity: 3, amountMicros: 300 }))
  })

  it("charges once, and later calls on another day", () => {
    given(ledgerDecider, apiCallsCounted(), dailyCallsCharge()).when(charge).recordsNothing()
    given(ledgerDecider).when(charge).recordsNothing()
    const late = apiCallsCounted({ at: MIDNIGHT, day: MIDNIGHT })
    given(ledgerDecider, apiCallsCounted(), dailyCallsCharge(), late)
      .when({ ...charge, at: MIDNIGHT + DAY_MS })
      .records(
        dailyCallsCharge({
          at: MIDNIGHT + DAY_MS,
          chargeId: "key_1:per_1:2026-03-03",
          requestedAt: MIDNIGHT + DAY_MS,
          dueAt: MIDNIGHT + DAY_MS,
          servedFrom: MIDNIGHT,
        }),
      )
  })

  it("charges several days together, the oldest first, for each key and person", () => {
    const [sunday, monday] = [isoInstant("2026-03-01"), isoInstant("2026-03-02")]
    const app = { via: "app_key", keyId: "key_app", personId: null, calls: 7 } as const
    const facts = [
      apiCallsCounted({ day: monday, counters: [callCounter(2)] }),
      apiCallsCounted({
        day: sunday,
        unitPriceMicros: 50,
        priceVersion: 3,
        counters: [app, callCounter(1)],
      }),
    ]
    const when = { at: MIDNIGHT, requestedAt: MIDNIGHT }
    const ofSunday = { ...when, unitPriceMicros: 50, priceVersion: 3, dueAt: monday }
    given(ledgerDecider, ...facts)
      .when(charge)
      .records(
        dailyCallsCharge({
          ...ofSunday,
          chargeId: "key_app:-:2026-03-01",
          via: "app_key",
          keyId: "key_app",
          personId: null,
          quantity: 7,
          amountMicros: 350,
          servedFrom: sunday,
        }),
        dailyCallsCharge({
          ...ofSunday,
          chargeId: "key_1:per_1:2026-03-01",
          amountMicros: 50,
          servedFrom: sunday,
        }),
        dailyCallsCharge({ ...when, quantity: 2, amountMicros: 200 }),
      )
  })

  it("makes at most maxCharges charges, and leaves the rest for the next time", () => {
    const two = { ...callCounter(1), keyId: "key_2" } as const
    const first = dailyCallsCharge()
    const second = dailyCallsCharge({ chargeId: "key_2:per_1:2026-03-02", keyId: "key_2" })
    const facts = [apiCallsCounted({ counters: [callCounter(1), two] })]
    given(ledgerDecider, ...facts)
      .when({ ...charge, maxCharges: 1 })
      .records(first)
    given(ledgerDecider, ...facts, first)
      .when({ ...charge, maxCharges: 1 })
      .records(second)
    given(ledgerDecider, ...facts)
      .when({ ...charge, maxCharges: 2 })
      .records(first, second)
    given(ledgerDecider, ...facts)
      .when({ ...charge, maxCharges: 0 })
      .recordsNothing()
  })

  it("lowers the funds, even below zero, and counts in no window again", () => {
    const state = foldFacts(ledgerDecider, limitSet(), apiCallsCounted(), dailyCallsCharge())
    expect(accountOf(state).fundsMicros).toBe(-100)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 100 }])
  })

  it("ignores limits, locks and deletion, because the calls were served", () => {
    const facts: readonly LedgerEvent[] = [
      apiCallsCounted(),
      limitSet({ amountMicros: 0 }),
      { type: "AccountLocked", at: NOW },
      { type: "LedgerClosed", at: NOW },
    ]
    given(ledgerDecider, ...facts)
      .when(charge)
      .records(dailyCallsCharge())
  })

  it("charges calls with a price of zero, so that the bill shows them", () => {
    given(ledgerDecider, apiCallsCounted({ unitPriceMicros: 0 }))
      .when(charge)
      .records(dailyCallsCharge({ unitPriceMicros: 0, amountMicros: 0 }))
  })

  it("follows the closing of the month whose last day the calls belong to", () => {
    const [day, first] = [isoInstant("2026-03-31"), isoInstant("2026-04-01")]
    given(ledgerDecider, ledgerOpened(), fundsAdded(500), apiCallsCounted({ at: day, day }))
      .when({ ...charge, at: first })
      .records(
        monthClosed({ addedMicros: 500, fundsMicros: 500, headRevision: 2 }),
        dailyCallsCharge({
          at: first,
          chargeId: "key_1:per_1:2026-03-31",
          requestedAt: first,
          dueAt: first,
          servedFrom: day,
        }),
      )
  })

  it("charges the calls whose sum stays exact, and leaves the others for the next time", () => {
    const dear = apiCallsCounted({
      unitPriceMicros: 6_000_000_000_000_000,
      counters: [callCounter(1), { ...callCounter(1), keyId: "key_2" }],
    })
    const first = dailyCallsCharge({ unitPriceMicros: 6e15, amountMicros: 6e15 })
    given(ledgerDecider, dear).when(charge).records(first)
    given(ledgerDecider, dear, first, fundsAdded(MAX_MICROS))
      .when(charge)
      .records({ ...first, chargeId: "key_2:per_1:2026-03-02", keyId: "key_2" })
    // The month's total allows as little as the funds do.
    given(ledgerDecider, ledgerOpened(), fundsAdded(MAX_MICROS), dear).when(charge).records(first)
    const small = apiCallsCounted({ day: isoInstant("2026-03-01"), counters: [callCounter(1)] })
    const debt = charged({ amountMicros: MAX_MICROS - 100, exemption: "funds", isPending: false })
    given(ledgerDecider, debt, { ...dear, unitPriceMicros: 101, counters: [callCounter(1)] }, small)
      .when(charge)
      .records(
        dailyCallsCharge({
          chargeId: "key_1:per_1:2026-03-01",
          dueAt: isoInstant("2026-03-02"),
          servedFrom: isoInstant("2026-03-01"),
        }),
      )
  })
})
