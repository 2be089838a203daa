import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { fold, given } from "../support/spec.ts"
import {
  NOW,
  charge,
  charged,
  closed,
  funded,
  givenBack,
  limitSet,
  opened,
  setLimit,
} from "./ledger-facts.ts"

const shut: LedgerEvent = { type: "LedgerClosed", at: NOW }
const reopened: LedgerEvent = { type: "LedgerReopened", at: NOW }
const ready = [opened(), funded(1_000_000)]

describe("CloseLedger and ReopenLedger", () => {
  it("sell nothing more to a deleted company, and undo that", () => {
    given(ledger, ...ready)
      .when({ type: "CloseLedger", at: NOW })
      .records(shut)
    given(ledger, ...ready, shut)
      .when({ type: "ReopenLedger", at: NOW })
      .records(reopened)
    given(ledger, ...ready, shut, reopened)
      .when(charge())
      .records(charged())
    expect(accountOf(fold(ledger, ...ready)).closed).toBe(false)
    expect(accountOf(fold(ledger, ...ready, shut)).closed).toBe(true)
    expect(accountOf(fold(ledger, ...ready, shut, reopened)).closed).toBe(false)
  })

  it("record nothing where it is so already", () => {
    given(ledger, shut).when({ type: "CloseLedger", at: NOW }).recordsNothing()
    given(ledger).when({ type: "ReopenLedger", at: NOW }).recordsNothing()
    given(ledger, shut, reopened).when({ type: "ReopenLedger", at: NOW }).recordsNothing()
    given(ledger, shut, reopened).when({ type: "CloseLedger", at: NOW }).records(shut)
  })
})

describe("BeginErasure", () => {
  const FORTNIGHT = 14 * 86_400_000
  const due = NOW + FORTNIGHT
  const begun: LedgerEvent = { type: "ErasureStarted", at: due }

  it("begins 14 days after the deletion, to the millisecond, once", () => {
    given(ledger, shut)
      .when({ type: "BeginErasure", at: due - 1 })
      .refuses("not_deleted")
    given(ledger, shut).when({ type: "BeginErasure", at: due }).records(begun)
    given(ledger, shut, begun).when({ type: "BeginErasure", at: due }).recordsNothing()
    expect(deletionOf(fold(ledger, shut))).toEqual({ erasedFrom: due, erasing: false })
    expect(deletionOf(fold(ledger, shut, begun))).toEqual({ erasedFrom: due, erasing: true })
  })

  it("does not begin for a company that is not deleted, or deleted anew since", () => {
    given(ledger).when({ type: "BeginErasure", at: due }).refuses("not_deleted")
    given(ledger, shut, reopened).when({ type: "BeginErasure", at: due }).refuses("not_deleted")
    const again: LedgerEvent = { type: "LedgerClosed", at: NOW + 1 }
    given(ledger, shut, reopened, again)
      .when({ type: "BeginErasure", at: due })
      .refuses("not_deleted")
    expect(deletionOf(fold(ledger, shut, reopened))).toBeNull()
  })

  it("leaves no way back: until then there is one", () => {
    given(ledger, shut)
      .when({ type: "ReopenLedger", at: due })
      .records({ type: "LedgerReopened", at: due })
    given(ledger, shut, begun).when({ type: "ReopenLedger", at: due }).refuses("company_erased")
    given(ledger, shut, begun).when({ type: "CloseLedger", at: due }).recordsNothing()
  })
})

describe("a closed ledger", () => {
  const name = { holder: "company", holderId: null, class: "general" } as const
  const terms = { mode: "on", perPurchaseMicros: 1, perMonthMicros: 1 } as const

  it.each([
    ["ChangeTerms", { type: "ChangeTerms", at: NOW, prepaidOnly: true, creditLineMicros: -1 }],
    ["AddFunds", { type: "AddFunds", at: NOW, amountMicros: 7, reference: null }],
    ["SetLimit", setLimit({ period: "day" })],
    ["RemoveLimit", { type: "RemoveLimit", at: NOW, ...name }],
    ["SetPurchaseTerms", { type: "SetPurchaseTerms", at: NOW, keyId: "key_1", ...terms }],
  ] as const)("refuses %s, before it looks at what is asked", (_what, command) => {
    given(ledger, ...ready, limitSet(), shut)
      .when(command)
      .refuses("ledger_closed")
  })

  it("refuses to be charged, with all the evidence", () => {
    given(ledger, ...ready, limitSet({ amountMicros: 0 }), shut)
      .when(charge())
      .refuses("ledger_closed", { fundsMicros: 1_000_000, refusingLimit: null, ledgerRevision: 3 })
  })

  it("lets end what is under way, and be corrected, locked and unlocked", () => {
    const facts = [...ready, charged(), shut]
    given(ledger, ...facts)
      .when(charge())
      .recordsNothing()
    given(ledger, ...facts)
      .when({ type: "CloseCharges", at: NOW, chargeIds: ["chg_1"] })
      .records(closed("chg_1"))
    const reason = "the carrier refused it"
    given(ledger, ...facts)
      .when({ type: "GiveBack", at: NOW, chargeId: "chg_1", amountMicros: null, reason })
      .records(givenBack())
    given(ledger, ...facts)
      .when({ type: "CorrectFunds", at: NOW, amountMicros: -5, reason })
      .records({ type: "FundsCorrected", at: NOW, amountMicros: -5, reason })
    given(ledger, ...facts)
      .when({ type: "LockAccount", at: NOW })
      .records({ type: "AccountLocked", at: NOW })
    given(ledger, ...facts, { type: "AccountLocked", at: NOW })
      .when({ type: "UnlockAccount", at: NOW })
      .records({ type: "AccountUnlocked", at: NOW })
    given(ledger, shut)
      .when({ type: "OpenLedger", at: NOW, prepaidOnly: false, creditLineMicros: 0 })
      .records(opened())
  })
})
