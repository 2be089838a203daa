import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import {
  NOW,
  charged,
  chargesSettled,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  monthClosed,
  dailyCallsCharge,
  ledgerOpened,
  reminderReached,
} from "./ledger-facts.ts"
import {
  purchaseFailedFact,
  purchaseTermsSetFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"

const corrected = (amountMicros: number): LedgerEvent => {
  return { type: "FundsCorrected", at: NOW, amountMicros, reason: "x" }
}

describe("the postings of a fact", () => {
  it.each([
    ["funds that an operator adds", fundsAdded(7), "credits", "funds", 7],
    ["funds that were bought", purchasePaidFact({ amountMicros: 7 }), "payments", "funds", 7],
    ["a positive correction", corrected(7), "corrections", "funds", 7],
    ["a negative correction", corrected(-7), "corrections", "funds", -7],
    ["a charge", charged(), "funds", "spending:general:text_segment", 9_000],
    ["a charge for ai", charged({ class: "ai" }), "funds", "spending:ai:text_segment", 9_000],
    ["a night's calls", dailyCallsCharge(), "funds", "spending:general:api_call", 100],
    [
      "a partial refund",
      chargeReduced({ amountMicros: 1 }),
      "spending:general:text_segment",
      "funds",
      1,
    ],
  ] as const)("move %s from one account to another", (_case, fact, from, to, amountMicros) => {
    expect(postingsOf(fact)).toEqual([
      { account: from, amountMicros: -amountMicros },
      { account: to, amountMicros },
    ])
  })

  it.each<LedgerEvent>([
    ledgerOpened(),
    { type: "TermsChanged", at: NOW, prepaidOnly: true, creditLineMicros: 5 },
    limitSet(),
    { type: "LimitRemoved", at: NOW, holder: "company", holderId: null, class: "ai" },
    reminderReached(),
    chargesSettled("chg_1"),
    apiCallsCounted(),
    purchaseTermsSetFact(),
    purchaseStartedFact(),
    purchaseFailedFact(),
    { type: "AccountLocked", at: NOW },
    { type: "AccountUnlocked", at: NOW },
    monthClosed({ chargedMicros: 5, fundsMicros: -5 }),
    { type: "LedgerClosed", at: NOW },
    { type: "LedgerReopened", at: NOW },
    charged({ amountMicros: 0 }),
    chargeReduced({ amountMicros: 0 }),
  ])("are empty if it moves no money: $type", (fact) => {
    expect(postingsOf(fact)).toEqual([])
  })
})
