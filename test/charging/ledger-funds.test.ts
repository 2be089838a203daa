import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { accountOf, termsOf } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { fold, given, decideStamped } from "../support/spec.ts"
import { NOW, at, charge, charged, closed, funded, givenBack, opened } from "./ledger-facts.ts"

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
    given(ledger, opened()).when(add).records(funded(7, "wire 1"))
    expect(accountOf(fold(ledger, opened(), funded(7))).fundsMicros).toBe(7)
  })

  it("adds nothing for a reference that it has seen, whatever the amount", () => {
    given(ledger, funded(7, "wire 1"))
      .when({ ...add, amountMicros: 9 })
      .recordsNothing()
  })

  it("adds again where no reference says that it is the same", () => {
    given(ledger, funded(7))
      .when({ ...add, reference: null })
      .records(funded(7))
  })

  it.each([0, -1, 0.5, Number.NaN, MAX_MICROS + 1])("is refused for %d micros", (amountMicros) => {
    given(ledger, opened())
      .when({ ...add, amountMicros })
      .refuses("bad_amount")
  })

  it("is refused where the funds would pass what can be added exactly", () => {
    given(ledger, funded(MAX_MICROS))
      .when({ ...add, amountMicros: 1 })
      .refuses("bad_amount")
  })

  it("is refused an amount that only a debt makes look possible", () => {
    const debt = charged({ amountMicros: MAX_MICROS, exemption: "funds" })
    given(ledger, debt)
      .when({ ...add, amountMicros: MAX_MICROS + 2 })
      .refuses("bad_amount")
  })

  it("leaves room for what may come back, and for what is being bought", () => {
    const most = { ...add, amountMicros: MAX_MICROS - 9_000 }
    given(ledger, charged({ exemption: "funds" }))
      .when({ ...most, amountMicros: MAX_MICROS })
      .records(funded(MAX_MICROS, "wire 1"))
    given(ledger, charged({ exemption: "funds" }), closed("chg_1"))
      .when({ ...add, amountMicros: MAX_MICROS })
      .records(funded(MAX_MICROS, "wire 1"))
    given(ledger, funded(9_000), charged())
      .when(most)
      .records(funded(MAX_MICROS - 9_000, "wire 1"))
    given(ledger, funded(9_000), charged())
      .when({ ...most, amountMicros: MAX_MICROS - 8_999 })
      .refuses("bad_amount")
    given(ledger, funded(9_000), charged(), givenBack())
      .when({ ...most, amountMicros: MAX_MICROS - 8_999 })
      .refuses("bad_amount")
    given(ledger, funded(9_000), charged(), givenBack())
      .when(most)
      .records(funded(MAX_MICROS - 9_000, "wire 1"))
    given(ledger, funded(9_000), charged(), closed("chg_1"))
      .when({ ...most, amountMicros: MAX_MICROS })
      .records(funded(MAX_MICROS, "wire 1"))
    const rest = MAX_MICROS - 5_000_000
    given(ledger, terms, buying)
      .when({ ...add, amountMicros: rest })
      .records(funded(rest, "wire 1"))
    given(ledger, terms, buying)
      .when({ ...add, amountMicros: rest + 1 })
      .refuses("bad_amount")
    const declined = {
      ...purchase,
      type: "PurchaseFailed",
      startedAt: NOW,
      code: "no",
      paymentId: null,
    } as const
    given(ledger, terms, buying, declined)
      .when({ ...add, amountMicros: MAX_MICROS })
      .records(funded(MAX_MICROS, "wire 1"))
  })

  it("is refused where the sum of its month could not be added exactly, until the next month", () => {
    const spent = charged({ amountMicros: MAX_MICROS, exemption: "funds", isPending: false })
    const facts = [opened(), funded(MAX_MICROS), spent]
    given(ledger, ...facts)
      .when({ ...add, amountMicros: 1 })
      .refuses("bad_amount")
    given(ledger, opened(), funded(MAX_MICROS - 1), { ...spent, amountMicros: MAX_MICROS - 1 })
      .when({ ...add, amountMicros: 1 })
      .records(funded(1, "wire 1"))
    const state = fold(ledger, ...facts)
    const [april, march] = [at("2026-04-01"), at("2026-03-31T23:59:59.999Z")]
    expect(decideStamped(ledger, { ...add, at: march }, state)).toMatchObject({
      code: "bad_amount",
    })
    expect(decideStamped(ledger, { ...add, at: april }, state)).toMatchObject([
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

  it("moves the funds down, also below zero, and up", () => {
    given(ledger, opened(), funded(5)).when(correct).records(corrected(-7))
    given(ledger, opened()).when(correctBy(7)).records(corrected(7))
    expect(accountOf(fold(ledger, opened(), funded(5), corrected(-7))).fundsMicros).toBe(-2)
    expect(accountOf(fold(ledger, opened(), funded(5), corrected(7))).fundsMicros).toBe(12)
  })

  it("corrects again for the same reason: nothing says that it is the same", () => {
    given(ledger, opened(), corrected(-7)).when(correct).records(corrected(-7))
  })

  it.each([0, 0.5, Number.NaN, MAX_MICROS + 1, -MAX_MICROS - 1])(
    "is refused for %d micros",
    (amountMicros) => {
      given(ledger, opened()).when(correctBy(amountMicros)).refuses("bad_amount")
    },
  )

  it("may take the funds to either end of what adds up exactly, and no further", () => {
    given(ledger).when(correctBy(MAX_MICROS)).records(corrected(MAX_MICROS))
    given(ledger).when(correctBy(-MAX_MICROS)).records(corrected(-MAX_MICROS))
    given(ledger, funded(1)).when(correctBy(MAX_MICROS)).refuses("bad_amount")
    given(ledger, corrected(-1)).when(correctBy(-MAX_MICROS)).refuses("bad_amount")
  })

  it("leaves room for what may come back, and for what is being bought", () => {
    given(ledger, funded(9_000), charged())
      .when(correctBy(MAX_MICROS - 8_999))
      .refuses("bad_amount")
    given(ledger, terms, buying)
      .when(correctBy(MAX_MICROS - 4_999_999))
      .refuses("bad_amount")
    // What may come back holds no debt up.
    const debt = corrected(9_000 - MAX_MICROS)
    given(ledger, charged({ exemption: "funds" }), debt)
      .when(correctBy(-1))
      .refuses("bad_amount")
    given(ledger, charged({ exemption: "funds", isPending: false }), debt)
      .when(correctBy(1))
      .records(corrected(1))
  })

  it("is refused where the sum of its month could not be added exactly", () => {
    const spent = charged({ amountMicros: MAX_MICROS, exemption: "funds", isPending: false })
    given(ledger, opened(), corrected(MAX_MICROS), spent).when(correctBy(1)).refuses("bad_amount")
    given(ledger, opened(), corrected(MAX_MICROS), spent).when(correctBy(-1)).records(corrected(-1))
  })

  it("lets nothing more be charged below zero but what costs nothing", () => {
    given(ledger, opened(), corrected(-1)).when(charge()).refuses("payment_required")
    given(ledger, opened(), corrected(-1))
      .when(charge({ amountMicros: 0 }))
      .records(charged({ amountMicros: 0 }))
  })
})

describe("ChangeTerms", () => {
  const change = { type: "ChangeTerms", at: NOW, prepaidOnly: false, creditLineMicros: 9 } as const
  const changed = (prepaidOnly: boolean, creditLineMicros: number): LedgerEvent => {
    return { type: "TermsChanged", at: NOW, prepaidOnly, creditLineMicros }
  }

  it("says what may be spent beyond the funds from now on", () => {
    given(ledger, opened()).when(change).records(changed(false, 9))
    const facts = [opened(), changed(false, 9_000)]
    given(ledger, ...facts)
      .when(charge())
      .records(charged())
    given(ledger, ...facts, changed(false, 8_999))
      .when(charge())
      .refuses("payment_required", { creditLineMicros: 8_999 })
  })

  it("changes nothing where the terms are the same", () => {
    given(ledger, opened(9)).when(change).recordsNothing()
    given(ledger, opened(), changed(false, 9)).when(change).recordsNothing()
    given(ledger)
      .when({ ...change, creditLineMicros: 0 })
      .recordsNothing()
  })

  it("changes one of the two", () => {
    given(ledger, opened(9))
      .when({ ...change, prepaidOnly: true })
      .records(changed(true, 9))
    given(ledger, opened(9))
      .when({ ...change, creditLineMicros: 0 })
      .records(changed(false, 0))
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])("is refused a credit line of %d", (micros) => {
    given(ledger, opened())
      .when({ ...change, creditLineMicros: micros })
      .refuses("bad_amount")
  })

  it("lets a company that is prepaid only spend no credit line, and keeps the line", () => {
    const facts = [opened(9_000), changed(true, 9_000)]
    given(ledger, ...facts)
      .when(charge())
      .refuses("payment_required", { creditLineMicros: 0, prepaidOnly: true })
    const state = fold(ledger, ...facts)
    expect(accountOf(state)).toMatchObject({ creditLineMicros: 0, prepaidOnly: true })
    expect(termsOf(state)).toEqual({ prepaidOnly: true, creditLineMicros: 9_000 })
    given(ledger, ...facts, changed(false, 9_000))
      .when(charge())
      .records(charged())
  })
})
