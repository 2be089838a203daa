import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { fold, given, decideStamped } from "../support/spec.ts"
import {
  KEY_LIMIT,
  PERSON_LIMIT,
  at,
  callsOf,
  charge,
  charged,
  counted,
  funded,
  givenBack,
  limitSet,
  monthClosed,
  opened,
  recordCalls,
  reminded,
} from "./ledger-facts.ts"

const ready = [opened(), funded(1_000_000)]
const again = { chargeId: "chg_2" } as const
const limit = limitSet({ remindersMicros: [9_000] })
const limitOf = (...remindersMicros: readonly number[]) => limitSet({ remindersMicros })

describe("a reminder", () => {
  it("follows the charge that reaches it, to the micro", () => {
    given(ledger, ...ready, limit)
      .when(charge())
      .records(charged(), reminded())
    given(ledger, ...ready, limitOf(9_001))
      .when(charge())
      .records(charged())
    given(ledger, ...ready, limitOf(8_999))
      .when(charge())
      .records(charged(), reminded({ reminderMicros: 8_999 }))
  })

  it("is one of several, the smallest first, each once though it is named twice", () => {
    given(ledger, ...ready, limitOf(5, 7_000, 9_001, 5, 9_000))
      .when(charge())
      .records(
        charged(),
        ...[5, 7_000, 9_000].map((reminderMicros) => reminded({ reminderMicros })),
      )
  })

  it("is told once: the next charge reaches the next one", () => {
    const facts = [...ready, limitOf(9_000, 18_000), charged(), reminded()]
    given(ledger, ...facts)
      .when(charge({ ...again, amountMicros: 8_999 }))
      .records(charged({ ...again, amountMicros: 8_999 }))
    given(ledger, ...facts)
      .when(charge(again))
      .records(charged(again), reminded({ reminderMicros: 18_000, usedMicros: 18_000 }))
  })

  it("is told once though what reached it came back", () => {
    given(ledger, ...ready, limit, charged(), reminded(), givenBack())
      .when(charge())
      .records(charged())
  })

  it("is told once though the limit is removed, raised and set again", () => {
    const name = { holder: "company", holderId: null, class: "general" } as const
    const removed: LedgerEvent = { type: "LimitRemoved", at: limit.at, ...name }
    const told = [...ready, limit, charged(), reminded()]
    for (const facts of [
      [...told, removed, limit],
      [...told, limitSet({ amountMicros: 50_000, remindersMicros: [9_000] })],
    ]) {
      given(ledger, ...facts)
        .when(charge(again))
        .records(charged(again))
    }
  })

  it("is told of a limit of another period, for that is another window", () => {
    const weekly = limitSet({ period: "week", remindersMicros: [9_000] })
    const week = { windowStart: at("2026-03-02"), resetsAt: at("2026-03-09") }
    given(ledger, ...ready, limit, charged(), reminded(), weekly)
      .when(charge(again))
      .records(charged(again), reminded({ period: "week", usedMicros: 18_000, ...week }))
    // And back: the month's was told.
    const told = reminded({ period: "week", usedMicros: 18_000, ...week })
    given(ledger, ...ready, limit, charged(), reminded(), weekly, told, limit)
      .when(charge(again))
      .records(charged(again))
  })

  it("that is set below what is used is told by the next charge, were it of nothing", () => {
    const free = { ...again, amountMicros: 0 } as const
    given(ledger, ...ready, charged(), limitOf(8_000))
      .when(charge(free))
      .records(charged(free), reminded({ reminderMicros: 8_000 }))
    given(ledger, ...ready, charged(), limitOf(9_000))
      .when(charge(free))
      .records(charged(free), reminded())
  })

  it("is told anew in the next window, also where no fact came since it began", () => {
    const [last, first] = [at("2026-03-31T23:59:59.999Z"), at("2026-04-01")]
    const facts = [limit, charged({ isPending: false }), reminded()]
    given(ledger, ...facts, funded(1_000_000))
      .when(charge({ ...again, at: last }))
      .records(charged({ ...again, at: last }))
    const april = { at: first, windowStart: first, resetsAt: at("2026-05-01") }
    given(ledger, ...facts, funded(1_000_000))
      .when(charge({ ...again, at: first }))
      .records(charged({ ...again, at: first }), reminded(april))
    given(ledger, ...facts, funded(1_000_000))
      .when(charge({ ...again, at: first, amountMicros: 8_999 }))
      .records(charged({ ...again, at: first, amountMicros: 8_999 }))
    given(ledger, ...facts, { ...funded(1_000_000), at: first })
      .when(charge({ ...again, at: first }))
      .records(charged({ ...again, at: first }), reminded(april))
    given(ledger, ...facts, funded(1_000_000), charged({ at: first }), reminded(april))
      .when(charge({ ...again, at: first }))
      .records(charged({ ...again, at: first }))
  })

  it.each([
    // The windows of one period begin when those of another do: Monday, 1 June 2026 begins all three.
    ["day", "2026-06-01", "2026-06-02"],
    ["day", "2026-06-30", "2026-07-01"],
    ["week", "2026-06-01", "2026-06-08"],
    ["week", "2026-06-29", "2026-07-06"],
    ["month", "2026-06-01", "2026-07-01"],
  ] as const)("of a key's %s is told on %s, and anew on %s", (period, first, next) => {
    const ends = { day: 1, week: 7, month: next === "2026-07-01" ? 31 : 30 }
    const key = { ...KEY_LIMIT, period, remindersMicros: [9_000] }
    const told = (begins: string) => {
      const window = { windowStart: at(begins), resetsAt: at(begins) + ends[period] * 86_400_000 }
      return reminded({ ...KEY_LIMIT, period, at: at(begins), ...window })
    }
    const second = { chargeId: "chg_2", at: at(next) } as const
    const facts = [limitSet({ ...key, at: at(first) }), funded(1_000_000)]
    given(ledger, ...facts, charged({ at: at(first) }), told(first))
      .when(charge(second))
      .records(charged(second), told(next))
    // Also where a fact has begun the next window already.
    const begun = charged({ ...second, chargeId: "chg_3", amountMicros: 1 })
    given(ledger, ...facts, charged({ at: at(first) }), told(first), begun)
      .when(charge({ ...second, amountMicros: 8_999 }))
      .records(charged({ ...second, amountMicros: 8_999 }), told(next))
  })

  it("of a week goes on over the end of a month", () => {
    const weekly = limitSet({ period: "week", remindersMicros: [9_000], at: at("2026-03-30") })
    const week = { windowStart: at("2026-03-30"), resetsAt: at("2026-04-06") }
    const told = reminded({ period: "week", at: at("2026-03-31"), ...week })
    const first = { ...again, at: at("2026-04-01") }
    given(ledger, funded(1_000_000), weekly, charged({ at: at("2026-03-31") }), told)
      .when(charge(first))
      .records(charged(first))
  })

  it("is told of each limit that the charge touches: key, person, company", () => {
    const [company, person, key] = [
      limit,
      limitSet({ ...PERSON_LIMIT, remindersMicros: [1] }),
      limitSet({ ...KEY_LIMIT, period: "day", remindersMicros: [2] }),
    ]
    const day = { windowStart: at("2026-03-02"), resetsAt: at("2026-03-03") }
    given(ledger, ...ready, company, person, key)
      .when(charge())
      .records(
        charged(),
        reminded({ ...KEY_LIMIT, period: "day", reminderMicros: 2, ...day }),
        reminded({ ...PERSON_LIMIT, reminderMicros: 1 }),
        reminded(),
      )
  })

  it("of one person is not that of another with a limit like it", () => {
    const second = { chargeId: "chg_2", keyId: "key_2", personId: "per_2" } as const
    const people = (["per_1", "per_2"] as const).map((holderId) =>
      limitSet({ ...PERSON_LIMIT, holderId, remindersMicros: [9_000] }),
    )
    given(ledger, ...ready, ...people, charged(), reminded(PERSON_LIMIT))
      .when(charge(second))
      .records(charged(second), reminded({ ...PERSON_LIMIT, holderId: "per_2" }))
  })

  it("is not told of limits that the charge does not touch, nor of a refused charge", () => {
    const others = [
      limitSet({ class: "ai", remindersMicros: [1] }),
      limitSet({ ...PERSON_LIMIT, holderId: "per_2", remindersMicros: [1] }),
      limitSet({ ...PERSON_LIMIT, leaveKeysOut: true, remindersMicros: [1] }),
    ]
    given(ledger, ...ready, ...others)
      .when(charge())
      .records(charged())
    given(ledger, opened(), limit).when(charge()).refuses("payment_required")
  })

  it("follows the closing of the month that leads its charge", () => {
    const first = at("2026-04-01")
    const sums = { openingMicros: 0, addedMicros: 1_000_000, fundsMicros: 1_000_000 }
    given(ledger, ...ready, limit)
      .when(charge({ at: first }))
      .records(
        monthClosed({ ...sums, headRevision: 2 }),
        charged({ at: first }),
        reminded({ at: first, windowStart: first, resetsAt: at("2026-05-01") }),
      )
  })
})

describe("a reminder that calls reach", () => {
  const general = limitSet({ remindersMicros: [200] })
  const told = reminded({ reminderMicros: 200, usedMicros: 200 })

  it("is told when they are recorded, to the micro", () => {
    const two = { counters: [callsOf(2)] }
    given(ledger, general).when(recordCalls()).records(counted())
    given(ledger, general).when(recordCalls(two)).records(counted(two), told)
    given(ledger, general, counted()).when(recordCalls()).records(counted(), told)
    given(ledger, general, counted(two), told).when(recordCalls(two)).records(counted(two))
  })

  it("is told once for all of them, in the order in which they come to their limits", () => {
    const key2 = { ...callsOf(1), keyId: "key_2", personId: "per_2" } as const
    const tallies = [key2, callsOf(2)]
    const limits = [
      general,
      limitSet({ ...KEY_LIMIT, remindersMicros: [200] }),
      limitSet({ ...PERSON_LIMIT, remindersMicros: [100] }),
    ]
    given(ledger, ...limits)
      .when(recordCalls({ counters: tallies }))
      .records(
        counted({ counters: tallies }),
        reminded({ reminderMicros: 200, usedMicros: 300 }),
        reminded({ ...KEY_LIMIT, reminderMicros: 200, usedMicros: 200 }),
        reminded({ ...PERSON_LIMIT, reminderMicros: 100, usedMicros: 200 }),
      )
  })

  it("is not told in windows that began after the day of the calls", () => {
    const night = at("2026-03-03")
    const daily = limitSet({ ...KEY_LIMIT, period: "day", remindersMicros: [100] })
    given(ledger, daily)
      .when(recordCalls({ at: night }))
      .records(counted({ at: night }))
    given(ledger, daily)
      .when(recordCalls({ at: night - 1 }))
      .records(
        counted({ at: night - 1 }),
        reminded({
          ...KEY_LIMIT,
          at: night - 1,
          period: "day",
          reminderMicros: 100,
          usedMicros: 100,
          windowStart: at("2026-03-02"),
          resetsAt: night,
        }),
      )
  })

  it("is not told again by the night's charge of them", () => {
    const facts = [...ready, general, counted({ counters: [callsOf(2)] })]
    const answer = decideStamped(
      ledger,
      { type: "ChargeCalls", at: at("2026-03-03"), most: 10 },
      fold(ledger, ...facts),
    )
    expect(answer).toMatchObject([{ type: "Charged", isAlreadyCounted: true }])
  })
})
