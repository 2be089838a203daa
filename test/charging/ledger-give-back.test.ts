import { describe, expect, it } from "vitest"
import type { EndedCharge, GiveBackEnded } from "../../domain/charging/ledger-commands.ts"
import type { ChargeReduced } from "../../domain/charging/ledger-formats.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { fold, given } from "../support/spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  at,
  charge,
  charged,
  closed,
  funded,
  givenBack,
  limitSet,
  opened,
} from "./ledger-facts.ts"

const ready = [opened(), funded(1_000_000)]

const give = {
  type: "GiveBack",
  at: NOW,
  chargeId: "chg_1",
  amountMicros: null,
  reason: "the carrier refused it",
} as const

describe("GiveBack", () => {
  it("gives an open charge back whole", () => {
    given(ledger, charged()).when(give).records(givenBack())
    const state = fold(ledger, ...ready, limitSet(), charged(), givenBack())
    expect(accountOf(state).fundsMicros).toBe(1_000_000)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 0 }])
    expect(openCharges(state)).toEqual([])
  })

  it("says whose charge it was, what for, and when it weighed", () => {
    const by = { via: "app_key", keyId: "key_app", personId: null, class: "ai" } as const
    const what = { item: "call_minute", resource: null, chargeId: "call_1:3" } as const
    given(ledger, charged({ ...by, ...what, amountMicros: 12, at: NOW + 1 }))
      .when({ ...give, chargeId: "call_1:3", at: NOW + 5 })
      .records(givenBack({ ...by, ...what, amountMicros: 12, countedAt: NOW + 1, at: NOW + 5 }))
  })

  it("gives a part back, and that ends the charge", () => {
    const part = givenBack({ amountMicros: 1 })
    given(ledger, charged())
      .when({ ...give, amountMicros: 1 })
      .records(part)
    given(ledger, charged())
      .when({ ...give, amountMicros: 9_000 })
      .records(givenBack())
    given(ledger, charged(), part).when(give).recordsNothing()
  })

  it("records nothing for a charge that is not open", () => {
    given(ledger).when(give).recordsNothing()
    given(ledger, charged({ isPending: false }))
      .when(give)
      .recordsNothing()
    given(ledger, charged(), closed("chg_1")).when(give).recordsNothing()
    given(ledger, charged(), givenBack()).when(give).recordsNothing()
  })

  it.each([0, -1, 9_001, 0.5, Number.NaN])("is refused for %d micros of 9,000", (amountMicros) => {
    given(ledger, charged())
      .when({ ...give, amountMicros })
      .refuses("bad_amount")
  })

  it("gives back a charge of nothing", () => {
    given(ledger, charged({ amountMicros: 0 }))
      .when(give)
      .records(givenBack({ amountMicros: 0 }))
  })
})

/** The charge of `charged`, as the read model shows it once it is final. */
const ended: EndedCharge = {
  chargeId: "chg_1",
  amountMicros: 9_000,
  countedAt: NOW,
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  resource: "msg_1",
}
const final = charged({ isPending: false })
const giveEnded = (changed: Partial<GiveBackEnded> = {}): GiveBackEnded & Stamp => ({
  type: "GiveBackEnded",
  at: NOW,
  charge: ended,
  leftMicros: changed.charge?.amountMicros ?? ended.amountMicros,
  amountMicros: null,
  reason: "it was never sent",
  searchedTo: 0,
  ...changed,
})
const byHand = (changed: Partial<ChargeReduced> = {}) =>
  givenBack({ reason: "it was never sent", ...changed })

describe("GiveBackEnded", () => {
  it("gives a final charge back whole, and takes it out of its windows", () => {
    const facts = [...ready, limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT), final]
    given(ledger, ...facts)
      .when(giveEnded())
      .records(byHand())
    const state = fold(ledger, ...facts, byHand())
    expect(accountOf(state).fundsMicros).toBe(1_000_000)
    expect(readLimits(state, NOW).map((limit) => limit.usedMicros)).toEqual([0, 0, 0])
  })

  it("gives a part back", () => {
    for (const amountMicros of [1, 8_999, 9_000]) {
      given(ledger, final).when(giveEnded({ amountMicros })).records(byHand({ amountMicros }))
    }
  })

  it.each([0, -1, 9_001, 0.5, Number.NaN])("is refused for %d micros of 9,000", (amountMicros) => {
    given(ledger, ...ready, final)
      .when(giveEnded({ amountMicros }))
      .refuses("bad_amount")
  })

  it("gives nothing back of a charge of nothing", () => {
    given(ledger, charged({ isPending: false, amountMicros: 0 }))
      .when(giveEnded({ charge: { ...ended, amountMicros: 0 } }))
      .recordsNothing()
  })

  it("gives a charge back that its work has closed", () => {
    given(ledger, charged(), closed("chg_1")).when(giveEnded()).records(byHand())
  })

  it("ends a charge that turns out to be open still", () => {
    given(ledger, charged()).when(giveEnded()).records(byHand())
    given(ledger, charged())
      .when(giveEnded({ amountMicros: 9_001 }))
      .refuses("bad_amount")
    expect(openCharges(fold(ledger, charged(), byHand()))).toEqual([])
  })

  it("takes what an open charge was from the ledger, not from a read model", () => {
    given(ledger, charged())
      .when(giveEnded({ charge: { ...ended, amountMicros: 50_000, keyId: "key_2" } }))
      .records(byHand())
  })

  it("must be looked up again once some of the charge was refunded after the search", () => {
    const again = given(ledger, final, byHand({ amountMicros: 1 }))
    again.when(giveEnded()).refuses("search_again")
    again.when(giveEnded({ amountMicros: 1 })).refuses("search_again")
    again
      .when(giveEnded({ charge: { ...ended, chargeId: "chg_2" } }))
      .records(byHand({ chargeId: "chg_2" }))
    given(ledger, charged(), givenBack())
      .when(giveEnded({ searchedTo: 0 }))
      .refuses("search_again")
  })

  it("refunds what is left of the charge, and nothing once all of it was refunded", () => {
    const partly = given(ledger, final, byHand({ amountMicros: 5_400 }))
    const seen = { leftMicros: 3_600, searchedTo: 1 }
    partly.when(giveEnded(seen)).records(byHand({ amountMicros: 3_600 }))
    partly
      .when(giveEnded({ ...seen, amountMicros: 3_600 }))
      .records(byHand({ amountMicros: 3_600 }))
    partly.when(giveEnded({ ...seen, amountMicros: 3_601 })).refuses("bad_amount")
    given(ledger, final, byHand())
      .when(giveEnded({ leftMicros: 0, searchedTo: 1 }))
      .recordsNothing()
  })

  it("never refunds more than was charged, whatever is said to be left", () => {
    given(ledger, final)
      .when(giveEnded({ leftMicros: 50_000 }))
      .records(byHand())
  })

  it("refunds 60 and then 40 of a charge of 100, with 256 other refunds in between", () => {
    const hundred = charged({ isPending: false, unitPriceMicros: 100, amountMicros: 100 })
    const others = Array.from({ length: 256 }, (_, i) => byHand({ chargeId: `chg_${i + 10}` }))
    const facts = [hundred, byHand({ amountMicros: 60 }), ...others]
    const whole = { ...ended, amountMicros: 100 }
    // Its refund is forgotten by now: the command that found the charge before it must look again.
    given(ledger, ...facts)
      .when(giveEnded({ charge: whole, leftMicros: 100, searchedTo: 0 }))
      .refuses("search_again")
    given(ledger, ...facts)
      .when(giveEnded({ charge: whole, leftMicros: 40, searchedTo: facts.length - 1 }))
      .records(byHand({ amountMicros: 40 }))
  })

  it("leaves the windows alone that have begun since", () => {
    const later = at("2026-04-01")
    const facts = [limitSet({ at: later }), byHand({ at: later })]
    const state = fold(ledger, ...ready, final, charged({ chargeId: "chg_2", at: later }), ...facts)
    expect(readLimits(state, later)).toMatchObject([{ usedMicros: 9_000 }])
  })

  it("may lift funds and a month's sum to the most there can be, and no further", () => {
    const most = { amountMicros: MAX_MICROS }
    const whole = { ...ended, ...most }
    given(ledger, charged({ isPending: false, exemption: "funds", ...most }), funded(MAX_MICROS))
      .when(giveEnded({ charge: whole }))
      .records(byHand(most))
    given(ledger, funded(1))
      .when(giveEnded({ charge: whole }))
      .refuses("bad_amount")
    given(ledger, funded(1))
      .when(giveEnded({ charge: whole, amountMicros: MAX_MICROS - 1 }))
      .records(byHand({ amountMicros: MAX_MICROS - 1 }))
  })

  it("leaves room for what the work may give back in the same month", () => {
    // The funds are far below zero, so only the month's sum of what was given back stands against.
    const debt = charged({ isPending: false, exemption: "funds", amountMicros: MAX_MICROS - 9_000 })
    const facts = [opened(), debt, charged({ chargeId: "chg_2", exemption: "funds" })]
    const whole = { ...ended, amountMicros: MAX_MICROS }
    given(ledger, ...facts)
      .when(giveEnded({ charge: whole, amountMicros: MAX_MICROS - 9_000 }))
      .records(byHand({ amountMicros: MAX_MICROS - 9_000 }))
    given(ledger, ...facts)
      .when(giveEnded({ charge: whole, amountMicros: MAX_MICROS - 8_999 }))
      .refuses("bad_amount")
  })

  it("has an answer of its own where too much has happened since the charge was looked up", () => {
    const others = Array.from({ length: 257 }, (_, i) => byHand({ chargeId: `chg_${i + 10}` }))
    // The first of them is forgotten: it was at revision 1.
    const facts = [final, ...others]
    given(ledger, ...facts)
      .when(giveEnded({ searchedTo: 0 }))
      .refuses("search_again")
    given(ledger, ...facts)
      .when(giveEnded({ searchedTo: 1 }))
      .records(byHand())
    given(ledger, ...facts)
      .when(giveEnded({ charge: { ...ended, chargeId: "chg_11" }, searchedTo: 0 }))
      .refuses("search_again")
  })

  it("passes on a locked account and on a closed ledger", () => {
    given(ledger, final, { type: "AccountLocked", at: NOW }).when(giveEnded()).records(byHand())
    given(ledger, final, { type: "LedgerClosed", at: NOW }).when(giveEnded()).records(byHand())
  })

  it("gives back a night's calls from the windows of their day", () => {
    const [day, next] = [at("2026-03-31"), at("2026-04-01")]
    const night = {
      isPending: false,
      isAlreadyCounted: true,
      exemption: "funds",
      servedFrom: day,
    } as const
    const counted = {
      type: "ApiCallsCounted",
      at: day,
      day,
      unitPriceMicros: 9_000,
      priceVersion: 1,
      counters: [{ via: "own_key", keyId: "key_1", personId: "per_1", calls: 1 }],
      exemption: null,
    } as const
    for (const period of ["day", "week", "month"] as const) {
      const limit = limitSet({ ...KEY_LIMIT, period, at: next })
      const facts = [counted, charged({ at: next, ...night }), limit]
      const before = readLimits(fold(ledger, ...facts), next)
      const after = readLimits(fold(ledger, ...facts, byHand({ at: next, countedAt: day })), next)
      // Of the day and the month nothing is left to take out: only the week goes on.
      expect(before).toMatchObject([{ usedMicros: period === "week" ? 9_000 : 0 }])
      expect(after).toMatchObject([{ usedMicros: 0 }])
    }
  })
})

describe("a charge that was given back", () => {
  it("can be charged again: that is decided afresh", () => {
    given(ledger, ...ready, charged(), givenBack())
      .when(charge())
      .records(charged())
  })
})
