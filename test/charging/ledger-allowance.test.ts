import { describe, expect, it } from "vitest"
import {
  accountOf,
  purchaseAllowanceOf,
  paymentIdOfPending,
} from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { ledgerCommandOf } from "../../domain/charging/replay.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, monthClosed, ledgerOpened } from "./ledger-facts.ts"
import {
  APRIL,
  DOLLAR,
  startPurchaseCommand,
  purchaseFailedFact,
  purchaseTermsSetFact,
  purchaseOrderedFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"

describe("an allowance", () => {
  it("is that of the month in which a purchase starts, from its first millisecond", () => {
    const second = { purchaseId: "pur_2" } as const
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
      .when(startPurchaseCommand({ ...second, at: APRIL - 1 }))
      .refuses("over_monthly_limit", { takenMicros: 25 * DOLLAR })
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
      .when(startPurchaseCommand({ ...second, at: APRIL }))
      .records(purchaseStartedFact({ ...second, at: APRIL }))
    const state = foldFacts(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
    expect(purchaseAllowanceOf(state, "key_1", APRIL - 1)?.pendingMicros).toBe(25 * DOLLAR)
    expect(purchaseAllowanceOf(state, "key_1", APRIL)?.pendingMicros).toBe(0)
  })

  it("is released when a purchase fails", () => {
    const second = { purchaseId: "pur_2" } as const
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), purchaseFailedFact())
      .when(startPurchaseCommand(second))
      .records(purchaseStartedFact(second))
    const state = foldFacts(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(),
      purchaseFailedFact(),
    )
    expect(purchaseAllowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 0,
      pendingMicros: 0,
    })
  })

  it("moves from pending to paid with the payment", () => {
    const state = foldFacts(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(),
      purchasePaidFact(),
    )
    expect(purchaseAllowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 25 * DOLLAR,
      pendingMicros: 0,
    })
  })

  it("ignores purchases of the previous month that end after a purchase of this month has started", () => {
    const second = { purchaseId: "pur_2", at: APRIL } as const
    for (const end of [purchasePaidFact({ at: APRIL }), purchaseFailedFact({ at: APRIL })]) {
      const state = foldFacts(
        ledgerDecider,
        purchaseTermsSetFact(),
        purchaseStartedFact(),
        purchaseStartedFact(second),
        end,
      )
      expect(purchaseAllowanceOf(state, "key_1", APRIL)).toMatchObject({
        paidMicros: 0,
        pendingMicros: 25 * DOLLAR,
      })
    }
  })

  it("ignores purchases of the previous month before this month has a purchase", () => {
    const state = foldFacts(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(),
      purchasePaidFact({ at: APRIL }),
    )
    expect(purchaseAllowanceOf(state, "key_1", APRIL)).toMatchObject({
      paidMicros: 0,
      pendingMicros: 0,
    })
  })
})

describe("PayPurchase and FailPurchase", () => {
  const pay = { type: "PayPurchase", at: NOW, purchaseId: "pur_1", paymentId: "pi_1" } as const
  const fail = {
    type: "FailPurchase",
    at: NOW,
    purchaseId: "pur_1",
    code: "declined",
    paymentId: null,
  } as const

  it("end a purchase: paid raises the funds, failed does not", () => {
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
      .when({ ...pay, at: NOW + 5 })
      .records(purchasePaidFact({ at: NOW + 5 }))
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
      .when({ ...fail, at: NOW + 5 })
      .records(purchaseFailedFact({ at: NOW + 5 }))
    expect(
      accountOf(foldFacts(ledgerDecider, purchaseStartedFact(), purchasePaidFact())).fundsMicros,
    ).toBe(25 * DOLLAR)
    expect(
      accountOf(foldFacts(ledgerDecider, purchaseStartedFact(), purchaseFailedFact())).fundsMicros,
    ).toBe(0)
  })

  it("record nothing for a purchase that is not pending", () => {
    for (const facts of [
      [],
      [purchaseStartedFact(), purchasePaidFact()],
      [purchaseStartedFact(), purchaseFailedFact()],
    ]) {
      given(ledgerDecider, ...facts)
        .when(pay)
        .recordsNothing()
      given(ledgerDecider, ...facts)
        .when(fail)
        .recordsNothing()
    }
  })

  it("are accepted for a locked account and for a deleted company", () => {
    for (const type of ["AccountLocked", "LedgerClosed"] as const) {
      given(ledgerDecider, purchaseStartedFact(), { type, at: NOW })
        .when(pay)
        .records(purchasePaidFact())
      given(ledgerDecider, purchaseStartedFact(), { type, at: NOW })
        .when(fail)
        .records(purchaseFailedFact())
    }
  })

  it("follow the closing of the previous month", () => {
    given(ledgerDecider, ledgerOpened(), purchaseStartedFact())
      .when({ ...pay, at: APRIL })
      .records(monthClosed({ headRevision: 1 }), purchasePaidFact({ at: APRIL }))
  })
})

describe("OrderPurchase", () => {
  const order = { type: "OrderPurchase", at: NOW, purchaseId: "pur_1", paymentId: "pi_1" } as const

  it("records the payment of a pending purchase once", () => {
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
      .when(order)
      .records(purchaseOrderedFact())
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), purchaseOrderedFact())
      .when(order)
      .recordsNothing()
    given(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact(), purchaseOrderedFact())
      .when({ ...order, paymentId: "pi_2" })
      .recordsNothing()
    const state = foldFacts(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(),
      purchaseOrderedFact(),
    )
    expect(paymentIdOfPending(state, "pur_1")).toBe("pi_1")
    expect(accountOf(state).fundsMicros).toBe(0)
    expect(purchaseAllowanceOf(state, "key_1", NOW)?.pendingMicros).toBe(25 * DOLLAR)
  })

  it("records nothing for a purchase that never started, or has ended", () => {
    for (const facts of [
      [],
      [purchaseStartedFact(), purchasePaidFact()],
      [purchaseStartedFact(), purchaseFailedFact()],
    ]) {
      given(ledgerDecider, ...facts)
        .when(order)
        .recordsNothing()
    }
  })

  it("names the payment in the purchase's failure, unless that names another one", () => {
    const fail = { type: "FailPurchase", at: NOW, purchaseId: "pur_1", code: "declined" } as const
    const known = given(
      ledgerDecider,
      purchaseTermsSetFact(),
      purchaseStartedFact(),
      purchaseOrderedFact(),
    )
    known.when({ ...fail, paymentId: null }).records(purchaseFailedFact({ paymentId: "pi_1" }))
    known.when({ ...fail, paymentId: "pi_2" }).records(purchaseFailedFact({ paymentId: "pi_2" }))
  })

  it("is derived from its fact", () => {
    const before = foldFacts(ledgerDecider, purchaseTermsSetFact(), purchaseStartedFact())
    const nothingLeft = () => 0
    expect(ledgerCommandOf(purchaseOrderedFact(), before, nothingLeft)).toMatchObject({
      ...order,
      at: NOW,
    })
    const failure = purchaseFailedFact({ paymentId: "pi_1" })
    expect(ledgerCommandOf(failure, before, nothingLeft)).toMatchObject({
      type: "FailPurchase",
      paymentId: "pi_1",
    })
  })
})
