import { describe, expect, it } from "vitest"
import { accountOf, allowanceOf, paymentOfPending } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { commandOfFact } from "../../domain/charging/replayed.ts"
import { fold, given } from "../support/spec.ts"
import { NOW, monthClosed, opened } from "./ledger-facts.ts"
import { APRIL, DOLLAR, buy, failed, may, ordered, paid, started } from "./purchase-facts.ts"

describe("an allowance", () => {
  it("is that of the month in which a purchase begins, from its first millisecond", () => {
    const second = { purchaseId: "pur_2" } as const
    given(ledger, may(), started())
      .when(buy({ ...second, at: APRIL - 1 }))
      .refuses("over_monthly_limit", { takenMicros: 25 * DOLLAR })
    given(ledger, may(), started())
      .when(buy({ ...second, at: APRIL }))
      .records(started({ ...second, at: APRIL }))
    const state = fold(ledger, may(), started())
    expect(allowanceOf(state, "key_1", APRIL - 1)?.pendingMicros).toBe(25 * DOLLAR)
    expect(allowanceOf(state, "key_1", APRIL)?.pendingMicros).toBe(0)
  })

  it("comes back with a purchase that fails", () => {
    const second = { purchaseId: "pur_2" } as const
    given(ledger, may(), started(), failed()).when(buy(second)).records(started(second))
    const state = fold(ledger, may(), started(), failed())
    expect(allowanceOf(state, "key_1", NOW)).toMatchObject({ paidMicros: 0, pendingMicros: 0 })
  })

  it("moves from pending to paid with the payment", () => {
    const state = fold(ledger, may(), started(), paid())
    expect(allowanceOf(state, "key_1", NOW)).toMatchObject({
      paidMicros: 25 * DOLLAR,
      pendingMicros: 0,
    })
  })

  it("is not moved by what began in the month before, once there is a purchase of this one", () => {
    const second = { purchaseId: "pur_2", at: APRIL } as const
    for (const end of [paid({ at: APRIL }), failed({ at: APRIL })]) {
      const state = fold(ledger, may(), started(), started(second), end)
      expect(allowanceOf(state, "key_1", APRIL)).toMatchObject({
        paidMicros: 0,
        pendingMicros: 25 * DOLLAR,
      })
    }
  })

  it("is not taken by what began in the month before, where this one has no purchase yet", () => {
    const state = fold(ledger, may(), started(), paid({ at: APRIL }))
    expect(allowanceOf(state, "key_1", APRIL)).toMatchObject({ paidMicros: 0, pendingMicros: 0 })
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
    given(ledger, may(), started())
      .when({ ...pay, at: NOW + 5 })
      .records(paid({ at: NOW + 5 }))
    given(ledger, may(), started())
      .when({ ...fail, at: NOW + 5 })
      .records(failed({ at: NOW + 5 }))
    expect(accountOf(fold(ledger, started(), paid())).fundsMicros).toBe(25 * DOLLAR)
    expect(accountOf(fold(ledger, started(), failed())).fundsMicros).toBe(0)
  })

  it("record nothing for a purchase that is not pending", () => {
    for (const facts of [[], [started(), paid()], [started(), failed()]]) {
      given(ledger, ...facts)
        .when(pay)
        .recordsNothing()
      given(ledger, ...facts)
        .when(fail)
        .recordsNothing()
    }
  })

  it("pass for a locked account and for a deleted company", () => {
    for (const type of ["AccountLocked", "LedgerClosed"] as const) {
      given(ledger, started(), { type, at: NOW }).when(pay).records(paid())
      given(ledger, started(), { type, at: NOW }).when(fail).records(failed())
    }
  })

  it("are led by the closing of the month before", () => {
    given(ledger, opened(), started())
      .when({ ...pay, at: APRIL })
      .records(monthClosed({ headRevision: 1 }), paid({ at: APRIL }))
  })
})

describe("OrderPurchase", () => {
  const order = { type: "OrderPurchase", at: NOW, purchaseId: "pur_1", paymentId: "pi_1" } as const

  it("records the payment of a pending purchase once", () => {
    given(ledger, may(), started()).when(order).records(ordered())
    given(ledger, may(), started(), ordered()).when(order).recordsNothing()
    given(ledger, may(), started(), ordered())
      .when({ ...order, paymentId: "pi_2" })
      .recordsNothing()
    const state = fold(ledger, may(), started(), ordered())
    expect(paymentOfPending(state, "pur_1")).toBe("pi_1")
    expect(accountOf(state).fundsMicros).toBe(0)
    expect(allowanceOf(state, "key_1", NOW)?.pendingMicros).toBe(25 * DOLLAR)
  })

  it("records nothing for a purchase that never began, or has ended", () => {
    for (const facts of [[], [started(), paid()], [started(), failed()]]) {
      given(ledger, ...facts)
        .when(order)
        .recordsNothing()
    }
  })

  it("names the payment in the purchase's failure, unless that names another one", () => {
    const fail = { type: "FailPurchase", at: NOW, purchaseId: "pur_1", code: "declined" } as const
    const known = given(ledger, may(), started(), ordered())
    known.when({ ...fail, paymentId: null }).records(failed({ paymentId: "pi_1" }))
    known.when({ ...fail, paymentId: "pi_2" }).records(failed({ paymentId: "pi_2" }))
  })

  it("is the command that its fact came from", () => {
    const before = fold(ledger, may(), started())
    const nothingLeft = () => 0
    expect(commandOfFact(ordered(), before, nothingLeft)).toMatchObject({ ...order, at: NOW })
    const failure = failed({ paymentId: "pi_1" })
    expect(commandOfFact(failure, before, nothingLeft)).toMatchObject({
      type: "FailPurchase",
      paymentId: "pi_1",
    })
  })
})
