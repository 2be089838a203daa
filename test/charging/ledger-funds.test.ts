import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf, creditTermsOf } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given, decideStamped } from "../support/decider-spec.ts"
import {
  NOW,
  isoInstant,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  ledgerOpened,
} from "./ledger-facts.ts"

const TERMS = { mode: "on", perPurchaseMicros: MAX_MICROS, perMonthMicros: MAX_MICROS } as const
const terms: LedgerEvent = { type: "PurchaseTermsSet", at: NOW, keyId: "key_1", ...TERMS }
const purchase = {
  at: NOW,
  purchaseId: "pur_1",
  keyId: "key_1",
  personId: null,
  amountMicros: 5_000_000,
} as const
const buying: LedgerEvent = { type: "PurchaseStarted", ...purchase }

describe("AddFunds", () => {
  const add = { type: "AddFunds", at: NOW, amountMicros: 7, reference: "wire 1" } as const

  it("raises the funds", () => {
    given(ledgerDecider, ledgerOpened()).when(add).records(fundsAdded(7, "wire 1"))
    expect(accountOf(foldFacts(ledgerDecider, ledgerOpened(), fundsAdded(7))).fundsMicros).toBe(7)
  })

  it("adds nothing for a known reference, whatever the amount", () => {
    given(ledgerDecider, fundsAdded(7, "wire 1"))
      .when({ ...add, amountMicros: 9 })
      .recordsNothing()
  })

  it("adds again without a reference", () => {
    given(ledgerDecider, fundsAdded(7))
      .when({ ...add, reference: null })
      .records(fundsAdded(7))
  })

  it.each([0, -1, 0.5, Number.NaN, MAX_MICROS + 1])("is rejected for %d micros", (amountMicros) => {
    given(ledgerDecider, ledgerOpened())
      .when({ ...add, amountMicros })
      .refuses("bad_amount")
  })

  it("is rejected if the funds would exceed the exact range", () => {
    given(ledgerDecider, fundsAdded(MAX_MICROS))
      .when({ ...add, amountMicros: 1 })
      .refuses("bad_amount")
  })

  it("is rejected for an inexact amount, even if a debt keeps the sum exact", () => {
    const debt = charged({ amountMicros: MAX_MICROS, exemption: "funds" })
    given(ledgerDecider, debt)
      .when({ ...add, amountMicros: MAX_MICROS + 2 })
      .refuses("bad_amount")
  })

  it("leaves room for possible refunds and pending purchases", () => {
    const most = { ...add, amountMicros: MAX_MICROS - 9_000 }
    given(ledgerDecider, charged({ exemption: "funds" }))
      .when({ ...most, amountMicros: MAX_MICROS })
      .records(fundsAdded(MAX_MICROS, "wire 1"))
    given(ledgerDecider, charged({ exemption: "funds" }), chargesSettled("chg_1"))
      .when({ ...add, amountMicros: MAX_MICROS })
      .records(fundsAdded(MAX_MICROS, "wire 1"))
    given(ledgerDecider, fundsAdded(9_000), charged())
      .when(most)
      .records(fundsAdded(MAX_MICROS - 9_000, "wire 1"))
    given(ledgerDecider, fundsAdded(9_000), charged())
      .when({ ...most, amountMicros: MAX_MICROS - 8_999 })
      .refuses("bad_amount")
    given(ledgerDecider, fundsAdded(9_000), charged(), chargeReduced())
      .when({ ...most, amountMicros: MAX_MICROS - 8_999 })
      .refuses("bad_amount")
    given(ledgerDecider, fundsAdded(9_000), charged(), chargeReduced())
      .when(most)
      .records(fundsAdded(MAX_MICROS - 9_000, "wire 1"))
    given(ledgerDecider, fundsAdded(9_000), charged(), chargesSettled("chg_1"))
      .when({ ...most, amountMicros: MAX_MICROS })
      .records(fundsAdded(MAX_MICROS, "wire 1"))
    const rest = MAX_MICROS - 5_000_000
    given(ledgerDecider, terms, buying)
      .when({ ...add, amountMicros: rest })
      .records(fundsAdded(rest, "wire 1"))
    given(ledgerDecider, terms, buying)
      .when({ ...add, amountMicros: rest + 1 })
      .refuses("bad_amount")
    const declined = {
      ...purchase,
      type: "PurchaseFailed",
      startedAt: NOW,
      code: "no",
      paymentId: null,
    } as const
    given(ledgerDecider, terms, buying, declined)
      .when({ ...add, amountMicros: MAX_MICROS })
      .records(fundsAdded(MAX_MICROS, "wire 1"))
  })

  it("is rejected if its month's total would not be exact, until the next month", () => {
    const spent = charged({ amountMicros: MAX_MICROS, exemption: "funds", isPending: false })
    const facts = [ledgerOpened(), fundsAdded(MAX_MICROS), spent]
    given(ledgerDecider, ...facts)
      .when({ ...add, amountMicros: 1 })
      .refuses("bad_amount")
    given(ledgerDecider, ledgerOpened(), fundsAdded(MAX_MICROS - 1), {
      ...spent,
      amountMicros: MAX_MICROS - 1,
    })
      .when({ ...add, amountMicros: 1 })
      .records(fundsAdded(1, "wire 1"))
    const state = foldFacts(ledgerDecider, ...facts)
    const [april, march] = [isoInstant("2026-04-01"), isoInstant("2026-03-31T23:59:59.999Z")]
    expect(decideStamped(ledgerDecider, { ...add, at: march }, state)).toMatchObject({
      code: "bad_amount",
    })
    expect(decideStamped(ledgerDecider, { ...add, at: april }, state)).toMatchObject([
      { type: "MonthClosed", addedMicros: MAX_MICROS },
      { type: "FundsAdded", amountMicros: 7 },
    ])
  })
})

describe("CorrectFunds", () => {
  const reason = "counted twice"
  const correct = { type: "CorrectFunds", at: NOW, amountMicros: -7, reason } as const
  const corrected = (amountMicros: number): LedgerEvent => {
    return { type: "FundsCorrected", at: NOW, amountMicros, reason }
  }
  const correctBy = (amountMicros: number) => ({ ...correct, amountMicros })

  it("lowers the funds, even below zero, and raises them", () => {
    given(ledgerDecider, ledgerOpened(), fundsAdded(5)).when(correct).records(corrected(-7))
    given(ledgerDecider, ledgerOpened()).when(correctBy(7)).records(corrected(7))
    expect(
      accountOf(foldFacts(ledgerDecider, ledgerOpened(), fundsAdded(5), corrected(-7))).fundsMicros,
    ).toBe(-2)
    expect(
      accountOf(foldFacts(ledgerDecider, ledgerOpened(), fundsAdded(5), corrected(7))).fundsMicros,
    ).toBe(12)
  })

  it("corrects again for the same reason, which does not identify a correction", () => {
    given(ledgerDecider, ledgerOpened(), corrected(-7)).when(correct).records(corrected(-7))
  })

  it.each([0, 0.5, Number.NaN, MAX_MICROS + 1, -MAX_MICROS - 1])(
    "is rejected for %d micros",
    (amountMicros) => {
      given(ledgerDecider, ledgerOpened()).when(correctBy(amountMicros)).refuses("bad_amount")
    },
  )

  it("can move the funds to either end of the exact range, and no further", () => {
    given(ledgerDecider).when(correctBy(MAX_MICROS)).records(corrected(MAX_MICROS))
    given(ledgerDecider).when(correctBy(-MAX_MICROS)).records(corrected(-MAX_MICROS))
    given(ledgerDecider, fundsAdded(1)).when(correctBy(MAX_MICROS)).refuses("bad_amount")
    given(ledgerDecider, corrected(-1)).when(correctBy(-MAX_MICROS)).refuses("bad_amount")
  })

  it("leaves room for possible refunds and pending purchases", () => {
    given(ledgerDecider, fundsAdded(9_000), charged())
      .when(correctBy(MAX_MICROS - 8_999))
      .refuses("bad_amount")
    given(ledgerDecider, terms, buying)
      .when(correctBy(MAX_MICROS - 4_999_999))
      .refuses("bad_amount")
    // Possible refunds do not extend the range for debts.
    const debt = corrected(9_000 - MAX_MICROS)
    given(ledgerDecider, charged({ exemption: "funds" }), debt)
      .when(correctBy(-1))
      .refuses("bad_amount")
    given(ledgerDecider, charged({ exemption: "funds", isPending: false }), debt)
      .when(correctBy(1))
      .records(corrected(1))
  })

  it("is rejected if its month's total would not be exact", () => {
    const spent = charged({ amountMicros: MAX_MICROS, exemption: "funds", isPending: false })
    given(ledgerDecider, ledgerOpened(), corrected(MAX_MICROS), spent)
      .when(correctBy(1))
      .refuses("bad_amount")
    given(ledgerDecider, ledgerOpened(), corrected(MAX_MICROS), spent)
      .when(correctBy(-1))
      .records(corrected(-1))
  })

  it("below zero allows only charges of zero", () => {
    given(ledgerDecider, ledgerOpened(), corrected(-1))
      .when(chargeCommand())
      .refuses("payment_required")
    given(ledgerDecider, ledgerOpened(), corrected(-1))
      .when(chargeCommand({ amountMicros: 0 }))
      .records(charged({ amountMicros: 0 }))
  })
})

describe("ChangeCreditTerms", () => {
  const change = {
    type: "ChangeCreditTerms",
    at: NOW,
    prepaidOnly: false,
    creditLineMicros: 9,
  } as const
  const changed = (prepaidOnly: boolean, creditLineMicros: number): LedgerEvent => {
    return { type: "TermsChanged", at: NOW, prepaidOnly, creditLineMicros }
  }

  it("sets how far the funds may fall below zero from now on", () => {
    given(ledgerDecider, ledgerOpened()).when(change).records(changed(false, 9))
    const facts = [ledgerOpened(), changed(false, 9_000)]
    given(ledgerDecider, ...facts)
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, ...facts, changed(false, 8_999))
      .when(chargeCommand())
      .refuses("payment_required", { creditLineMicros: 8_999 })
  })

  it("changes nothing if the terms are the same", () => {
    given(ledgerDecider, ledgerOpened(9)).when(change).recordsNothing()
    given(ledgerDecider, ledgerOpened(), changed(false, 9)).when(change).recordsNothing()
    given(ledgerDecider)
      .when({ ...change, creditLineMicros: 0 })
      .recordsNothing()
  })

  it("changes one of the two terms", () => {
    given(ledgerDecider, ledgerOpened(9))
      .when({ ...change, prepaidOnly: true })
      .records(changed(true, 9))
    given(ledgerDecider, ledgerOpened(9))
      .when({ ...change, creditLineMicros: 0 })
      .records(changed(false, 0))
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])(
    "is rejected for a credit line of %d",
    (micros) => {
      given(ledgerDecider, ledgerOpened())
        .when({ ...change, creditLineMicros: micros })
        .refuses("bad_amount")
    },
  )

  it("stops a prepaid-only company from using its credit line, and keeps the line", () => {
    const facts = [ledgerOpened(9_000), changed(true, 9_000)]
    given(ledgerDecider, ...facts)
      .when(chargeCommand())
      .refuses("payment_required", { creditLineMicros: 0, prepaidOnly: true })
    const state = foldFacts(ledgerDecider, ...facts)
    expect(accountOf(state)).toMatchObject({ creditLineMicros: 0, prepaidOnly: true })
    expect(creditTermsOf(state)).toEqual({ prepaidOnly: true, creditLineMicros: 9_000 })
    given(ledgerDecider, ...facts, changed(false, 9_000))
      .when(chargeCommand())
      .records(charged())
  })
})
