import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  NOW,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  limitSet,
  ledgerOpened,
  setLimitCommand,
} from "./ledger-facts.ts"

const shut: LedgerEvent = { type: "LedgerClosed", at: NOW }
const reopened: LedgerEvent = { type: "LedgerReopened", at: NOW }
const ready = [ledgerOpened(), fundsAdded(1_000_000)]

describe("CloseLedger and ReopenLedger", () => {
  it("stop all charges of a deleted company, and allow them again", () => {
    given(ledgerDecider, ...ready)
      .when({ type: "CloseLedger", at: NOW })
      .records(shut)
    given(ledgerDecider, ...ready, shut)
      .when({ type: "ReopenLedger", at: NOW })
      .records(reopened)
    given(ledgerDecider, ...ready, shut, reopened)
      .when(chargeCommand())
      .records(charged())
    expect(accountOf(foldFacts(ledgerDecider, ...ready)).closed).toBe(false)
    expect(accountOf(foldFacts(ledgerDecider, ...ready, shut)).closed).toBe(true)
    expect(accountOf(foldFacts(ledgerDecider, ...ready, shut, reopened)).closed).toBe(false)
  })

  it("record nothing if nothing would change", () => {
    given(ledgerDecider, shut).when({ type: "CloseLedger", at: NOW }).recordsNothing()
    given(ledgerDecider).when({ type: "ReopenLedger", at: NOW }).recordsNothing()
    given(ledgerDecider, shut, reopened).when({ type: "ReopenLedger", at: NOW }).recordsNothing()
    given(ledgerDecider, shut, reopened).when({ type: "CloseLedger", at: NOW }).records(shut)
  })
})

describe("StartErasure", () => {
  const FORTNIGHT = 14 * 86_400_000
  const due = NOW + FORTNIGHT
  const begun: LedgerEvent = { type: "ErasureStarted", at: due }

  it("starts 14 days after the deletion, to the millisecond, once", () => {
    given(ledgerDecider, shut)
      .when({ type: "StartErasure", at: due - 1 })
      .refuses("not_deleted")
    given(ledgerDecider, shut).when({ type: "StartErasure", at: due }).records(begun)
    given(ledgerDecider, shut, begun).when({ type: "StartErasure", at: due }).recordsNothing()
    expect(deletionOf(foldFacts(ledgerDecider, shut))).toEqual({
      erasureStartsAt: due,
      isErasing: false,
    })
    expect(deletionOf(foldFacts(ledgerDecider, shut, begun))).toEqual({
      erasureStartsAt: due,
      isErasing: true,
    })
  })

  it("is rejected for a company that is not deleted, or was deleted again later", () => {
    given(ledgerDecider).when({ type: "StartErasure", at: due }).refuses("not_deleted")
    given(ledgerDecider, shut, reopened)
      .when({ type: "StartErasure", at: due })
      .refuses("not_deleted")
    const again: LedgerEvent = { type: "LedgerClosed", at: NOW + 1 }
    given(ledgerDecider, shut, reopened, again)
      .when({ type: "StartErasure", at: due })
      .refuses("not_deleted")
    expect(deletionOf(foldFacts(ledgerDecider, shut, reopened))).toBeNull()
  })

  it("cannot be undone; until then the company can be restored", () => {
    given(ledgerDecider, shut)
      .when({ type: "ReopenLedger", at: due })
      .records({ type: "LedgerReopened", at: due })
    given(ledgerDecider, shut, begun)
      .when({ type: "ReopenLedger", at: due })
      .refuses("company_erased")
    given(ledgerDecider, shut, begun).when({ type: "CloseLedger", at: due }).recordsNothing()
  })
})

describe("a closed ledger", () => {
  const name = { holder: "company", holderId: null, class: "general" } as const
  const terms = { mode: "on", perPurchaseMicros: 1, perMonthMicros: 1 } as const

  it.each([
    [
      "ChangeCreditTerms",
      { type: "ChangeCreditTerms", at: NOW, prepaidOnly: true, creditLineMicros: -1 },
    ],
    ["AddFunds", { type: "AddFunds", at: NOW, amountMicros: 7, reference: null }],
    ["SetLimit", setLimitCommand({ period: "day" })],
    ["RemoveLimit", { type: "RemoveLimit", at: NOW, ...name }],
    ["SetPurchaseTerms", { type: "SetPurchaseTerms", at: NOW, keyId: "key_1", ...terms }],
  ] as const)("rejects %s, before it checks the command's fields", (_case, command) => {
    given(ledgerDecider, ...ready, limitSet(), shut)
      .when(command)
      .refuses("ledger_closed")
  })

  it("refuses charges, with all the evidence", () => {
    given(ledgerDecider, ...ready, limitSet({ amountMicros: 0 }), shut)
      .when(chargeCommand())
      .refuses("ledger_closed", { fundsMicros: 1_000_000, refusingLimit: null, ledgerRevision: 3 })
  })

  it("lets pending charges and purchases end, and can be corrected, locked and unlocked", () => {
    const facts = [...ready, charged(), shut]
    given(ledgerDecider, ...facts)
      .when(chargeCommand())
      .recordsNothing()
    given(ledgerDecider, ...facts)
      .when({ type: "SettleCharges", at: NOW, chargeIds: ["chg_1"] })
      .records(chargesSettled("chg_1"))
    const reason = "the carrier refused it"
    given(ledgerDecider, ...facts)
      .when({ type: "RefundPendingCharge", at: NOW, chargeId: "chg_1", amountMicros: null, reason })
      .records(chargeReduced())
    given(ledgerDecider, ...facts)
      .when({ type: "CorrectFunds", at: NOW, amountMicros: -5, reason })
      .records({ type: "FundsCorrected", at: NOW, amountMicros: -5, reason })
    given(ledgerDecider, ...facts)
      .when({ type: "LockAccount", at: NOW })
      .records({ type: "AccountLocked", at: NOW })
    given(ledgerDecider, ...facts, { type: "AccountLocked", at: NOW })
      .when({ type: "UnlockAccount", at: NOW })
      .records({ type: "AccountUnlocked", at: NOW })
    given(ledgerDecider, shut)
      .when({ type: "OpenLedger", at: NOW, prepaidOnly: false, creditLineMicros: 0 })
      .records(ledgerOpened())
  })
})
