/** The dry run of a charge: whether it would fit, and when it would fit. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { dryRunCharge } from "../../domain/charging/charge-dry-run.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { splitStamp, foldFacts } from "../support/decider-spec.ts"
import { canonicalText } from "./law.ts"
import { histories } from "./histories.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  chargeCommand,
  charged,
  fundsAdded,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"
import { playHistory } from "./play-history.ts"
import { propertyRuns } from "./property-runs.ts"
import { realLedger } from "./ledger-under-test.ts"

const ask = (
  facts: readonly LedgerEvent[],
  changed: Parameters<typeof chargeCommand>[0] = {},
  when = NOW,
) =>
  dryRunCharge(foldFacts(ledgerDecider, ...facts), splitStamp(chargeCommand(changed)).command, when)
const rich = [ledgerOpened(), fundsAdded(1_000_000)]

describe("the dry run of a charge", () => {
  it("fits, with the funds, the credit line and the ledger's revision", () => {
    expect(ask([ledgerOpened(2_000), fundsAdded(20_000)])).toEqual({
      fits: true,
      code: null,
      limit: null,
      fitsAt: NOW,
      shortMicros: 0,
      fundsMicros: 20_000,
      creditLineMicros: 2_000,
      ledgerRevision: 1,
    })
  })

  it("returns how much the funds lack, including the credit line", () => {
    const short = { fits: false, code: "payment_required", limit: null, fitsAt: null }
    expect(ask([ledgerOpened(2_000), fundsAdded(6_999)])).toMatchObject({
      ...short,
      shortMicros: 1,
    })
    expect(ask([ledgerOpened(2_000), fundsAdded(7_000)])).toMatchObject({
      fits: true,
      shortMicros: 0,
    })
    expect(ask([ledgerOpened()], { amountMicros: 0 })).toMatchObject({ fits: true, shortMicros: 0 })
    const owing = [ledgerOpened(), charged({ exemption: "funds" })]
    expect(ask(owing, { chargeId: "chg_2", amountMicros: 0 })).toMatchObject({ shortMicros: 0 })
    expect(ask(owing, { chargeId: "chg_2", amountMicros: 1 })).toMatchObject({ shortMicros: 9_001 })
  })

  it("returns the exceeded limit, and the instant at which its next window begins", () => {
    const full = [...rich, limitSet({ amountMicros: 17_999 }), charged({ isPending: false })]
    const april = isoInstant("2026-04-01")
    expect(ask(full, { chargeId: "chg_2" })).toMatchObject({
      fits: false,
      code: "spend_limit_reached",
      limit: { holder: "company", usedMicros: 9_000, remainingMicros: 8_999, resetsAt: april },
      fitsAt: april,
      shortMicros: 0,
    })
    expect(ask(full, { chargeId: "chg_2" }, april)).toMatchObject({ fits: true, fitsAt: april })
    expect(ask(full, { chargeId: "chg_2", amountMicros: 8_999 })).toMatchObject({ fits: true })
  })

  it("waits for every limit: the key's day, the person's week, the company's month", () => {
    const holders = [
      limitSet({ ...KEY_LIMIT, period: "day", amountMicros: 9_000 }),
      limitSet({ ...PERSON_LIMIT, period: "week", amountMicros: 9_000 }),
    ]
    const spent = charged({ isPending: false })
    const next = { chargeId: "chg_2" } as const
    expect(ask([...rich, ...holders.slice(0, 1), spent], next).fitsAt).toBe(
      isoInstant("2026-03-03"),
    )
    expect(ask([...rich, ...holders, spent], next).fitsAt).toBe(isoInstant("2026-03-09"))
    const month = limitSet({ amountMicros: 9_000 })
    expect(ask([...rich, ...holders, month, spent], next).fitsAt).toBe(isoInstant("2026-04-01"))
  })

  it("never fits above the whole limit, or if time changes nothing", () => {
    const never = { fits: false, fitsAt: null }
    expect(ask([...rich, limitSet({ amountMicros: 8_999 })])).toMatchObject(never)
    expect(ask([...rich, limitSet({ amountMicros: 9_000 })])).toMatchObject({ fits: true })
    expect(ask([...rich, { type: "LedgerClosed", at: NOW }])).toMatchObject({
      ...never,
      limit: null,
    })
    const locked = [...rich, { type: "AccountLocked", at: NOW } as const]
    expect(ask(locked)).toMatchObject({ ...never, code: "account_locked", limit: null })
  })

  it("throws for an invalid charge", () => {
    expect(() => ask(rich, { quantity: -1 })).toThrow(new RangeError("invalid charge: bad_amount"))
  })
})

describe("the dry run", () => {
  it("equals the decision now and at the instant it returns, and changes nothing", () => {
    let decisions = 0
    const property = fc.property(histories(60), (history) => {
      const { facts, steps } = playHistory(realLedger, history)
      for (const { does, factsBefore, command } of steps.filter((step) => step.does === "decide")) {
        if (does !== "decide" || command.type !== "Charge") continue
        const state = foldFacts(ledgerDecider, ...facts.slice(0, factsBefore))
        const { stamp } = splitStamp(command)
        const decidedAt = (when: number) =>
          ledgerDecider.decide(command, state, { ...stamp, at: when })
        const decided = decidedAt(stamp.at)
        if (isRefusal(decided) && decided.type !== "ChargeRefused") continue
        const untouched = canonicalText(ledgerCheckpoint.save(state))
        const { fits, code, fitsAt } = dryRunCharge(state, command, stamp.at)
        expect(canonicalText(ledgerCheckpoint.save(state))).toBe(untouched)
        expect([fits, code]).toEqual(isRefusal(decided) ? [false, decided.code] : [true, null])
        if (fitsAt !== null) expect(isRefusal(decidedAt(fitsAt))).toBe(false)
        if (fitsAt !== null && !fits) expect(isRefusal(decidedAt(fitsAt - 1))).toBe(true)
        decisions += 1
      }
    })
    fc.assert(property, propertyRuns(60, 2_000))
    expect(decisions).toBeGreaterThan(20)
  })
})
