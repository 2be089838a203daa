import { describe, it } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent, LedgerFact } from "../../domain/charging/ledger-events.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { given } from "../support/decider-spec.ts"
import {
  NOW,
  isoInstant,
  callCounter,
  chargeCommand,
  charged,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  monthClosed,
  dailyCallsCharge,
  ledgerOpened,
  reminderReached,
} from "./ledger-facts.ts"
import { purchaseTermsSetFact, purchasePaidFact, purchaseStartedFact } from "./purchase-facts.ts"

const alertCommand = (belowMicros: number | null): LedgerCommand & DecisionStamp => ({
  type: "SetLowFundsAlert",
  at: NOW,
  belowMicros,
})
const alertSet = (belowMicros: number | null): LedgerEvent => ({
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
  reason: "counted again",
})

describe("the low-funds alert", () => {
  it("is set, replaced and turned off; setting it again records nothing", () => {
    given(ledgerDecider, ledgerOpened(), fundsAdded(10_000))
      .when(alertCommand(10_000))
      .records(alertSet(10_000))
    given(ledgerDecider, ledgerOpened(), fundsAdded(10_000), alertSet(10_000))
      .when(alertCommand(10_000))
      .records()
    given(ledgerDecider, ledgerOpened(), fundsAdded(10_000), alertSet(10_000))
      .when(alertCommand(9_999))
      .records(alertSet(9_999))
    given(ledgerDecider, ledgerOpened(), alertSet(10_000))
      .when(alertCommand(null))
      .records(alertSet(null))
    given(ledgerDecider, ledgerOpened()).when(alertCommand(null)).records()
    given(ledgerDecider, ledgerOpened(), alertSet(10_000), alertSet(null))
      .when(alertCommand(null))
      .records()
  })

  it("accepts amounts of 0 or more within the exact range", () => {
    given(ledgerDecider, ledgerOpened()).when(alertCommand(0)).records(alertSet(0))
    given(ledgerDecider, ledgerOpened(), fundsAdded(MAX_MICROS))
      .when(alertCommand(MAX_MICROS))
      .records(alertSet(MAX_MICROS))
    for (const wrong of [-1, 0.5, MAX_MICROS + 1]) {
      given(ledgerDecider, ledgerOpened()).when(alertCommand(wrong)).refuses("bad_amount")
    }
  })

  it("cannot be set for a deleted company", () => {
    const deleted: LedgerEvent = { type: "LedgerClosed", at: NOW }
    given(ledgerDecider, ledgerOpened(), deleted).when(alertCommand(1)).refuses("ledger_closed")
  })

  it("is sent immediately if the funds are below its amount, even after its amount changed", () => {
    given(ledgerDecider, ledgerOpened(), fundsAdded(9_999))
      .when(alertCommand(10_000))
      .records(alertSet(10_000), low(9_999))
    const alerted = [
      ledgerOpened(),
      fundsAdded(9_999),
      alertSet(20_000),
      low(9_999, { belowMicros: 20_000 }),
    ]
    given(ledgerDecider, ...alerted)
      .when(alertCommand(10_000))
      .records(alertSet(10_000), low(9_999))
    given(ledgerDecider, ...alerted)
      .when(alertCommand(20_000))
      .records()
    given(ledgerDecider, ...alerted)
      .when(alertCommand(9_999))
      .records(alertSet(9_999))
  })
})

describe("a low-funds alert", () => {
  const ready = [ledgerOpened(50_000), fundsAdded(19_000), alertSet(10_000)]

  it("follows the charge that lowers the funds below its amount, to the micro", () => {
    given(ledgerDecider, ...ready)
      .when(chargeCommand())
      .records(charged())
    const more = { amountMicros: 9_001 }
    given(ledgerDecider, ...ready)
      .when(chargeCommand(more))
      .records(charged(more), low(9_999))
  })

  it("is sent once, until the funds have reached its amount again", () => {
    const alerted = [...ready, charged({ amountMicros: 10_000 }), low(9_000)]
    given(ledgerDecider, ...alerted)
      .when(chargeCommand(again))
      .records(charged(again))
    given(ledgerDecider, ...alerted, fundsAdded(999))
      .when(chargeCommand(again))
      .records(charged(again))
    given(ledgerDecider, ...alerted, fundsAdded(1_000))
      .when(chargeCommand(again))
      .records(charged(again), low(1_000))
  })

  it.each<[string, readonly LedgerEvent[]]>([
    ["added funds", [fundsAdded(1_000)]],
    ["a correction", [corrected(1_000)]],
    ["a refund", [chargeReduced({ amountMicros: 1_000 })]],
    [
      "a purchase",
      [
        purchaseTermsSetFact(),
        purchaseStartedFact({ amountMicros: 5_000_000 }),
        purchasePaidFact({ amountMicros: 5_000_000 }),
      ],
    ],
  ])("is sent again after %s", (_cause, facts) => {
    const spent = charged({ amountMicros: 10_000 })
    const amountMicros = facts.length > 1 ? 5_000_000 : 9_000
    given(ledgerDecider, ...ready, spent, low(9_000), ...facts)
      .when(chargeCommand({ ...again, amountMicros }))
      .records(charged({ ...again, amountMicros }), low(facts.length > 1 ? 9_000 : 1_000))
  })

  it("follows corrections, and charges that are exempt from funds", () => {
    const down = { type: "CorrectFunds", at: NOW, amountMicros: -9_001, reason: "r" } as const
    given(ledgerDecider, ...ready)
      .when(down)
      .records({ ...down, type: "FundsCorrected" }, low(9_999))
    const rent = { amountMicros: 90_000, exemption: "funds", isPending: false } as const
    given(ledgerDecider, ...ready)
      .when(chargeCommand(rent))
      .records(charged(rent), low(-71_000))
  })

  it("with amount 0 is sent below zero, when a credit line is used", () => {
    const facts = [ledgerOpened(50_000), fundsAdded(9_000), alertSet(0)]
    given(ledgerDecider, ...facts)
      .when(chargeCommand())
      .records(charged())
    given(ledgerDecider, ...facts, charged())
      .when(chargeCommand(again))
      .records(charged(again), low(-9_000, { belowMicros: 0 }))
  })

  it("follows the charge of a night that lowers the funds below its amount", () => {
    const by = (keyId: `key_${string}`, calls: number) => ({ ...callCounter(calls), keyId })
    const counts = apiCallsCounted({ counters: [by("key_1", 20), by("key_2", 80), by("key_3", 5)] })
    const day = isoInstant("2026-03-03")
    const one = (keyId: `key_${string}`, quantity: number): LedgerEvent =>
      dailyCallsCharge({
        keyId,
        quantity,
        amountMicros: 100 * quantity,
        chargeId: `${keyId}:per_1:2026-03-02`,
      })
    given(ledgerDecider, ...ready, charged({ amountMicros: 1_000 }), counts)
      .when({ type: "ChargeApiCalls", at: day, maxCharges: 10 })
      .records(one("key_1", 20), one("key_2", 80), low(8_000, { at: day }), one("key_3", 5))
  })

  it("comes before the reminders of the same charge, and after closed months", () => {
    const first = isoInstant("2026-04-01")
    const more = { amountMicros: 9_001, at: first } as const
    given(ledgerDecider, ...ready, limitSet({ remindersMicros: [9_000] }))
      .when(chargeCommand(more))
      .records(
        monthClosed({ addedMicros: 19_000, fundsMicros: 19_000, headRevision: 3 }),
        charged(more),
        low(9_999, { at: first }),
        reminderReached({
          at: first,
          usedMicros: 9_001,
          windowStart: first,
          resetsAt: isoInstant("2026-05-01"),
        }),
      )
  })

  it("is not sent for a refused charge or without an amount", () => {
    given(ledgerDecider, ledgerOpened(), fundsAdded(5_000), alertSet(5_000))
      .when(chargeCommand())
      .refuses("payment_required")
    given(ledgerDecider, ledgerOpened(), fundsAdded(9_000)).when(chargeCommand()).records(charged())
    given(ledgerDecider, ...ready, alertSet(null))
      .when(chargeCommand({ amountMicros: 10_000 }))
      .records(charged({ amountMicros: 10_000 }))
  })
})
