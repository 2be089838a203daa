import { describe, it } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent, LedgerFact } from "../../domain/charging/ledger-formats.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { given } from "../support/spec.ts"
import {
  NOW,
  at,
  callsOf,
  charge,
  charged,
  counted,
  funded,
  givenBack,
  limitSet,
  monthClosed,
  nightly,
  opened,
  reminded,
} from "./ledger-facts.ts"
import { may, paid, started } from "./purchase-facts.ts"

const noticeOf = (belowMicros: number | null): LedgerCommand & Stamp => ({
  type: "SetFundsNotice",
  at: NOW,
  belowMicros,
})
const noticed = (belowMicros: number | null): LedgerEvent => ({
  type: "LowFundsAlertSet",
  at: NOW,
  belowMicros,
})
const low = (
  fundsMicros: number,
  changed: Partial<LedgerFact<"LowFundsReached">> = {},
): LedgerEvent => ({
  type: "LowFundsReached",
  at: NOW,
  belowMicros: 10_000,
  fundsMicros,
  ...changed,
})

const again = { chargeId: "chg_2" } as const
const corrected = (amountMicros: number): LedgerEvent => ({
  type: "FundsCorrected",
  at: NOW,
  amountMicros,
  reason: "counted anew",
})

describe("the notice of low funds", () => {
  it("is set, replaced and turned off; the same again is nothing new", () => {
    given(ledger, opened(), funded(10_000)).when(noticeOf(10_000)).records(noticed(10_000))
    given(ledger, opened(), funded(10_000), noticed(10_000)).when(noticeOf(10_000)).records()
    given(ledger, opened(), funded(10_000), noticed(10_000))
      .when(noticeOf(9_999))
      .records(noticed(9_999))
    given(ledger, opened(), noticed(10_000)).when(noticeOf(null)).records(noticed(null))
    given(ledger, opened()).when(noticeOf(null)).records()
    given(ledger, opened(), noticed(10_000), noticed(null)).when(noticeOf(null)).records()
  })

  it("is for 0 or more, in exact sums", () => {
    given(ledger, opened()).when(noticeOf(0)).records(noticed(0))
    given(ledger, opened(), funded(MAX_MICROS))
      .when(noticeOf(MAX_MICROS))
      .records(noticed(MAX_MICROS))
    for (const wrong of [-1, 0.5, MAX_MICROS + 1]) {
      given(ledger, opened()).when(noticeOf(wrong)).refuses("bad_amount")
    }
  })

  it("is not set for a deleted company", () => {
    const deleted: LedgerEvent = { type: "LedgerClosed", at: NOW }
    given(ledger, opened(), deleted).when(noticeOf(1)).refuses("ledger_closed")
  })

  it("is told at once where the funds are below the sum, also of another sum", () => {
    given(ledger, opened(), funded(9_999))
      .when(noticeOf(10_000))
      .records(noticed(10_000), low(9_999))
    const told = [opened(), funded(9_999), noticed(20_000), low(9_999, { belowMicros: 20_000 })]
    given(ledger, ...told)
      .when(noticeOf(10_000))
      .records(noticed(10_000), low(9_999))
    given(ledger, ...told)
      .when(noticeOf(20_000))
      .records()
    given(ledger, ...told)
      .when(noticeOf(9_999))
      .records(noticed(9_999))
  })
})

describe("low funds", () => {
  const ready = [opened(50_000), funded(19_000), noticed(10_000)]

  it("are told behind the charge that takes them below the sum, to the micro", () => {
    given(ledger, ...ready)
      .when(charge())
      .records(charged())
    const more = { amountMicros: 9_001 }
    given(ledger, ...ready)
      .when(charge(more))
      .records(charged(more), low(9_999))
  })

  it("are told once, until they were at the sum again", () => {
    const told = [...ready, charged({ amountMicros: 10_000 }), low(9_000)]
    given(ledger, ...told)
      .when(charge(again))
      .records(charged(again))
    given(ledger, ...told, funded(999))
      .when(charge(again))
      .records(charged(again))
    given(ledger, ...told, funded(1_000))
      .when(charge(again))
      .records(charged(again), low(1_000))
  })

  it.each<[string, readonly LedgerEvent[]]>([
    ["added funds", [funded(1_000)]],
    ["a correction", [corrected(1_000)]],
    ["a charge that came back", [givenBack({ amountMicros: 1_000 })]],
    [
      "a purchase",
      [may(), started({ amountMicros: 5_000_000 }), paid({ amountMicros: 5_000_000 })],
    ],
  ])("are told again after %s", (_what, facts) => {
    const spent = charged({ amountMicros: 10_000 })
    const amountMicros = facts.length > 1 ? 5_000_000 : 9_000
    given(ledger, ...ready, spent, low(9_000), ...facts)
      .when(charge({ ...again, amountMicros }))
      .records(charged({ ...again, amountMicros }), low(facts.length > 1 ? 9_000 : 1_000))
  })

  it("are told of a correction, and of what is exempt from the funds", () => {
    const down = { type: "CorrectFunds", at: NOW, amountMicros: -9_001, reason: "r" } as const
    given(ledger, ...ready)
      .when(down)
      .records({ ...down, type: "FundsCorrected" }, low(9_999))
    const rent = { amountMicros: 90_000, exemption: "funds", isPending: false } as const
    given(ledger, ...ready)
      .when(charge(rent))
      .records(charged(rent), low(-71_000))
  })

  it("are told of below zero where the sum is 0: a credit line is being spent", () => {
    const facts = [opened(50_000), funded(9_000), noticed(0)]
    given(ledger, ...facts)
      .when(charge())
      .records(charged())
    given(ledger, ...facts, charged())
      .when(charge(again))
      .records(charged(again), low(-9_000, { belowMicros: 0 }))
  })

  it("are told behind the one of a night's charges that passes the sum", () => {
    const by = (keyId: `key_${string}`, calls: number) => ({ ...callsOf(calls), keyId })
    const counts = counted({ counters: [by("key_1", 20), by("key_2", 80), by("key_3", 5)] })
    const day = at("2026-03-03")
    const one = (keyId: `key_${string}`, quantity: number): LedgerEvent =>
      nightly({
        keyId,
        quantity,
        amountMicros: 100 * quantity,
        chargeId: `${keyId}:per_1:2026-03-02`,
      })
    given(ledger, ...ready, charged({ amountMicros: 1_000 }), counts)
      .when({ type: "ChargeCalls", at: day, most: 10 })
      .records(one("key_1", 20), one("key_2", 80), low(8_000, { at: day }), one("key_3", 5))
  })

  it("stand before the reminders that the same charge reaches, and behind closed months", () => {
    const first = at("2026-04-01")
    const more = { amountMicros: 9_001, at: first } as const
    given(ledger, ...ready, limitSet({ remindersMicros: [9_000] }))
      .when(charge(more))
      .records(
        monthClosed({ addedMicros: 19_000, fundsMicros: 19_000, headRevision: 3 }),
        charged(more),
        low(9_999, { at: first }),
        reminded({
          at: first,
          usedMicros: 9_001,
          windowStart: first,
          resetsAt: at("2026-05-01"),
        }),
      )
  })

  it("are not told of a charge that is refused, nor where no notice is set", () => {
    given(ledger, opened(), funded(5_000), noticed(5_000))
      .when(charge())
      .refuses("payment_required")
    given(ledger, opened(), funded(9_000)).when(charge()).records(charged())
    given(ledger, ...ready, noticed(null))
      .when(charge({ amountMicros: 10_000 }))
      .records(charged({ amountMicros: 10_000 }))
  })
})
