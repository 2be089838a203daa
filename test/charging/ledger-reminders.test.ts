import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { foldFacts, given, decideStamped } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  PERSON_LIMIT,
  isoInstant,
  callCounter,
  chargeCommand,
  charged,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  monthClosed,
  ledgerOpened,
  recordCallsCommand,
  reminderReached,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]
const again = { chargeId: "chg_2" } as const
const limit = limitSet({ remindersMicros: [9_000] })
const limitOf = (...remindersMicros: readonly number[]) => limitSet({ remindersMicros })

describe("a reminder", () => {
  it("follows the charge that reaches it, to the micro", () => {
    given(ledgerDecider, ...ready, limit)
      .when(chargeCommand())
      .records(charged(), reminderReached())
    given(ledgerDecider, ...ready, limitOf(9_001))
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, ...ready, limitOf(8_999))
      .when(chargeCommand())
      .records(charged(), reminderReached({ reminderMicros: 8_999 }))
  })

  it("is one of several, the smallest first, each once even if it is listed twice", () => {
    given(ledgerDecider, ...ready, limitOf(5, 7_000, 9_001, 5, 9_000))
      .when(chargeCommand())
      .records(
        charged(),
        ...[5, 7_000, 9_000].map((reminderMicros) => reminderReached({ reminderMicros })),
      )
  })

  it("is sent once: the next charge reaches the next reminder", () => {
    const facts = [...ready, limitOf(9_000, 18_000), charged(), reminderReached()]
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...again, amountMicros: 8_999 }))
      .records(charged({ ...again, amountMicros: 8_999 }))
    given(ledgerDecider, ...facts)
      .when(chargeCommand(again))
      .records(charged(again), reminderReached({ reminderMicros: 18_000, usedMicros: 18_000 }))
  })

  it("is sent once, even if the charge that reached it is refunded", () => {
    given(ledgerDecider, ...ready, limit, charged(), reminderReached(), chargeReduced())
      .when(chargeCommand())
      .records(charged())
  })

  it("is sent once, even if the limit is removed, raised and set again", () => {
    const name = { holder: "company", holderId: null, class: "general" } as const
    const removed: LedgerEvent = { type: "LimitRemoved", at: limit.at, ...name }
    const reminded = [...ready, limit, charged(), reminderReached()]
    for (const facts of [
      [...reminded, removed, limit],
      [...reminded, limitSet({ amountMicros: 50_000, remindersMicros: [9_000] })],
    ]) {
      given(ledgerDecider, ...facts)
        .when(chargeCommand(again))
        .records(charged(again))
    }
  })

  it("is sent for a limit with another period, which has another window", () => {
    const weekly = limitSet({ period: "week", remindersMicros: [9_000] })
    const week = { windowStart: isoInstant("2026-03-02"), resetsAt: isoInstant("2026-03-09") }
    given(ledgerDecider, ...ready, limit, charged(), reminderReached(), weekly)
      .when(chargeCommand(again))
      .records(charged(again), reminderReached({ period: "week", usedMicros: 18_000, ...week }))
    // Back to the month: its reminder was already sent.
    const sent = reminderReached({ period: "week", usedMicros: 18_000, ...week })
    given(ledgerDecider, ...ready, limit, charged(), reminderReached(), weekly, sent, limit)
      .when(chargeCommand(again))
      .records(charged(again))
  })

  it("below the used amount is sent with the next charge, even if that is zero", () => {
    const free = { ...again, amountMicros: 0 } as const
    given(ledgerDecider, ...ready, charged(), limitOf(8_000))
      .when(chargeCommand(free))
      .records(charged(free), reminderReached({ reminderMicros: 8_000 }))
    given(ledgerDecider, ...ready, charged(), limitOf(9_000))
      .when(chargeCommand(free))
      .records(charged(free), reminderReached())
  })

  it("is sent again in the next window, even if no fact came since it began", () => {
    const [last, first] = [isoInstant("2026-03-31T23:59:59.999Z"), isoInstant("2026-04-01")]
    const facts = [limit, charged({ isPending: false }), reminderReached()]
    given(ledgerDecider, ...facts, fundsAdded(1_000_000))
      .when(chargeCommand({ ...again, at: last }))
      .records(charged({ ...again, at: last }))
    const april = { at: first, windowStart: first, resetsAt: isoInstant("2026-05-01") }
    given(ledgerDecider, ...facts, fundsAdded(1_000_000))
      .when(chargeCommand({ ...again, at: first }))
      .records(charged({ ...again, at: first }), reminderReached(april))
    given(ledgerDecider, ...facts, fundsAdded(1_000_000))
      .when(chargeCommand({ ...again, at: first, amountMicros: 8_999 }))
      .records(charged({ ...again, at: first, amountMicros: 8_999 }))
    given(ledgerDecider, ...facts, { ...fundsAdded(1_000_000), at: first })
      .when(chargeCommand({ ...again, at: first }))
      .records(charged({ ...again, at: first }), reminderReached(april))
    given(
      ledgerDecider,
      ...facts,
      fundsAdded(1_000_000),
      charged({ at: first }),
      reminderReached(april),
    )
      .when(chargeCommand({ ...again, at: first }))
      .records(charged({ ...again, at: first }))
  })

  it.each([
    // Windows of different periods can begin together: Monday, 1 June 2026 begins all three.
    ["day", "2026-06-01", "2026-06-02"],
    ["day", "2026-06-30", "2026-07-01"],
    ["week", "2026-06-01", "2026-06-08"],
    ["week", "2026-06-29", "2026-07-06"],
    ["month", "2026-06-01", "2026-07-01"],
  ] as const)("of a key's %s is sent on %s, and again on %s", (period, first, next) => {
    const ends = { day: 1, week: 7, month: next === "2026-07-01" ? 31 : 30 }
    const key = { ...KEY_LIMIT, period, remindersMicros: [9_000] }
    const sentOn = (begins: string) => {
      const window = {
        windowStart: isoInstant(begins),
        resetsAt: isoInstant(begins) + ends[period] * 86_400_000,
      }
      return reminderReached({ ...KEY_LIMIT, period, at: isoInstant(begins), ...window })
    }
    const second = { chargeId: "chg_2", at: isoInstant(next) } as const
    const facts = [limitSet({ ...key, at: isoInstant(first) }), fundsAdded(1_000_000)]
    given(ledgerDecider, ...facts, charged({ at: isoInstant(first) }), sentOn(first))
      .when(chargeCommand(second))
      .records(charged(second), sentOn(next))
    // The same if a fact has already begun the next window.
    const begun = charged({ ...second, chargeId: "chg_3", amountMicros: 1 })
    given(ledgerDecider, ...facts, charged({ at: isoInstant(first) }), sentOn(first), begun)
      .when(chargeCommand({ ...second, amountMicros: 8_999 }))
      .records(charged({ ...second, amountMicros: 8_999 }), sentOn(next))
  })

  it("of a week stays sent across the end of a month", () => {
    const weekly = limitSet({
      period: "week",
      remindersMicros: [9_000],
      at: isoInstant("2026-03-30"),
    })
    const week = { windowStart: isoInstant("2026-03-30"), resetsAt: isoInstant("2026-04-06") }
    const sent = reminderReached({ period: "week", at: isoInstant("2026-03-31"), ...week })
    const first = { ...again, at: isoInstant("2026-04-01") }
    given(
      ledgerDecider,
      fundsAdded(1_000_000),
      weekly,
      charged({ at: isoInstant("2026-03-31") }),
      sent,
    )
      .when(chargeCommand(first))
      .records(charged(first))
  })

  it("is sent for every limit that the charge counts in: key, person, company", () => {
    const [company, person, key] = [
      limit,
      limitSet({ ...PERSON_LIMIT, remindersMicros: [1] }),
      limitSet({ ...KEY_LIMIT, period: "day", remindersMicros: [2] }),
    ]
    const day = { windowStart: isoInstant("2026-03-02"), resetsAt: isoInstant("2026-03-03") }
    given(ledgerDecider, ...ready, company, person, key)
      .when(chargeCommand())
      .records(
        charged(),
        reminderReached({ ...KEY_LIMIT, period: "day", reminderMicros: 2, ...day }),
        reminderReached({ ...PERSON_LIMIT, reminderMicros: 1 }),
        reminderReached(),
      )
  })

  it("of one person differs from that of another with the same limit", () => {
    const second = { chargeId: "chg_2", keyId: "key_2", personId: "per_2" } as const
    const people = (["per_1", "per_2"] as const).map((holderId) =>
      limitSet({ ...PERSON_LIMIT, holderId, remindersMicros: [9_000] }),
    )
    given(ledgerDecider, ...ready, ...people, charged(), reminderReached(PERSON_LIMIT))
      .when(chargeCommand(second))
      .records(charged(second), reminderReached({ ...PERSON_LIMIT, holderId: "per_2" }))
  })

  it("is not sent for limits that the charge does not count in, or for a refused charge", () => {
    const others = [
      limitSet({ class: "ai", remindersMicros: [1] }),
      limitSet({ ...PERSON_LIMIT, holderId: "per_2", remindersMicros: [1] }),
      limitSet({ ...PERSON_LIMIT, leaveKeysOut: true, remindersMicros: [1] }),
    ]
    given(ledgerDecider, ...ready, ...others)
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, ledgerOpened(), limit).when(chargeCommand()).refuses("payment_required")
  })

  it("follows the month's closing that comes before its charge", () => {
    const first = isoInstant("2026-04-01")
    const sums = { openingMicros: 0, addedMicros: 1_000_000, fundsMicros: 1_000_000 }
    given(ledgerDecider, ...ready, limit)
      .when(chargeCommand({ at: first }))
      .records(
        monthClosed({ ...sums, headRevision: 2 }),
        charged({ at: first }),
        reminderReached({ at: first, windowStart: first, resetsAt: isoInstant("2026-05-01") }),
      )
  })
})

describe("a reminder reached by calls", () => {
  const general = limitSet({ remindersMicros: [200] })
  const sent = reminderReached({ reminderMicros: 200, usedMicros: 200 })

  it("is sent when they are stored, to the micro", () => {
    const two = { counters: [callCounter(2)] }
    given(ledgerDecider, general).when(recordCallsCommand()).records(apiCallsCounted())
    given(ledgerDecider, general).when(recordCallsCommand(two)).records(apiCallsCounted(two), sent)
    given(ledgerDecider, general, apiCallsCounted())
      .when(recordCallsCommand())
      .records(apiCallsCounted(), sent)
    given(ledgerDecider, general, apiCallsCounted(two), sent)
      .when(recordCallsCommand(two))
      .records(apiCallsCounted(two))
  })

  it("is sent once for all of them, in the order of their limits", () => {
    const key2 = { ...callCounter(1), keyId: "key_2", personId: "per_2" } as const
    const counters = [key2, callCounter(2)]
    const limits = [
      general,
      limitSet({ ...KEY_LIMIT, remindersMicros: [200] }),
      limitSet({ ...PERSON_LIMIT, remindersMicros: [100] }),
    ]
    given(ledgerDecider, ...limits)
      .when(recordCallsCommand({ counters }))
      .records(
        apiCallsCounted({ counters }),
        reminderReached({ reminderMicros: 200, usedMicros: 300 }),
        reminderReached({ ...KEY_LIMIT, reminderMicros: 200, usedMicros: 200 }),
        reminderReached({ ...PERSON_LIMIT, reminderMicros: 100, usedMicros: 200 }),
      )
  })

  it("is not sent for windows that began after the day of the calls", () => {
    const night = isoInstant("2026-03-03")
    const daily = limitSet({ ...KEY_LIMIT, period: "day", remindersMicros: [100] })
    given(ledgerDecider, daily)
      .when(recordCallsCommand({ at: night }))
      .records(apiCallsCounted({ at: night }))
    given(ledgerDecider, daily)
      .when(recordCallsCommand({ at: night - 1 }))
      .records(
        apiCallsCounted({ at: night - 1 }),
        reminderReached({
          ...KEY_LIMIT,
          at: night - 1,
          period: "day",
          reminderMicros: 100,
          usedMicros: 100,
          windowStart: isoInstant("2026-03-02"),
          resetsAt: night,
        }),
      )
  })

  it("is not sent again by the night's charge for them", () => {
    const facts = [...ready, general, apiCallsCounted({ counters: [callCounter(2)] })]
    const answer = decideStamped(
      ledgerDecider,
      { type: "ChargeApiCalls", at: isoInstant("2026-03-03"), maxCharges: 10 },
      foldFacts(ledgerDecider, ...facts),
    )
    expect(answer).toMatchObject([{ type: "Charged", isAlreadyCounted: true }])
  })
})
