/** The command of each fact, and a refusal decided again with the calls that it weighed. Law 13 holds both together. */
import { describe, expect, it } from "vitest"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { commandOfCharge, commandOfFact, withPending } from "../../domain/charging/replayed.ts"
import { serveCall } from "../../domain/charging/served-calls.ts"
import { apart, decideStamped, fold } from "../support/spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  at,
  charge,
  charged,
  closed,
  counted,
  funded,
  givenBack,
  limitSet,
  monthClosed,
  nightly,
  opened,
  recordCalls,
  reminded,
  setLimit,
} from "./ledger-facts.ts"
import { failed, may, ordered, paid, started } from "./purchase-facts.ts"
import { refusedAgain } from "./laws-of-replay.ts"

const nothing = () => 0
const commandOf = (fact: LedgerEvent, ...before: readonly LedgerEvent[]) =>
  commandOfFact(fact, fold(ledger, ...before), nothing)

describe("the command of a fact", () => {
  it.for<readonly [LedgerEvent, object]>([
    [opened(7), { type: "OpenLedger", prepaidOnly: false, creditLineMicros: 7 }],
    [
      { ...opened(7), type: "TermsChanged" } as LedgerEvent,
      { type: "ChangeTerms", prepaidOnly: false, creditLineMicros: 7 },
    ],
    [funded(5, "wire"), { type: "AddFunds", amountMicros: 5, reference: "wire" }],
    [
      { type: "FundsCorrected", at: NOW, amountMicros: -5 } as LedgerEvent,
      { type: "CorrectFunds", amountMicros: -5 },
    ],
    [
      { type: "LowFundsAlertSet", at: NOW, belowMicros: 5 },
      { type: "SetFundsNotice", belowMicros: 5 },
    ],
    [limitSet({ remindersMicros: [3] }), apart(setLimit({ remindersMicros: [3] })).command],
    [
      { ...KEY_LIMIT, type: "LimitRemoved", at: NOW },
      { type: "RemoveLimit", ...KEY_LIMIT },
    ],
    [closed("chg_1"), { type: "CloseCharges", chargeIds: ["chg_1"] }],
    [counted(), apart(recordCalls()).command],
    [may(), { type: "SetPurchaseTerms", keyId: "key_1" }],
    [started(), { type: "StartPurchase", purchaseId: "pur_1" }],
    [ordered(), { type: "OrderPurchase", purchaseId: "pur_1", paymentId: "pi_1" }],
    [paid(), { type: "PayPurchase", purchaseId: "pur_1" }],
    [failed(), { type: "FailPurchase", purchaseId: "pur_1" }],
    [{ type: "AccountLocked", at: NOW }, { type: "LockAccount" }],
    [{ type: "AccountUnlocked", at: NOW }, { type: "UnlockAccount" }],
    [{ type: "LedgerClosed", at: NOW }, { type: "CloseLedger" }],
    [{ type: "LedgerReopened", at: NOW }, { type: "ReopenLedger" }],
    [{ type: "ErasureStarted", at: NOW }, { type: "BeginErasure" }],
    [monthClosed(), { type: "CloseMonth" }],
    [nightly(), { type: "ChargeCalls", most: 1 }],
    [charged(), apart(charge()).command],
    [charged({ isExternalId: true }), { type: "Charge", searchedTo: Number.MAX_SAFE_INTEGER }],
  ])("$0.type", ([fact, command]) => {
    expect(commandOf(fact)).toMatchObject(command)
  })

  it("is none for a fact that only follows another", () => {
    expect(commandOf(reminded())).toBeNull()
    const low = { type: "LowFundsReached", at: NOW, belowMicros: 5, fundsMicros: 4 } as const
    expect(commandOf(low)).toBeNull()
  })

  it("names no field of a limit's fact that is not the limit's", () => {
    expect(commandOf(limitSet())).toEqual(apart(setLimit()).command)
  })

  it("takes back the rest of an open charge, or a part of it", () => {
    const whole = { type: "GiveBack", chargeId: "chg_1", amountMicros: null }
    expect(commandOf(givenBack(), charged())).toMatchObject(whole)
    const part = commandOf(givenBack({ amountMicros: 4_000 }), charged())
    expect(part).toMatchObject({ ...whole, amountMicros: 4_000 })
  })

  it("takes back of an ended charge what is left of it", () => {
    const fact = givenBack({ amountMicros: 4_000 })
    const state = fold(ledger, charged(), closed("chg_1"))
    expect(
      commandOfFact(fact, state, (chargeId, chargedAt) => {
        expect([chargeId, chargedAt]).toEqual(["chg_1", NOW])
        return 6_000
      }),
    ).toEqual({
      type: "GiveBackEnded",
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
      leftMicros: 6_000,
      amountMicros: 4_000,
      reason: "the carrier refused it",
      searchedTo: Number.MAX_SAFE_INTEGER,
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

  /** The refusal of a charge while a call waits to be recorded, and the facts it knew. */
  function refused(...facts: readonly LedgerEvent[]): ChargeRefused {
    const state = fold(ledger, ...facts)
    serveCall(state, call, NOW)
    const decided = decideStamped(ledger, charge(), state)
    if ("type" in decided && decided.type === "ChargeRefused") return decided
    throw new Error("the charge was not refused")
  }

  it.for([
    ["by a limit", [opened(), funded(1_000_000), ...limits], "spend_limit_reached"],
    ["by the funds", [opened(), funded(8_999)], "payment_required"],
  ] as const)("%s weighs the calls that its evidence names", ([, facts, code]) => {
    const evidence = refused(...facts)
    expect(evidence).toMatchObject({ type: "ChargeRefused", code, unrecordedMicros: 100 })
    const state = fold(ledger, ...facts)
    expect(refusedAgain(state, evidence)).toBeNull()
  })

  it("differs from evidence that leaves the calls out", () => {
    const facts = [opened(), funded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const without = evidence.limits.map((limit) => ({ ...limit, unrecordedMicros: 0 }))
    const other = { ...evidence, unrecordedMicros: 0, limits: without }
    expect(refusedAgain(fold(ledger, ...facts), other)).toMatch(/^refuses /)
  })

  it("weighs each limit's calls in its own sums, and forgets them whatever happens", () => {
    const facts = [opened(), funded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const state = fold(ledger, ...facts)
    const pending = () => readLimits(state, NOW).map(({ unrecordedMicros }) => unrecordedMicros)
    expect(withPending(state, evidence, pending)).toEqual([100, 100, 100])
    expect(pending()).toEqual([0, 0, 0])
    const broken = () => {
      throw new Error("broken")
    }
    expect(() => withPending(state, evidence, broken)).toThrow("broken")
    expect(pending()).toEqual([0, 0, 0])
  })

  it("weighs them in the windows of its day alone", () => {
    const facts = [opened(), funded(1_000_000), ...limits]
    const evidence = refused(...facts)
    const state = fold(ledger, ...facts)
    const nextDay = () =>
      readLimits(state, at("2026-03-03")).map(({ unrecordedMicros }) => unrecordedMicros)
    expect(withPending(state, evidence, nextDay)).toEqual([0, 100, 100])
  })

  it("asks for what the charge asked", () => {
    expect(commandOfCharge(refused(opened()))).toEqual(apart(charge()).command)
  })
})
