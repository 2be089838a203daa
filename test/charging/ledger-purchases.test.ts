import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf, purchaseAllowanceOf } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, charged, fundsAdded, ledgerOpened } from "./ledger-facts.ts"
import {
  CENT,
  DOLLAR,
  startPurchaseCommand,
  purchaseFailedFact,
  purchaseTermsSetFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"

describe("SetPurchaseTerms", () => {
  const { type: _type, ...terms } = purchaseTermsSetFact() as Extract<
    LedgerEvent,
    { type: "PurchaseTermsSet" }
  >
  const set = { ...terms, type: "SetPurchaseTerms" } as const

  it("sets what a key may buy", () => {
    given(ledgerDecider).when(set).records(purchaseTermsSetFact())
    expect(
      purchaseAllowanceOf(foldFacts(ledgerDecider, purchaseTermsSetFact()), "key_1", NOW),
    ).toEqual({
      mode: "on",
      perPurchaseMicros: 25 * DOLLAR,
      perMonthMicros: 40 * DOLLAR,
      paidMicros: 0,
      pendingMicros: 0,
    })
    expect(
      purchaseAllowanceOf(foldFacts(ledgerDecider, purchaseTermsSetFact()), "key_2", NOW),
    ).toBeNull()
  })

  it("records nothing if nothing changes, and every change of one of the three fields", () => {
    given(ledgerDecider, purchaseTermsSetFact()).when(set).recordsNothing()
    for (const changed of [
      { mode: "off" },
      { perPurchaseMicros: 1 },
      { perMonthMicros: 0 },
    ] as const) {
      given(ledgerDecider, purchaseTermsSetFact())
        .when({ ...set, ...changed })
        .records(purchaseTermsSetFact(changed))
    }
    given(ledgerDecider, purchaseTermsSetFact({}, "key_2"))
      .when(set)
      .records(purchaseTermsSetFact())
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])(
    "is rejected for a limit of %d micros",
    (micros) => {
      given(ledgerDecider)
        .when({ ...set, perPurchaseMicros: micros })
        .refuses("bad_amount")
      given(ledgerDecider)
        .when({ ...set, perMonthMicros: micros })
        .refuses("bad_amount")
    },
  )

  it("accepts limits of zero and of the largest amount", () => {
    const ends = { perPurchaseMicros: 0, perMonthMicros: MAX_MICROS }
    given(ledgerDecider)
      .when({ ...set, ...ends })
      .records(purchaseTermsSetFact(ends))
  })
})

describe("StartPurchase", () => {
  it("without a key is an owner's purchase, which needs no terms and uses no key's allowance", () => {
    const owns = { keyId: null, amountMicros: 5_000 * DOLLAR } as const
    given(ledgerDecider, purchaseTermsSetFact())
      .when(startPurchaseCommand(owns))
      .records(purchaseStartedFact(owns))
    const state = foldFacts(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(owns),
      purchasePaidFact(owns),
    )
    expect(accountOf(state).fundsMicros).toBe(5_000 * DOLLAR)
    expect(purchaseAllowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 0,
      pendingMicros: 0,
    })
    given(ledgerDecider, purchaseStartedFact(owns))
      .when(startPurchaseCommand(owns))
      .recordsNothing()
    given(ledgerDecider, purchaseTermsSetFact(), purchasePaidFact(owns))
      .when(startPurchaseCommand(owns))
      .recordsNothing()
  })

  it("without a key is rejected without a person, and for an amount out of range", () => {
    given(ledgerDecider)
      .when(startPurchaseCommand({ keyId: null, personId: null }))
      .refuses("purchase_not_allowed")
    given(ledgerDecider)
      .when(startPurchaseCommand({ keyId: null, amountMicros: 5 * DOLLAR - CENT }))
      .refuses("bad_amount")
  })

  it("uses the allowance, and does not raise the funds yet", () => {
    given(ledgerDecider, purchaseTermsSetFact())
      .when(startPurchaseCommand())
      .records(purchaseStartedFact())
    const state = foldFacts(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
    expect(accountOf(state).fundsMicros).toBe(0)
    expect(purchaseAllowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 0,
      pendingMicros: 25 * DOLLAR,
    })
  })

  it("starts once: its id starts no other purchase, whether pending, paid or failed", () => {
    for (const facts of [[], [purchasePaidFact()], [purchaseFailedFact()]]) {
      given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), ...facts)
        .when(startPurchaseCommand())
        .recordsNothing()
      given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), ...facts)
        .when(startPurchaseCommand({ amountMicros: 1, keyId: "key_2" }))
        .recordsNothing()
    }
  })

  it.each([
    ["less than five dollars", 5 * DOLLAR - CENT],
    ["more than five thousand", 5_000 * DOLLAR + CENT],
    ["a part of a cent", 5 * DOLLAR + 1],
    ["half a micro", 5 * DOLLAR + 0.5],
    ["no number", Number.NaN],
  ])("is rejected for %s, before its terms are checked", (_case, amountMicros) => {
    given(ledgerDecider)
      .when(startPurchaseCommand({ amountMicros }))
      .refuses("bad_amount", { terms: null, takenMicros: 0 })
  })

  it("accepts $5, $5,000, and one cent more than $5", () => {
    const wide = purchaseTermsSetFact({ perPurchaseMicros: MAX_MICROS, perMonthMicros: MAX_MICROS })
    for (const amountMicros of [5 * DOLLAR, 5 * DOLLAR + CENT, 5_000 * DOLLAR]) {
      given(ledgerDecider, wide)
        .when(startPurchaseCommand({ amountMicros }))
        .records(purchaseStartedFact({ amountMicros }))
    }
  })

  it("is rejected unless an owner has turned purchases on, or if an owner must review it", () => {
    given(ledgerDecider)
      .when(startPurchaseCommand())
      .refuses("purchase_not_allowed", { terms: null })
    given(ledgerDecider, purchaseTermsSetFact({}, "key_2"))
      .when(startPurchaseCommand())
      .refuses("purchase_not_allowed")
    given(ledgerDecider, purchaseTermsSetFact({ mode: "off" }))
      .when(startPurchaseCommand())
      .refuses("purchase_not_allowed", {
        terms: { mode: "off", perPurchaseMicros: 25 * DOLLAR, perMonthMicros: 40 * DOLLAR },
      })
    given(ledgerDecider, purchaseTermsSetFact({ mode: "needs_owner_review" }))
      .when(startPurchaseCommand())
      .refuses("purchase_needs_review")
    given(ledgerDecider, purchaseTermsSetFact({ mode: "off" }), purchaseTermsSetFact())
      .when(startPurchaseCommand())
      .records(purchaseStartedFact())
  })

  it("is rejected above the limit for one purchase, and can reach it to the cent", () => {
    given(ledgerDecider, purchaseTermsSetFact())
      .when(startPurchaseCommand({ amountMicros: 25 * DOLLAR + CENT }))
      .refuses("over_purchase_limit")
    given(ledgerDecider, purchaseTermsSetFact({ perPurchaseMicros: 25 * DOLLAR - 1 }))
      .when(startPurchaseCommand())
      .refuses("over_purchase_limit")
  })

  it("is rejected above the month's allowance, which includes pending purchases", () => {
    const rest = { purchaseId: "pur_2", amountMicros: 15 * DOLLAR } as const
    for (const begun of [[purchaseStartedFact()], [purchaseStartedFact(), purchasePaidFact()]]) {
      given(ledgerDecider, purchaseTermsSetFact(), ...begun)
        .when(startPurchaseCommand(rest))
        .records(purchaseStartedFact(rest))
      given(ledgerDecider, purchaseTermsSetFact(), ...begun)
        .when(startPurchaseCommand({ ...rest, amountMicros: 15 * DOLLAR + CENT }))
        .refuses("over_monthly_limit", {
          purchaseId: "pur_2",
          keyId: "key_1",
          amountMicros: 15 * DOLLAR + CENT,
          takenMicros: 25 * DOLLAR,
        })
    }
    given(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseTermsSetFact({}, "key_2"),
      purchaseStartedFact({ keyId: "key_2" }),
    )
      .when(startPurchaseCommand({ ...rest, amountMicros: 25 * DOLLAR }))
      .records(purchaseStartedFact({ ...rest, amountMicros: 25 * DOLLAR }))
  })

  it("checks the limit of one purchase before that of the month", () => {
    given(ledgerDecider, purchaseTermsSetFact({ perMonthMicros: 0 }))
      .when(startPurchaseCommand({ amountMicros: 26 * DOLLAR }))
      .refuses("over_purchase_limit")
    given(ledgerDecider, purchaseTermsSetFact({ perMonthMicros: 0 }))
      .when(startPurchaseCommand())
      .refuses("over_monthly_limit", { takenMicros: 0 })
  })

  it("is accepted for a locked account, because it can unlock the account", () => {
    given(ledgerDecider, purchaseTermsSetFact(), { type: "AccountLocked", at: NOW })
      .when(startPurchaseCommand())
      .records(purchaseStartedFact())
  })

  it("is rejected for a deleted company, before anything else", () => {
    given(ledgerDecider, { type: "LedgerClosed", at: NOW })
      .when(startPurchaseCommand({ amountMicros: 1 }))
      .refuses("ledger_closed")
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), {
      type: "LedgerClosed",
      at: NOW,
    })
      .when(startPurchaseCommand())
      .recordsNothing()
  })

  it("is rejected if the funds or the month's total would not be exact", () => {
    const [five, rest] = [{ amountMicros: 5 * DOLLAR }, MAX_MICROS - 5 * DOLLAR]
    given(ledgerDecider, purchaseTermsSetFact(), fundsAdded(rest))
      .when(startPurchaseCommand(five))
      .records(purchaseStartedFact(five))
    given(ledgerDecider, purchaseTermsSetFact(), fundsAdded(rest + 1))
      .when(startPurchaseCommand(five))
      .refuses("bad_amount")
    given(
      ledgerDecider,
      purchaseTermsSetFact(),
      fundsAdded(rest),
      charged({ exemption: "funds" }),
      fundsAdded(1),
    )
      .when(startPurchaseCommand(five))
      .refuses("bad_amount")
    // Bought and spent within the month, so that only the month's total of purchases is near the limit.
    const much = purchaseStartedFact({ amountMicros: rest + 1 })
    const spent = charged({ amountMicros: rest + 1, isPending: false, exemption: "funds" })
    const done = [much, purchasePaidFact({ amountMicros: rest + 1 }), spent]
    const wide = purchaseTermsSetFact({ perMonthMicros: MAX_MICROS })
    given(ledgerDecider, ledgerOpened(), wide, ...done)
      .when(startPurchaseCommand({ ...five, purchaseId: "pur_2" }))
      .refuses("bad_amount")
  })
})
