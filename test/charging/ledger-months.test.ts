import { describe, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { given } from "../support/decider-spec.ts"
import {
  NOW,
  isoInstant,
  chargeCommand,
  charged,
  chargesSettled,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  monthClosed,
  dailyCallsCharge,
  ledgerOpened,
} from "./ledger-facts.ts"

const APRIL = isoInstant("2026-04-01")
const close = { type: "CloseMonth", at: APRIL } as const
const DOLLAR = 1_000_000

describe("CloseMonth", () => {
  it("closes a month once it is over", () => {
    given(ledgerDecider, ledgerOpened())
      .when({ ...close, at: APRIL - 1 })
      .recordsNothing()
    given(ledgerDecider, ledgerOpened()).when(close).records(monthClosed())
    given(ledgerDecider, ledgerOpened(), monthClosed())
      .when({ ...close, at: isoInstant("2026-05-01") - 1 })
      .recordsNothing()
    given(ledgerDecider, ledgerOpened(), monthClosed())
      .when({ ...close, at: isoInstant("2026-05-01") })
      .records(monthClosed({ at: isoInstant("2026-05-01"), month: "2026-04", headRevision: 1 }))
  })

  it("closes nothing in a ledger that was never opened", () => {
    given(ledgerDecider).when(close).recordsNothing()
    given(ledgerDecider, fundsAdded(7)).when(close).recordsNothing()
  })

  it("closes every past month, the oldest first, across the end of a year", () => {
    const late = { ...close, at: isoInstant("2027-02-01") }
    const months = ["03", "04", "05", "06", "07", "08", "09", "10", "11", "12"].map((month) => {
      return `2026-${month}`
    })
    given(ledgerDecider, ledgerOpened(), fundsAdded(7))
      .when(late)
      .records(
        ...[...months, "2027-01"].map((month, i) =>
          monthClosed({
            at: late.at,
            month,
            openingMicros: i === 0 ? 0 : 7,
            addedMicros: i === 0 ? 7 : 0,
            fundsMicros: 7,
            headRevision: 1,
          }),
        ),
      )
  })

  it("contains the head it follows: the last fact's revision and hash", () => {
    const headHash = "ab".repeat(32)
    given(ledgerDecider, ledgerOpened(), fundsAdded(7), limitSet())
      .when({ ...close, headHash })
      .records(monthClosed({ addedMicros: 7, fundsMicros: 7, headRevision: 2, headHash }))
  })
})

describe("the closing of a month", () => {
  const purchase = { purchaseId: "pur_1", keyId: "key_1", personId: null } as const
  const bought: readonly LedgerEvent[] = [
    { type: "PurchaseStarted", at: NOW, ...purchase, amountMicros: 5 * DOLLAR },
    {
      type: "PurchasePaid",
      at: NOW,
      ...purchase,
      amountMicros: 5 * DOLLAR,
      startedAt: NOW,
      paymentId: "pi_1",
    },
  ]
  const corrected: LedgerEvent = { type: "FundsCorrected", at: NOW, amountMicros: -3, reason: "x" }

  it("totals all movements: the opening plus these gives the funds", () => {
    const facts = [
      ledgerOpened(),
      fundsAdded(20_000),
      ...bought,
      corrected,
      charged(),
      chargeReduced({ amountMicros: 4_000 }),
      charged({ chargeId: "chg_2" }),
      apiCallsCounted(),
      dailyCallsCharge(),
    ]
    given(ledgerDecider, ...facts)
      .when(close)
      .records(
        monthClosed({
          addedMicros: 20_000,
          purchasedMicros: 5 * DOLLAR,
          correctedMicros: -3,
          chargedMicros: 18_100,
          reducedMicros: 4_000,
          fundsMicros: 20_000 + 5 * DOLLAR - 3 - 18_100 + 4_000,
          charges: 3,
          headRevision: 9,
        }),
      )
  })

  it("opens with the funds from before the ledger was opened, which are not a movement", () => {
    given(ledgerDecider, fundsAdded(7), charged({ amountMicros: 2 }), ledgerOpened())
      .when(close)
      .records(monthClosed({ openingMicros: 5, fundsMicros: 5, headRevision: 2 }))
  })

  it("starts the next month at zero, with the funds as its opening", () => {
    const may = isoInstant("2026-05-01")
    const april = { at: APRIL } as const
    const facts = [
      ledgerOpened(),
      fundsAdded(20_000),
      charged(),
      monthClosed({ addedMicros: 20_000, chargedMicros: 9_000, fundsMicros: 11_000, charges: 1 }),
      { ...charged({ chargeId: "chg_2", amountMicros: 1_000 }), ...april },
      { ...chargeReduced(), ...april },
    ]
    given(ledgerDecider, ...facts)
      .when({ ...close, at: may })
      .records(
        monthClosed({
          at: may,
          month: "2026-04",
          openingMicros: 11_000,
          chargedMicros: 1_000,
          reducedMicros: 9_000,
          fundsMicros: 19_000,
          charges: 1,
          headRevision: 5,
        }),
      )
  })

  it("comes before the first fact of the next month, and not without a fact", () => {
    const facts = [ledgerOpened(), fundsAdded(20_000), charged()]
    const lead = monthClosed({
      addedMicros: 20_000,
      chargedMicros: 9_000,
      fundsMicros: 11_000,
      charges: 1,
      headRevision: 2,
    })
    const second = { chargeId: "chg_2", at: APRIL } as const
    given(ledgerDecider, ...facts)
      .when(chargeCommand(second))
      .records(lead, charged(second))
    given(ledgerDecider, ...facts)
      .when({ type: "SettleCharges", at: APRIL, chargeIds: ["chg_1"] })
      .records(lead, { ...chargesSettled("chg_1"), at: APRIL })
    given(ledgerDecider, ...facts)
      .when({ type: "LockAccount", at: APRIL })
      .records(lead, { type: "AccountLocked", at: APRIL })
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ at: APRIL }))
      .recordsNothing()
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...second, amountMicros: 11_001 }))
      .refuses("payment_required")
    given(ledgerDecider, ...facts)
      .when(chargeCommand({ ...second, at: APRIL - 1 }))
      .records(charged({ ...second, at: APRIL - 1 }))
  })

  it("happens once: the next command of the month does not repeat it", () => {
    const second = { chargeId: "chg_2", at: APRIL } as const
    given(
      ledgerDecider,
      ledgerOpened(),
      fundsAdded(20_000),
      monthClosed({ addedMicros: 20_000, fundsMicros: 20_000 }),
    )
      .when(chargeCommand(second))
      .records(charged(second))
  })

  it("does not include later refunds in the closed month", () => {
    given(ledgerDecider, ledgerOpened(), fundsAdded(20_000), charged())
      .when({
        type: "RefundPendingCharge",
        at: APRIL,
        chargeId: "chg_1",
        amountMicros: null,
        reason: "late",
      })
      .records(
        monthClosed({
          addedMicros: 20_000,
          chargedMicros: 9_000,
          fundsMicros: 11_000,
          charges: 1,
          headRevision: 2,
        }),
        chargeReduced({ at: APRIL, reason: "late" }),
      )
  })
})
