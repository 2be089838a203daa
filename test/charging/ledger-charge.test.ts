import { describe, expect, it } from "vitest"
import { MAX_OPEN_CHARGES } from "../../domain/charging/charge.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  CHARGE_REQUEST,
  isoInstant,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]

describe("Charge", () => {
  it("deducts the amount from the funds and counts it in every limit, in one fact", () => {
    const facts = [...ready, limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT)]
    given(ledgerDecider, ...facts)
      .when(chargeCommand())
      .records(charged())
    const state = foldFacts(ledgerDecider, ...facts, charged())
    expect(accountOf(state).fundsMicros).toBe(991_000)
    expect(readLimits(state, NOW).map((limit) => limit.usedMicros)).toEqual([9_000, 9_000, 9_000])
    expect(pendingChargeIds(state)).toEqual(["chg_1"])
  })

  it("records nothing for an id that is pending: the first answer stays valid", () => {
    given(ledgerDecider, ...ready, charged())
      .when(chargeCommand({ amountMicros: 5 }))
      .recordsNothing()
  })

  it("decides again for an id that has ended", () => {
    given(ledgerDecider, ...ready, charged(), chargeReduced())
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, ...ready, charged(), chargesSettled("chg_1"))
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, fundsAdded(9_000), charged(), chargesSettled("chg_1"))
      .when(chargeCommand())
      .refuses("payment_required")
  })

  it("decides a refused charge again: after a payment it is accepted", () => {
    given(ledgerDecider, ledgerOpened()).when(chargeCommand()).refuses("payment_required")
    given(ledgerDecider, ledgerOpened(), fundsAdded(9_000)).when(chargeCommand()).records(charged())
  })

  it("lets the funds fall below zero as far as the credit line allows", () => {
    given(ledgerDecider, ledgerOpened(9_000)).when(chargeCommand()).records(charged())
    given(ledgerDecider, ledgerOpened(8_999))
      .when(chargeCommand())
      .refuses("payment_required", { fundsMicros: 0 })
  })

  it("with an exemption from funds must still fit its limits", () => {
    const rent = { exemption: "funds", chargeId: "num_1:2026-03" } as const
    given(ledgerDecider, ledgerOpened()).when(chargeCommand(rent)).records(charged(rent))
    given(ledgerDecider, ledgerOpened(), limitSet({ amountMicros: 8_999 }))
      .when(chargeCommand(rent))
      .refuses("spend_limit_reached")
  })

  it("with an exemption while funds are above zero can lower them below zero once", () => {
    const rent = { exemption: "funds_while_above_zero", chargeId: "num_1:2026-03" } as const
    given(ledgerDecider, ledgerOpened(), fundsAdded(1))
      .when(chargeCommand(rent))
      .records(charged(rent))
    const debt = [fundsAdded(1), charged({ exemption: "funds", amountMicros: 2, isPending: false })]
    for (const facts of [[], debt]) {
      given(ledgerDecider, ledgerOpened(), ...facts)
        .when(chargeCommand(rent))
        .refuses("payment_required")
      const free = { ...rent, amountMicros: 0 } as const
      given(ledgerDecider, ledgerOpened(), ...facts)
        .when(chargeCommand(free))
        .records(charged(free))
    }
    given(ledgerDecider, ledgerOpened(9_000)).when(chargeCommand(rent)).records(charged(rent))
    given(ledgerDecider, ledgerOpened(), fundsAdded(1), limitSet({ amountMicros: 8_999 }))
      .when(chargeCommand(rent))
      .refuses("spend_limit_reached")
  })

  it("of zero is accepted without funds", () => {
    given(ledgerDecider, ledgerOpened())
      .when(chargeCommand({ amountMicros: 0 }))
      .records(charged({ amountMicros: 0 }))
  })

  it("is rejected below zero, because it would add funds", () => {
    given(ledgerDecider, ...ready)
      .when(chargeCommand({ amountMicros: -1 }))
      .refuses("bad_amount")
  })

  it("is rejected if its amount is not quantity times unit price", () => {
    const two = chargeCommand({ quantity: 2, unitPriceMicros: 4_500, amountMicros: 9_000 })
    given(ledgerDecider, ...ready)
      .when(two)
      .records({ ...charged(), quantity: 2, unitPriceMicros: 4_500 })
    given(ledgerDecider, ...ready)
      .when({ ...two, amountMicros: 8_999 })
      .refuses("bad_amount")
    given(ledgerDecider, ...ready)
      .when({ ...two, quantity: -2, unitPriceMicros: -4_500 })
      .refuses("bad_amount")
    const none = { quantity: 0, amountMicros: 0 }
    given(ledgerDecider, ...ready)
      .when({ ...two, ...none })
      .records({ ...charged(), unitPriceMicros: 4_500, ...none })
  })

  it("is refused while ten thousand charges are pending", () => {
    const open = Array.from({ length: MAX_OPEN_CHARGES }, (_, i) =>
      charged({ chargeId: `chg_${i}`, amountMicros: 0 }),
    )
    const next = chargeCommand({ chargeId: "chg_next" })
    given(ledgerDecider, ...ready, ...open)
      .when(next)
      .refuses("too_many_open_charges")
    given(ledgerDecider, ...ready, ...open)
      .when({ ...next, isPending: false })
      .records(charged({ chargeId: "chg_next", isPending: false }))
    given(ledgerDecider, ...ready, ...open, chargesSettled("chg_7"))
      .when(next)
      .records(charged({ chargeId: "chg_next" }))
  })

  it("checks limits before funds, because adding funds would not help", () => {
    given(ledgerDecider, ledgerOpened(), limitSet({ amountMicros: 0 }))
      .when(chargeCommand())
      .refuses("spend_limit_reached")
  })

  it("is refused with all the evidence of the decision", () => {
    const weekly = limitSet({ ...PERSON_LIMIT, period: "week", amountMicros: 10_000 })
    given(ledgerDecider, ...ready, limitSet(), weekly, charged())
      .when(chargeCommand({ chargeId: "chg_2", at: isoInstant("2026-03-03T00:00:00Z") }))
      .refuses("spend_limit_reached", {
        ...CHARGE_REQUEST,
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
            windowStart: isoInstant("2026-03-02"),
            resetsAt: isoInstant("2026-03-09"),
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
            windowStart: isoInstant("2026-03-01"),
            resetsAt: isoInstant("2026-04-01"),
          },
        ],
      })
  })

  it("names the first exceeded limit of key, person, company", () => {
    const [company, person] = [limitSet({ amountMicros: 0 }), { ...PERSON_LIMIT, amountMicros: 0 }]
    const wide = { ...KEY_LIMIT, amountMicros: 50_000 }
    given(ledgerDecider, company, limitSet(person), limitSet(wide))
      .when(chargeCommand())
      .refuses("spend_limit_reached", { refusingLimit: 1 })
    given(ledgerDecider, company, limitSet(wide))
      .when(chargeCommand())
      .refuses("spend_limit_reached", { refusingLimit: 1 })
    given(ledgerDecider, company, limitSet(person), limitSet({ ...KEY_LIMIT, amountMicros: 0 }))
      .when(chargeCommand())
      .refuses("spend_limit_reached", { refusingLimit: 0 })
  })
})
