import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { accountOf, allowanceOf } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { fold, given } from "../support/spec.ts"
import { NOW, charged, funded, opened } from "./ledger-facts.ts"
import { CENT, DOLLAR, buy, failed, may, paid, started } from "./purchase-facts.ts"

describe("SetPurchaseTerms", () => {
  const { type: _type, ...terms } = may() as Extract<LedgerEvent, { type: "PurchaseTermsSet" }>
  const set = { ...terms, type: "SetPurchaseTerms" } as const

  it("says what a key may buy", () => {
    given(ledger).when(set).records(may())
    expect(allowanceOf(fold(ledger, may()), "key_1", NOW)).toEqual({
      mode: "on",
      perPurchaseMicros: 25 * DOLLAR,
      perMonthMicros: 40 * DOLLAR,
      paidMicros: 0,
      pendingMicros: 0,
    })
    expect(allowanceOf(fold(ledger, may()), "key_2", NOW)).toBeNull()
  })

  it("records nothing where it is so already, and each change of one of the three", () => {
    given(ledger, may()).when(set).recordsNothing()
    for (const changed of [
      { mode: "off" },
      { perPurchaseMicros: 1 },
      { perMonthMicros: 0 },
    ] as const) {
      given(ledger, may())
        .when({ ...set, ...changed })
        .records(may(changed))
    }
    given(ledger, may({}, "key_2")).when(set).records(may())
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])("is refused a limit of %d micros", (micros) => {
    given(ledger)
      .when({ ...set, perPurchaseMicros: micros })
      .refuses("bad_amount")
    given(ledger)
      .when({ ...set, perMonthMicros: micros })
      .refuses("bad_amount")
  })

  it("takes limits of nothing and of the most there can be", () => {
    const ends = { perPurchaseMicros: 0, perMonthMicros: MAX_MICROS }
    given(ledger)
      .when({ ...set, ...ends })
      .records(may(ends))
  })
})

describe("StartPurchase", () => {
  it("without a key is an owner's: no terms are asked, and none of a key's allowance is taken", () => {
    const owns = { keyId: null, amountMicros: 5_000 * DOLLAR } as const
    given(ledger, may()).when(buy(owns)).records(started(owns))
    const state = fold(ledger, may(), started(owns), paid(owns))
    expect(accountOf(state).fundsMicros).toBe(5_000 * DOLLAR)
    expect(allowanceOf(state, "key_1", NOW)).toMatchObject({ paidMicros: 0, pendingMicros: 0 })
    given(ledger, started(owns)).when(buy(owns)).recordsNothing()
    given(ledger, may(), paid(owns)).when(buy(owns)).recordsNothing()
  })

  it("without a key is refused where nobody asks, and an amount that none may buy", () => {
    given(ledger)
      .when(buy({ keyId: null, personId: null }))
      .refuses("purchase_not_allowed")
    given(ledger)
      .when(buy({ keyId: null, amountMicros: 5 * DOLLAR - CENT }))
      .refuses("bad_amount")
  })

  it("takes the allowance, and raises no funds yet", () => {
    given(ledger, may()).when(buy()).records(started())
    const state = fold(ledger, may(), started())
    expect(accountOf(state).fundsMicros).toBe(0)
    expect(allowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 0,
      pendingMicros: 25 * DOLLAR,
    })
  })

  it("begins once: its id buys nothing more, pending, paid or failed", () => {
    for (const facts of [[], [paid()], [failed()]]) {
      given(ledger, may(), started(), ...facts)
        .when(buy())
        .recordsNothing()
      given(ledger, may(), started(), ...facts)
        .when(buy({ amountMicros: 1, keyId: "key_2" }))
        .recordsNothing()
    }
  })

  it.each([
    ["less than five dollars", 5 * DOLLAR - CENT],
    ["more than five thousand", 5_000 * DOLLAR + CENT],
    ["a part of a cent", 5 * DOLLAR + 1],
    ["half a micro", 5 * DOLLAR + 0.5],
    ["no number", Number.NaN],
  ])("is refused for %s, before its terms are looked at", (_what, amountMicros) => {
    given(ledger).when(buy({ amountMicros })).refuses("bad_amount", { terms: null, takenMicros: 0 })
  })

  it("may be of five and of five thousand dollars, and of one cent more than five", () => {
    const wide = may({ perPurchaseMicros: MAX_MICROS, perMonthMicros: MAX_MICROS })
    for (const amountMicros of [5 * DOLLAR, 5 * DOLLAR + CENT, 5_000 * DOLLAR]) {
      given(ledger, wide).when(buy({ amountMicros })).records(started({ amountMicros }))
    }
  })

  it("is refused where no owner turned it on, or wants to be asked", () => {
    given(ledger).when(buy()).refuses("purchase_not_allowed", { terms: null })
    given(ledger, may({}, "key_2")).when(buy()).refuses("purchase_not_allowed")
    given(ledger, may({ mode: "off" }))
      .when(buy())
      .refuses("purchase_not_allowed", {
        terms: { mode: "off", perPurchaseMicros: 25 * DOLLAR, perMonthMicros: 40 * DOLLAR },
      })
    given(ledger, may({ mode: "needs_owner_review" }))
      .when(buy())
      .refuses("purchase_needs_review")
    given(ledger, may({ mode: "off" }), may())
      .when(buy())
      .records(started())
  })

  it("is refused beyond the limit for one purchase, and fills it to the cent", () => {
    given(ledger, may())
      .when(buy({ amountMicros: 25 * DOLLAR + CENT }))
      .refuses("over_purchase_limit")
    given(ledger, may({ perPurchaseMicros: 25 * DOLLAR - 1 }))
      .when(buy())
      .refuses("over_purchase_limit")
  })

  it("is refused beyond the month's allowance, of which what is pending is taken", () => {
    const rest = { purchaseId: "pur_2", amountMicros: 15 * DOLLAR } as const
    for (const begun of [[started()], [started(), paid()]]) {
      given(ledger, may(), ...begun)
        .when(buy(rest))
        .records(started(rest))
      given(ledger, may(), ...begun)
        .when(buy({ ...rest, amountMicros: 15 * DOLLAR + CENT }))
        .refuses("over_monthly_limit", {
          purchaseId: "pur_2",
          keyId: "key_1",
          amountMicros: 15 * DOLLAR + CENT,
          takenMicros: 25 * DOLLAR,
        })
    }
    given(ledger, may(), may({}, "key_2"), started({ keyId: "key_2" }))
      .when(buy({ ...rest, amountMicros: 25 * DOLLAR }))
      .records(started({ ...rest, amountMicros: 25 * DOLLAR }))
  })

  it("looks at the limit of one purchase before that of the month", () => {
    given(ledger, may({ perMonthMicros: 0 }))
      .when(buy({ amountMicros: 26 * DOLLAR }))
      .refuses("over_purchase_limit")
    given(ledger, may({ perMonthMicros: 0 }))
      .when(buy())
      .refuses("over_monthly_limit", { takenMicros: 0 })
  })

  it("passes on a locked account: it is how to be unlocked", () => {
    given(ledger, may(), { type: "AccountLocked", at: NOW }).when(buy()).records(started())
  })

  it("is refused for a deleted company, before anything else", () => {
    given(ledger, { type: "LedgerClosed", at: NOW })
      .when(buy({ amountMicros: 1 }))
      .refuses("ledger_closed")
    given(ledger, may(), started(), { type: "LedgerClosed", at: NOW }).when(buy()).recordsNothing()
  })

  it("is refused where funds or the month's sum could not be added exactly", () => {
    const [five, rest] = [{ amountMicros: 5 * DOLLAR }, MAX_MICROS - 5 * DOLLAR]
    given(ledger, may(), funded(rest)).when(buy(five)).records(started(five))
    given(ledger, may(), funded(rest + 1))
      .when(buy(five))
      .refuses("bad_amount")
    given(ledger, may(), funded(rest), charged({ exemption: "funds" }), funded(1))
      .when(buy(five))
      .refuses("bad_amount")
    // Bought and spent within the month: only the sum of what was bought stands against it.
    const much = started({ amountMicros: rest + 1 })
    const spent = charged({ amountMicros: rest + 1, isPending: false, exemption: "funds" })
    const done = [much, paid({ amountMicros: rest + 1 }), spent]
    const wide = may({ perMonthMicros: MAX_MICROS })
    given(ledger, opened(), wide, ...done)
      .when(buy({ ...five, purchaseId: "pur_2" }))
      .refuses("bad_amount")
  })
})
