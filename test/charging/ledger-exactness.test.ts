import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  isoInstant,
  chargeCommand,
  charged,
  fundsAdded,
  chargeReduced,
  limitSet,
  monthClosed,
  ledgerOpened,
} from "./ledger-facts.ts"

const code = "amount_too_large"
const free = { chargeId: "chg_2", exemption: "funds", isPending: false } as const
/** A settled charge of the largest amount, on Tuesday, 31 March. */
const most = charged({
  amountMicros: MAX_MICROS,
  exemption: "funds",
  isPending: false,
  at: isoInstant("2026-03-31"),
})
const [SAME_DAY, SAME_WEEK, MAY] = [
  isoInstant("2026-03-31"),
  isoInstant("2026-04-01"),
  isoInstant("2026-05-04"),
]

describe("a charge", () => {
  it("is refused if the funds would fall below the lowest exact sum", () => {
    const one = { ...free, amountMicros: 1, at: MAY }
    given(ledgerDecider, most).when(chargeCommand(one)).refuses(code)
    given(ledgerDecider, { ...most, amountMicros: MAX_MICROS - 1 })
      .when(chargeCommand(one))
      .records(charged(one))
    given(ledgerDecider, ledgerOpened(MAX_MICROS), charged({ amountMicros: 1 }))
      .when(chargeCommand({ ...free, amountMicros: MAX_MICROS }))
      .refuses(code)
  })

  it("is rejected if its amount is not a whole number of micros", () => {
    given(ledgerDecider, fundsAdded(1))
      .when(chargeCommand({ amountMicros: 0.5 }))
      .refuses(code)
    given(ledgerDecider, fundsAdded(1))
      .when(chargeCommand({ amountMicros: 1, quantity: 0.5, unitPriceMicros: 2 }))
      .refuses("bad_amount")
  })

  it("is refused if a counter of the month, or of the week that crosses its end, would be inexact", () => {
    const one = { ...free, amountMicros: 1 } as const
    const whole = [most, fundsAdded(MAX_MICROS)]
    const nearly = [{ ...most, amountMicros: MAX_MICROS - 1 }, fundsAdded(MAX_MICROS)]
    const early = { at: isoInstant("2026-03-02") }
    for (const [facts, moved] of [
      [[whole, nearly], { at: SAME_DAY }],
      [[whole, nearly], { at: SAME_WEEK }],
      [[whole.map((fact) => ({ ...fact, ...early })), nearly], { at: SAME_DAY }],
    ] as const) {
      given(ledgerDecider, ...facts[0])
        .when(chargeCommand({ ...one, ...moved }))
        .refuses(code)
      given(ledgerDecider, ...facts[1])
        .when(chargeCommand({ ...one, ...moved }))
        .records(charged({ ...one, ...moved }))
    }
    given(ledgerDecider, ...whole)
      .when(chargeCommand({ ...one, at: MAY }))
      .records(charged({ ...one, at: MAY }))
  })

  it("is refused if the counter of a window that a fact has begun would be inexact", () => {
    const one = { ...free, amountMicros: 1, at: SAME_WEEK } as const
    const begun = charged({ chargeId: "chg_3", amountMicros: 0, isPending: false, at: SAME_WEEK })
    given(ledgerDecider, most, fundsAdded(MAX_MICROS), begun).when(chargeCommand(one)).refuses(code)
    given(ledgerDecider, { ...most, amountMicros: MAX_MICROS - 1 }, fundsAdded(MAX_MICROS), begun)
      .when(chargeCommand(one))
      .records(charged(one))
    // Of the month only: the week of the large charge has ended.
    const early = { at: isoInstant("2026-03-02") }
    const last = { ...begun, at: SAME_DAY }
    given(ledgerDecider, { ...most, ...early }, fundsAdded(MAX_MICROS), last)
      .when(chargeCommand({ ...one, at: SAME_DAY }))
      .refuses(code)
    given(
      ledgerDecider,
      { ...most, ...early, amountMicros: MAX_MICROS - 1 },
      fundsAdded(MAX_MICROS),
      last,
    )
      .when(chargeCommand({ ...one, at: SAME_DAY }))
      .records(charged({ ...one, at: SAME_DAY }))
  })

  it("is refused if the key's counter would be inexact, even if the company's counter of the class is zero", () => {
    const one = { ...free, amountMicros: 1, at: SAME_DAY } as const
    given(ledgerDecider, { ...most, class: "ai" }, fundsAdded(MAX_MICROS))
      .when(chargeCommand(one))
      .refuses(code)
    given(ledgerDecider, { ...most, class: "ai", keyId: "key_2" }, fundsAdded(MAX_MICROS))
      .when(chargeCommand(one))
      .records(charged(one))
  })

  it("is refused if the company's counter would be inexact, even if the key reaches a reminder first", () => {
    const key = limitSet({ ...KEY_LIMIT, remindersMicros: [1] })
    const others = { ...most, keyId: "key_2", personId: "per_2", at: NOW } as const
    given(ledgerDecider, key, others, fundsAdded(MAX_MICROS))
      .when(chargeCommand({ ...free, amountMicros: 1 }))
      .refuses(code)
    // The same after the day has ended.
    given(ledgerDecider, key, others, fundsAdded(MAX_MICROS))
      .when(chargeCommand({ ...free, amountMicros: 1, at: isoInstant("2026-03-03") }))
      .refuses(code)
  })

  it("is refused if the month's total of charges would be inexact, until the month is over", () => {
    // After the operator's refund the windows are empty; only the month's total contains the charge.
    const back = chargeReduced({ amountMicros: MAX_MICROS, at: SAME_DAY, countedAt: SAME_DAY })
    const one = { ...free, amountMicros: 1 } as const
    given(ledgerDecider, ledgerOpened(), most, back)
      .when(chargeCommand({ ...one, at: SAME_DAY }))
      .refuses(code)
    given(ledgerDecider, ledgerOpened(), most, back)
      .when(chargeCommand({ ...one, at: SAME_WEEK }))
      .records(
        monthClosed({
          chargedMicros: MAX_MICROS,
          reducedMicros: MAX_MICROS,
          charges: 1,
          headRevision: 2,
        }),
        charged({ ...one, at: SAME_WEEK }),
      )
    given(ledgerDecider, most, back)
      .when(chargeCommand({ ...one, at: SAME_DAY }))
      .records(charged({ ...one, at: SAME_DAY }))
  })

  it("is refused if it is pending and the month's possible refunds would be inexact", () => {
    const back = chargeReduced({
      chargeId: "chg_0",
      amountMicros: MAX_MICROS - 9_000,
      countedAt: 0,
    })
    const open = (amountMicros: number) => ({ ...free, amountMicros, isPending: true })
    const debt: LedgerEvent = {
      type: "FundsCorrected",
      at: NOW,
      amountMicros: -MAX_MICROS,
      reason: "a debt",
    }
    const facts = [ledgerOpened(), debt, back]
    given(ledgerDecider, ...facts)
      .when(chargeCommand(open(9_000)))
      .records(charged(open(9_000)))
    given(ledgerDecider, ...facts)
      .when(chargeCommand(open(9_001)))
      .refuses(code)
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...open(9_001), isPending: false }))
      .records(charged({ ...open(9_001), isPending: false }))
    given(ledgerDecider, ...facts, charged({ amountMicros: 1 }))
      .when(chargeCommand(open(9_000)))
      .refuses(code)
    given(ledgerDecider, ...facts, charged({ amountMicros: 1 }))
      .when(chargeCommand(open(8_999)))
      .records(charged(open(8_999)))
  })

  it("is checked for exact sums only after limits and funds", () => {
    given(ledgerDecider, most, fundsAdded(MAX_MICROS), limitSet({ amountMicros: 0 }))
      .when(chargeCommand({ ...free, amountMicros: 1, at: SAME_DAY }))
      .refuses("spend_limit_reached")
    given(ledgerDecider, most, fundsAdded(MAX_MICROS))
      .when(chargeCommand({ ...free, amountMicros: 1, at: SAME_DAY, exemption: null }))
      .refuses("payment_required")
  })

  it("of the largest exact amount is accepted", () => {
    const all = { ...free, amountMicros: MAX_MICROS }
    given(ledgerDecider, ledgerOpened()).when(chargeCommand(all)).records(charged(all))
    expect(accountOf(foldFacts(ledgerDecider, ledgerOpened(), charged(all))).fundsMicros).toBe(
      -MAX_MICROS,
    )
  })
})
