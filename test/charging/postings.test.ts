import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import {
  NOW,
  charged,
  closed,
  counted,
  funded,
  givenBack,
  limitSet,
  monthClosed,
  nightly,
  opened,
  reminded,
} from "./ledger-facts.ts"
import { failed, may, paid, started } from "./purchase-facts.ts"

const corrected = (amountMicros: number): LedgerEvent => {
  return { type: "FundsCorrected", at: NOW, amountMicros, reason: "x" }
}

describe("postings move what a fact moves, from one account to another", () => {
  it.each([
    ["funds that an operator adds", funded(7), "credits", "funds", 7],
    ["funds that were bought", paid({ amountMicros: 7 }), "payments", "funds", 7],
    ["a correction up", corrected(7), "corrections", "funds", 7],
    ["a correction down", corrected(-7), "corrections", "funds", -7],
    ["a charge", charged(), "funds", "spending:general:text_segment", 9_000],
    ["a charge for ai", charged({ class: "ai" }), "funds", "spending:ai:text_segment", 9_000],
    ["a night's calls", nightly(), "funds", "spending:general:api_call", 100],
    [
      "a part given back",
      givenBack({ amountMicros: 1 }),
      "spending:general:text_segment",
      "funds",
      1,
    ],
  ] as const)("%s", (_what, fact, from, to, amountMicros) => {
    expect(postingsOf(fact)).toEqual([
      { account: from, amountMicros: -amountMicros },
      { account: to, amountMicros },
    ])
  })

  it.each<LedgerEvent>([
    opened(),
    { type: "TermsChanged", at: NOW, prepaidOnly: true, creditLineMicros: 5 },
    limitSet(),
    { type: "LimitRemoved", at: NOW, holder: "company", holderId: null, class: "ai" },
    reminded(),
    closed("chg_1"),
    counted(),
    may(),
    started(),
    failed(),
    { type: "AccountLocked", at: NOW },
    { type: "AccountUnlocked", at: NOW },
    monthClosed({ chargedMicros: 5, fundsMicros: -5 }),
    { type: "LedgerClosed", at: NOW },
    { type: "LedgerReopened", at: NOW },
    charged({ amountMicros: 0 }),
    givenBack({ amountMicros: 0 }),
  ])("a fact that moves no money has none: $type", (fact) => {
    expect(postingsOf(fact)).toEqual([])
  })
})
