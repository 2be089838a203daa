/** The command of each fact, and a refusal decided again with its buffered calls. Law 13 checks both together. */
import { describe, expect, it } from "vitest"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import {
  chargeCommandOf,
  ledgerCommandOf,
  withBufferedCalls,
} from "../../domain/charging/replay.ts"
import { bufferServedCall } from "../../domain/charging/served-calls.ts"
import { splitStamp, decideStamped, foldFacts } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
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
  recordCallsCommand,
  reminderReached,
  setLimitCommand,
} from "./ledger-facts.ts"
import {
  purchaseFailedFact,
  purchaseTermsSetFact,
  purchaseOrderedFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"
import { replayRefusal } from "./laws-of-replay.ts"

const nothing = () => 0
const commandOf = (fact: LedgerEvent, ...before: readonly LedgerEvent[]) =>
  ledgerCommandOf(fact, foldFacts(ledgerDecider, ...before), nothing)

describe("the command of a fact", () => {
  it.for<readonly [LedgerEvent, object]>([
    [ledgerOpened(7), { type: "OpenLedger", prepaidOnly: false, creditLineMicros: 7 }],
    [
      { ...ledgerOpened(7), type: "TermsChanged" } as LedgerEvent,
      { type: "ChangeCreditTerms", prepaidOnly: false, creditLineMicros: 7 },
    ],
    [fundsAdded(5, "wire"), { type: "AddFunds", amountMicros: 5, reference: "wire" }],
    [
      { type: "FundsCorrected", at: NOW, amountMicros: -5 } as LedgerEvent,
      { type: "CorrectFunds", amountMicros: -5 },
    ],
    [
      { type: "LowFundsAlertSet", at: NOW, belowMicros: 5 },
      { type: "SetLowFundsAlert", belowMicros: 5 },
    ],
    [
      limitSet({ remindersMicros: [3] }),
      splitStamp(setLimitCommand({ remindersMicros: [3] })).command,
    ],
    [
      { ...KEY_LIMIT, type: "LimitRemoved", at: NOW },
      { type: "RemoveLimit", ...KEY_LIMIT },
    ],
    [chargesSettled("chg_1"), { type: "SettleCharges", chargeIds: ["chg_1"] }],
    [apiCallsCounted(), splitStamp(recordCallsCommand()).command],
    [purchaseTermsSetFact(), { type: "SetPurchaseTerms", keyId: "key_1" }],
    [purchaseStartedFact(), { type: "StartPurchase", purchaseId: "pur_1" }],
    [purchaseOrderedFact(), { type: "OrderPurchase", purchaseId: "pur_1", paymentId: "pi_1" }],
    [purchasePaidFact(), { type: "PayPurchase", purchaseId: "pur_1" }],
    [purchaseFailedFact(), { type: "FailPurchase", purchaseId: "pur_1" }],
    [{ type: "AccountLocked", at: NOW }, { type: "LockAccount" }],
    [{ type: "AccountUnlocked", at: NOW }, { type: "UnlockAccount" }],
    [{ type: "LedgerClosed", at: NOW }, { type: "CloseLedger" }],
    [{ type: "LedgerReopened", at: NOW }, { type: "ReopenLedger" }],
    [{ type: "ErasureStarted", at: NOW }, { type: "StartErasure" }],
    [monthClosed(), { type: "CloseMonth" }],
    [dailyCallsCharge(), { type: "ChargeApiCalls", maxCharges: 1 }],
    [charged(), splitStamp(chargeCommand()).command],
    [charged({ isExternalId: true }), { type: "Charge", searchedUpTo: Number.MAX_SAFE_INTEGER }],
  ])("$0.type", ([fact, command]) => {
    expect(commandOf(fact)).toMatchObject(command)
  })

  it("is null for a fact that only follows another", () => {
    expect(commandOf(reminderReached())).toBeNull()
    const low = { type: "LowFundsReached", at: NOW, belowMicros: 5, fundsMicros: 4 } as const
    expect(commandOf(low)).toBeNull()
  })

  it("has only the limit's fields of a limit's fact", () => {
    expect(commandOf(limitSet())).toEqual(splitStamp(setLimitCommand()).command)
  })

  it("refunds the rest of a pending charge, or a part of it", () => {
    const whole = { type: "RefundPendingCharge", chargeId: "chg_1", amountMicros: null }
    expect(commandOf(chargeReduced(), charged())).toMatchObject(whole)
    const part = commandOf(chargeReduced({ amountMicros: 4_000 }), charged())
    expect(part).toMatchObject({ ...whole, amountMicros: 4_000 })
  })

  it("refunds a settled charge with its refundable amount", () => {
    const fact = chargeReduced({ amountMicros: 4_000 })
    const state = foldFacts(ledgerDecider, charged(), chargesSettled("chg_1"))
    expect(
      ledgerCommandOf(fact, state, (chargeId, chargedAt) => {
        expect([chargeId, chargedAt]).toEqual(["chg_1", NOW])
        return 6_000
      }),
    ).toEqual({
      type: "RefundSettledCharge",
      charge: {
        chargeId: "chg_1",
        amountMicros: 4_000,
        countedAt: NOW,
        via: "own_key",
        keyId: "key_1",
        personId: "per_1",
        class: "general",
        item: "text_segment",
        resource: "msg_1",
      },
      refundableMicros: 6_000,
      amountMicros: 4_000,
      reason: "the carrier refused it",
      searchedUpTo: Number.MAX_SAFE_INTEGER,
    })
  })
})

describe("a refusal decided again", () => {
  const call = {
    via: "own_key",
    keyId: "key_1",
    personId: "per_1",
    unitPriceMicros: 100,
    priceVersion: 1,
  } as const
  const limits = [
    limitSet({ ...KEY_LIMIT, period: "day", amountMicros: 9_099 }),
    limitSet({ ...PERSON_LIMIT, period: "week", leaveKeysOut: false }),
    limitSet(),
  ]

  function refused(...facts: readonly LedgerEvent[]): ChargeRefused {
    const state = foldFacts(ledgerDecider, ...facts)
    bufferServedCall(state, call, NOW)
    const decided = decideStamped(ledgerDecider, chargeCommand(), state)
    if ("type" in decided && decided.type === "ChargeRefused") return decided
    throw new Error("the charge was not refused")
  }

  it.for([
    ["by a limit", [ledgerOpened(), fundsAdded(1_000_000), ...limits], "spend_limit_reached"],
    ["by the funds", [ledgerOpened(), fundsAdded(8_999)], "payment_required"],
  ] as const)("%s counts the calls in its evidence", ([, facts, code]) => {
    const evidence = refused(...facts)
    expect(evidence).toMatchObject({ type: "ChargeRefused", code, unrecordedMicros: 100 })
    const state = foldFacts(ledgerDecider, ...facts)
    expect(replayRefusal(state, evidence)).toBeNull()
  })

  it("differs from evidence without the calls", () => {
    const facts = [ledgerOpened(), fundsAdded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const without = evidence.limits.map((limit) => ({ ...limit, unrecordedMicros: 0 }))
    const other = { ...evidence, unrecordedMicros: 0, limits: without }
    expect(replayRefusal(foldFacts(ledgerDecider, ...facts), other)).toMatch(/^decided /)
  })

  it("counts the calls in every limit, and removes them even after an error", () => {
    const facts = [ledgerOpened(), fundsAdded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const state = foldFacts(ledgerDecider, ...facts)
    const pending = () => readLimits(state, NOW).map(({ unrecordedMicros }) => unrecordedMicros)
    expect(withBufferedCalls(state, evidence, pending)).toEqual([100, 100, 100])
    expect(pending()).toEqual([0, 0, 0])
    const broken = () => {
      throw new Error("broken")
    }
    expect(() => withBufferedCalls(state, evidence, broken)).toThrow("broken")
    expect(pending()).toEqual([0, 0, 0])
  })

  it("counts them only in the windows of their day", () => {
    const facts = [ledgerOpened(), fundsAdded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const state = foldFacts(ledgerDecider, ...facts)
    const nextDay = () =>
      readLimits(state, isoInstant("2026-03-03")).map(({ unrecordedMicros }) => unrecordedMicros)
    expect(withBufferedCalls(state, evidence, nextDay)).toEqual([0, 100, 100])
  })

  it("has the charge's own command", () => {
    expect(chargeCommandOf(refused(ledgerOpened()))).toEqual(splitStamp(chargeCommand()).command)
  })
})
