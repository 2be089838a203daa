import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { fold, given } from "../support/spec.ts"
import { NOW, charge, charged, closed, funded, givenBack, opened } from "./ledger-facts.ts"

const ready = [opened(), funded(1_000_000)]

describe("OpenLedger", () => {
  const open = { type: "OpenLedger", at: NOW, prepaidOnly: false, creditLineMicros: 5 } as const

  it("begins a ledger", () => {
    given(ledger)
      .when(open)
      .records({ type: "LedgerOpened", at: NOW, prepaidOnly: false, creditLineMicros: 5 })
  })

  it("changes nothing of one that is open, whatever it asks for now", () => {
    given(ledger, opened(5))
      .when({ ...open, creditLineMicros: 9 })
      .recordsNothing()
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])("is refused a credit line of %d", (micros) => {
    given(ledger)
      .when({ ...open, creditLineMicros: micros })
      .refuses("bad_amount")
  })
})

describe("CloseCharges", () => {
  const close = { type: "CloseCharges", at: NOW, chargeIds: ["chg_1", "chg_1", "chg_9"] } as const

  it("closes those that are open, once", () => {
    given(ledger, charged()).when(close).records(closed("chg_1"))
  })

  it("records nothing where none is open", () => {
    given(ledger, charged({ isPending: false }))
      .when(close)
      .recordsNothing()
    given(ledger, charged(), closed("chg_1")).when(close).recordsNothing()
    given(ledger, charged(), givenBack()).when(close).recordsNothing()
  })
})

describe("LockAccount and UnlockAccount", () => {
  const locked: LedgerEvent = { type: "AccountLocked", at: NOW }
  const unlocked: LedgerEvent = { type: "AccountUnlocked", at: NOW }

  it("stop all charges, and let them through again", () => {
    given(ledger, ...ready)
      .when({ type: "LockAccount", at: NOW })
      .records(locked)
    given(ledger, ...ready, locked)
      .when(charge())
      .refuses("account_locked", { refusingLimit: null })
    given(ledger, ...ready, locked)
      .when({ type: "UnlockAccount", at: NOW })
      .records(unlocked)
    given(ledger, ...ready, locked, unlocked)
      .when(charge())
      .records(charged())
  })

  it("record nothing where it is so already", () => {
    given(ledger, locked).when({ type: "LockAccount", at: NOW }).recordsNothing()
    given(ledger, ...ready)
      .when({ type: "UnlockAccount", at: NOW })
      .recordsNothing()
  })
})

describe("the ledger's state", () => {
  it("is of no account before it is opened", () => {
    expect(accountOf(fold(ledger))).toEqual({
      opened: false,
      closed: false,
      locked: false,
      prepaidOnly: false,
      fundsMicros: 0,
      creditLineMicros: 0,
    })
  })

  it("has a stream of its own per company", () => {
    expect(ledgerOf("co_1").stream).toBe("ledger-co_1")
  })
})
