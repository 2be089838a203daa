import { describe, expect, it } from "vitest"
import { MAX_OPEN_CHARGES } from "../../domain/charging/charge.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { fold, given } from "../support/spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  REQUEST,
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

describe("Charge", () => {
  it("takes the amount from the funds and counts it in every limit, in one fact", () => {
    const facts = [...ready, limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT)]
    given(ledger, ...facts)
      .when(charge())
      .records(charged())
    const state = fold(ledger, ...facts, charged())
    expect(accountOf(state).fundsMicros).toBe(991_000)
    expect(readLimits(state, NOW).map((limit) => limit.usedMicros)).toEqual([9_000, 9_000, 9_000])
    expect(openCharges(state)).toEqual(["chg_1"])
  })

  it("records nothing for an id that is open: the first answer stands", () => {
    given(ledger, ...ready, charged())
      .when(charge({ amountMicros: 5 }))
      .recordsNothing()
  })

  it("decides afresh for an id that has ended: that is no acceptance", () => {
    given(ledger, ...ready, charged(), givenBack())
      .when(charge())
      .records(charged())
    given(ledger, ...ready, charged(), closed("chg_1"))
      .when(charge())
      .records(charged())
    given(ledger, funded(9_000), charged(), closed("chg_1"))
      .when(charge())
      .refuses("payment_required")
  })

  it("decides a refused charge afresh: after a payment the same one passes", () => {
    given(ledger, opened()).when(charge()).refuses("payment_required")
    given(ledger, opened(), funded(9_000)).when(charge()).records(charged())
  })

  it("lets the funds go as far below zero as the credit line says", () => {
    given(ledger, opened(9_000)).when(charge()).records(charged())
    given(ledger, opened(8_999)).when(charge()).refuses("payment_required", { fundsMicros: 0 })
  })

  it("asks no funds where its fact says so, and limits all the same", () => {
    const rent = { exemption: "funds", chargeId: "num_1:2026-03" } as const
    given(ledger, opened()).when(charge(rent)).records(charged(rent))
    given(ledger, opened(), limitSet({ amountMicros: 8_999 }))
      .when(charge(rent))
      .refuses("spend_limit_reached")
  })

  it("takes the funds below zero once where its fact says so, and is then asked like any other", () => {
    const rent = { exemption: "funds_while_above_zero", chargeId: "num_1:2026-03" } as const
    given(ledger, opened(), funded(1)).when(charge(rent)).records(charged(rent))
    const debt = [funded(1), charged({ exemption: "funds", amountMicros: 2, isPending: false })]
    for (const facts of [[], debt]) {
      given(ledger, opened(), ...facts)
        .when(charge(rent))
        .refuses("payment_required")
      const free = { ...rent, amountMicros: 0 } as const
      given(ledger, opened(), ...facts)
        .when(charge(free))
        .records(charged(free))
    }
    given(ledger, opened(9_000)).when(charge(rent)).records(charged(rent))
    given(ledger, opened(), funded(1), limitSet({ amountMicros: 8_999 }))
      .when(charge(rent))
      .refuses("spend_limit_reached")
  })

  it("costs nothing where the price is nothing, even without funds", () => {
    given(ledger, opened())
      .when(charge({ amountMicros: 0 }))
      .records(charged({ amountMicros: 0 }))
  })

  it("is refused below zero, for that would add to the funds", () => {
    given(ledger, ...ready)
      .when(charge({ amountMicros: -1 }))
      .refuses("bad_amount")
  })

  it("is refused where it is not its quantity times its unit price: the bill must multiply out", () => {
    const two = charge({ quantity: 2, unitPriceMicros: 4_500, amountMicros: 9_000 })
    given(ledger, ...ready)
      .when(two)
      .records({ ...charged(), quantity: 2, unitPriceMicros: 4_500 })
    given(ledger, ...ready)
      .when({ ...two, amountMicros: 8_999 })
      .refuses("bad_amount")
    given(ledger, ...ready)
      .when({ ...two, quantity: -2, unitPriceMicros: -4_500 })
      .refuses("bad_amount")
    const none = { quantity: 0, amountMicros: 0 }
    given(ledger, ...ready)
      .when({ ...two, ...none })
      .records({ ...charged(), unitPriceMicros: 4_500, ...none })
  })

  it("is refused behind ten thousand open ones, until one of them ends", () => {
    const open = Array.from({ length: MAX_OPEN_CHARGES }, (_, i) =>
      charged({ chargeId: `chg_${i}`, amountMicros: 0 }),
    )
    const next = charge({ chargeId: "chg_next" })
    given(ledger, ...ready, ...open)
      .when(next)
      .refuses("too_many_open_charges")
    given(ledger, ...ready, ...open)
      .when({ ...next, isPending: false })
      .records(charged({ chargeId: "chg_next", isPending: false }))
    given(ledger, ...ready, ...open, closed("chg_7"))
      .when(next)
      .records(charged({ chargeId: "chg_next" }))
  })

  it("looks at limits before funds, for adding funds does not help", () => {
    given(ledger, opened(), limitSet({ amountMicros: 0 }))
      .when(charge())
      .refuses("spend_limit_reached")
  })

  it("is refused with all the evidence that the decision looked at", () => {
    const weekly = limitSet({ ...PERSON_LIMIT, period: "week", amountMicros: 10_000 })
    given(ledger, ...ready, limitSet(), weekly, charged())
      .when(charge({ chargeId: "chg_2", at: at("2026-03-03T00:00:00Z") }))
      .refuses("spend_limit_reached", {
        ...REQUEST,
        chargeId: "chg_2",
        ledgerRevision: 4,
        fundsMicros: 991_000,
        creditLineMicros: 0,
        prepaidOnly: false,
        unrecordedMicros: 0,
        refusingLimit: 0,
        limits: [
          {
            ...PERSON_LIMIT,
            period: "week",
            amountMicros: 10_000,
            usedMicros: 9_000,
            unrecordedMicros: 0,
            remainingMicros: 1_000,
            askedMicros: 9_000,
            windowStart: at("2026-03-02"),
            resetsAt: at("2026-03-09"),
          },
          {
            holder: "company",
            holderId: null,
            class: "general",
            period: "month",
            amountMicros: 27_000,
            usedMicros: 9_000,
            unrecordedMicros: 0,
            remainingMicros: 18_000,
            askedMicros: 9_000,
            windowStart: at("2026-03-01"),
            resetsAt: at("2026-04-01"),
          },
        ],
      })
  })

  it("names the first that refuses of key, person, company", () => {
    const [company, person] = [limitSet({ amountMicros: 0 }), { ...PERSON_LIMIT, amountMicros: 0 }]
    const wide = { ...KEY_LIMIT, amountMicros: 50_000 }
    given(ledger, company, limitSet(person), limitSet(wide))
      .when(charge())
      .refuses("spend_limit_reached", { refusingLimit: 1 })
    given(ledger, company, limitSet(wide))
      .when(charge())
      .refuses("spend_limit_reached", { refusingLimit: 1 })
    given(ledger, company, limitSet(person), limitSet({ ...KEY_LIMIT, amountMicros: 0 }))
      .when(charge())
      .refuses("spend_limit_reached", { refusingLimit: 0 })
  })
})
