import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  NOW,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  ledgerOpened,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]

describe("OpenLedger", () => {
  const open = { type: "OpenLedger", at: NOW, prepaidOnly: false, creditLineMicros: 5 } as const

  it("opens a ledger", () => {
    given(ledgerDecider)
      .when(open)
      .records({ type: "LedgerOpened", at: NOW, prepaidOnly: false, creditLineMicros: 5 })
  })

  it("changes nothing in an open ledger, whatever its fields", () => {
    given(ledgerDecider, ledgerOpened(5))
      .when({ ...open, creditLineMicros: 9 })
      .recordsNothing()
  })

  it.each([-1, 0.5, Number.NaN, MAX_MICROS + 1])(
    "is rejected for a credit line of %d",
    (micros) => {
      given(ledgerDecider)
        .when({ ...open, creditLineMicros: micros })
        .refuses("bad_amount")
    },
  )
})

describe("SettleCharges", () => {
  const close = { type: "SettleCharges", at: NOW, chargeIds: ["chg_1", "chg_1", "chg_9"] } as const

  it("settles pending charges, once", () => {
    given(ledgerDecider, charged()).when(close).records(chargesSettled("chg_1"))
  })

  it("records nothing if none is pending", () => {
    given(ledgerDecider, charged({ isPending: false }))
      .when(close)
      .recordsNothing()
    given(ledgerDecider, charged(), chargesSettled("chg_1")).when(close).recordsNothing()
    given(ledgerDecider, charged(), chargeReduced()).when(close).recordsNothing()
  })
})

describe("LockAccount and UnlockAccount", () => {
  const locked: LedgerEvent = { type: "AccountLocked", at: NOW }
  const unlocked: LedgerEvent = { type: "AccountUnlocked", at: NOW }

  it("stop all charges, and allow them again", () => {
    given(ledgerDecider, ...ready)
      .when({ type: "LockAccount", at: NOW })
      .records(locked)
    given(ledgerDecider, ...ready, locked)
      .when(chargeCommand())
      .refuses("account_locked", { refusingLimit: null })
    given(ledgerDecider, ...ready, locked)
      .when({ type: "UnlockAccount", at: NOW })
      .records(unlocked)
    given(ledgerDecider, ...ready, locked, unlocked)
      .when(chargeCommand())
      .records(charged())
  })

  it("record nothing if nothing would change", () => {
    given(ledgerDecider, locked).when({ type: "LockAccount", at: NOW }).recordsNothing()
    given(ledgerDecider, ...ready)
      .when({ type: "UnlockAccount", at: NOW })
      .recordsNothing()
  })
})

describe("the ledger's state", () => {
  it("shows an empty account before the ledger is opened", () => {
    expect(accountOf(foldFacts(ledgerDecider))).toEqual({
      opened: false,
      closed: false,
      locked: false,
      prepaidOnly: false,
      fundsMicros: 0,
      creditLineMicros: 0,
    })
  })

  it("has its own stream per company", () => {
    expect(ledgerStreamOf("co_1").stream).toBe("ledger-co_1")
  })
})
