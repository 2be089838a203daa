import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { accountOf, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { fold, given } from "../support/spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  at,
  callsOf,
  charged,
  counted,
  funded,
  limitSet,
  monthClosed,
  nightly,
  opened,
  recordCalls,
} from "./ledger-facts.ts"

const MIDNIGHT = at("2026-03-03")
const DAY_MS = 86_400_000

describe("RecordCalls", () => {
  it("counts calls for their day, and they weigh in the limits", () => {
    const three = { counters: [callsOf(3)] }
    given(ledger, limitSet()).when(recordCalls(three)).records(counted(three))
    const limits = [limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT)]
    const state = fold(ledger, opened(), ...limits, counted(three))
    expect(readLimits(state, NOW).map(({ usedMicros }) => usedMicros)).toEqual([300, 300, 300])
    expect(accountOf(state).fundsMicros).toBe(0)
  })

  it("weighs each tally on its own key and person", () => {
    const other = { via: "app_key", keyId: "key_app", personId: null, calls: 2 } as const
    const state = fold(
      ledger,
      limitSet(),
      limitSet(KEY_LIMIT),
      limitSet({ ...KEY_LIMIT, holderId: "key_app" }),
      counted({ counters: [callsOf(1), other] }),
    )
    expect(readLimits(state, NOW).map(({ usedMicros }) => usedMicros)).toEqual([300, 100, 200])
  })

  it("records nothing for no calls", () => {
    given(ledger)
      .when(recordCalls({ counters: [] }))
      .recordsNothing()
  })

  it.each([0, -1, 0.5, Number.NaN, Infinity])("is refused for %d calls", (calls) => {
    given(ledger)
      .when(recordCalls({ counters: [callsOf(1), callsOf(calls)] }))
      .refuses("bad_calls")
  })

  it("is refused at a price below zero, or where it could not be multiplied out", () => {
    given(ledger)
      .when(recordCalls({ unitPriceMicros: -1 }))
      .refuses("bad_calls")
    given(ledger)
      .when(recordCalls({ unitPriceMicros: MAX_MICROS, counters: [callsOf(2)] }))
      .refuses("bad_calls")
    const most = { unitPriceMicros: MAX_MICROS }
    given(ledger).when(recordCalls(most)).records(counted(most))
    given(ledger)
      .when(recordCalls({ unitPriceMicros: 0 }))
      .records(counted({ unitPriceMicros: 0 }))
  })

  it("passes no limit unless others recorded meanwhile, and says so then", () => {
    const limit = limitSet({ amountMicros: 200 })
    given(ledger, limit, counted()).when(recordCalls()).records(counted())
    given(ledger, limit, counted(), counted())
      .when(recordCalls())
      .records(counted({ exemption: "limits" }))
    const key = limitSet({ ...KEY_LIMIT, amountMicros: 99 })
    given(ledger, limit, key)
      .when(recordCalls())
      .records(counted({ exemption: "limits" }))
    given(ledger, limit, limitSet({ ...KEY_LIMIT, holderId: "key_2", amountMicros: 0 }))
      .when(recordCalls())
      .records(counted())
  })

  it("passes no limit whose window began after the day of the calls", () => {
    const daily = limitSet({ ...KEY_LIMIT, period: "day", amountMicros: 0 })
    given(ledger, daily)
      .when(recordCalls({ at: MIDNIGHT }))
      .records(counted({ at: MIDNIGHT }))
    given(ledger, daily)
      .when(recordCalls({ at: MIDNIGHT - 1 }))
      .records(counted({ at: MIDNIGHT - 1, exemption: "limits" }))
  })

  it("takes the price of the calls that are counted for the day already", () => {
    given(ledger, counted())
      .when(recordCalls({ unitPriceMicros: 300, priceVersion: 2 }))
      .records(counted())
    given(ledger, counted({ day: at("2026-03-01") }))
      .when(recordCalls({ unitPriceMicros: 300, priceVersion: 2 }))
      .records(counted({ unitPriceMicros: 300, priceVersion: 2 }))
  })

  it("counts for the day on which it is recorded what came after its own day was charged", () => {
    const late = { at: MIDNIGHT + 5 }
    given(ledger, counted(), nightly())
      .when(recordCalls(late))
      .records(counted({ ...late, day: MIDNIGHT }))
    given(ledger, counted(), nightly())
      .when(recordCalls({ ...late, day: at("2026-03-01") }))
      .records(counted({ ...late, day: MIDNIGHT }))
    given(ledger, counted()).when(recordCalls(late)).records(counted(late))
  })

  it("weighs in those windows of its day that are current, however late it is recorded", () => {
    // 31 March 2026 is a Tuesday: its week goes on over the end of the month.
    const [day, next] = [at("2026-03-31"), at("2026-04-01")]
    const used = (when: number) =>
      (["day", "week", "month"] as const).map((period) => {
        const limit = limitSet({ ...KEY_LIMIT, period, at: when })
        return readLimits(fold(ledger, counted({ at: when, day }), limit), when)[0]?.usedMicros
      })
    expect(used(next - 1)).toEqual([100, 100, 100])
    expect(used(next)).toEqual([0, 100, 0])
    expect(used(at("2026-04-06"))).toEqual([0, 0, 0])
  })

  it("passes on a locked account and a closed ledger: the calls were served", () => {
    for (const type of ["AccountLocked", "LedgerClosed"] as const) {
      given(ledger, { type, at: NOW }).when(recordCalls()).records(counted())
    }
  })
})

describe("ChargeCalls", () => {
  const charge = { type: "ChargeCalls", at: MIDNIGHT, most: 1_000 } as const

  it("charges a day's calls once it is over", () => {
    given(ledger, counted())
      .when({ ...charge, at: MIDNIGHT - 1 })
      .recordsNothing()
    given(ledger, counted(), counted({ counters: [callsOf(2)] }))
      .when(charge)
      .records(nightly({ quantity: 3, amountMicros: 300 }))
  })

  it("charges once, and what is counted later on another day", () => {
    given(ledger, counted(), nightly()).when(charge).recordsNothing()
    given(ledger).when(charge).recordsNothing()
    const late = counted({ at: MIDNIGHT, day: MIDNIGHT })
    given(ledger, counted(), nightly(), late)
      .when({ ...charge, at: MIDNIGHT + DAY_MS })
      .records(
        nightly({
          at: MIDNIGHT + DAY_MS,
          chargeId: "key_1:per_1:2026-03-03",
          requestedAt: MIDNIGHT + DAY_MS,
          dueAt: MIDNIGHT + DAY_MS,
          servedFrom: MIDNIGHT,
        }),
      )
  })

  it("charges three nights at once, the oldest first, each for its key and person", () => {
    const [sunday, monday] = [at("2026-03-01"), at("2026-03-02")]
    const app = { via: "app_key", keyId: "key_app", personId: null, calls: 7 } as const
    const facts = [
      counted({ day: monday, counters: [callsOf(2)] }),
      counted({ day: sunday, unitPriceMicros: 50, priceVersion: 3, counters: [app, callsOf(1)] }),
    ]
    const when = { at: MIDNIGHT, requestedAt: MIDNIGHT }
    const ofSunday = { ...when, unitPriceMicros: 50, priceVersion: 3, dueAt: monday }
    given(ledger, ...facts)
      .when(charge)
      .records(
        nightly({
          ...ofSunday,
          chargeId: "key_app:-:2026-03-01",
          via: "app_key",
          keyId: "key_app",
          personId: null,
          quantity: 7,
          amountMicros: 350,
          servedFrom: sunday,
        }),
        nightly({
          ...ofSunday,
          chargeId: "key_1:per_1:2026-03-01",
          amountMicros: 50,
          servedFrom: sunday,
        }),
        nightly({ ...when, quantity: 2, amountMicros: 200 }),
      )
  })

  it("charges no more at once than it is asked to: the rest is for the next time", () => {
    const two = { ...callsOf(1), keyId: "key_2" } as const
    const first = nightly()
    const second = nightly({ chargeId: "key_2:per_1:2026-03-02", keyId: "key_2" })
    const facts = [counted({ counters: [callsOf(1), two] })]
    given(ledger, ...facts)
      .when({ ...charge, most: 1 })
      .records(first)
    given(ledger, ...facts, first)
      .when({ ...charge, most: 1 })
      .records(second)
    given(ledger, ...facts)
      .when({ ...charge, most: 2 })
      .records(first, second)
    given(ledger, ...facts)
      .when({ ...charge, most: 0 })
      .recordsNothing()
  })

  it("lowers the funds, also below zero, and touches no window again", () => {
    const state = fold(ledger, limitSet(), counted(), nightly())
    expect(accountOf(state).fundsMicros).toBe(-100)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 100 }])
  })

  it("asks no limit, no lock and no closing: the calls were served", () => {
    const facts: readonly LedgerEvent[] = [
      counted(),
      limitSet({ amountMicros: 0 }),
      { type: "AccountLocked", at: NOW },
      { type: "LedgerClosed", at: NOW },
    ]
    given(ledger, ...facts)
      .when(charge)
      .records(nightly())
  })

  it("charges calls that cost nothing, so that the bill shows them", () => {
    given(ledger, counted({ unitPriceMicros: 0 }))
      .when(charge)
      .records(nightly({ unitPriceMicros: 0, amountMicros: 0 }))
  })

  it("is led by the closing of the month to whose last day the calls belong", () => {
    const [day, first] = [at("2026-03-31"), at("2026-04-01")]
    given(ledger, opened(), funded(500), counted({ at: day, day }))
      .when({ ...charge, at: first })
      .records(
        monthClosed({ addedMicros: 500, fundsMicros: 500, headRevision: 2 }),
        nightly({
          at: first,
          chargeId: "key_1:per_1:2026-03-31",
          requestedAt: first,
          dueAt: first,
          servedFrom: day,
        }),
      )
  })

  it("leaves to the next time what could not be added exactly, and charges the rest", () => {
    const dear = counted({
      unitPriceMicros: 6_000_000_000_000_000,
      counters: [callsOf(1), { ...callsOf(1), keyId: "key_2" }],
    })
    const first = nightly({ unitPriceMicros: 6e15, amountMicros: 6e15 })
    given(ledger, dear).when(charge).records(first)
    given(ledger, dear, first, funded(MAX_MICROS))
      .when(charge)
      .records({ ...first, chargeId: "key_2:per_1:2026-03-02", keyId: "key_2" })
    // The month's sum stands against it as well as the funds do.
    given(ledger, opened(), funded(MAX_MICROS), dear).when(charge).records(first)
    const small = counted({ day: at("2026-03-01"), counters: [callsOf(1)] })
    const debt = charged({ amountMicros: MAX_MICROS - 100, exemption: "funds", isPending: false })
    given(ledger, debt, { ...dear, unitPriceMicros: 101, counters: [callsOf(1)] }, small)
      .when(charge)
      .records(
        nightly({
          chargeId: "key_1:per_1:2026-03-01",
          dueAt: at("2026-03-02"),
          servedFrom: at("2026-03-01"),
        }),
      )
  })
})
