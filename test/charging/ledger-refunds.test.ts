import { describe, expect, it } from "vitest"
import type { ChargeToRefund, RefundSettledCharge } from "../../domain/charging/ledger-commands.ts"
import type { ChargeReduced } from "../../domain/charging/ledger-events.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]

const refund = {
  type: "RefundPendingCharge",
  at: NOW,
  chargeId: "chg_1",
  amountMicros: null,
  reason: "the carrier refused it",
} as const

describe("RefundPendingCharge", () => {
  it("refunds a pending charge completely", () => {
    given(ledgerDecider, charged()).when(refund).records(chargeReduced())
    const state = foldFacts(ledgerDecider, ...ready, limitSet(), charged(), chargeReduced())
    expect(accountOf(state).fundsMicros).toBe(1_000_000)
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 0 }])
    expect(pendingChargeIds(state)).toEqual([])
  })

  it("records the charge's spender, item, and the instant at which it counted", () => {
    const by = { via: "app_key", keyId: "key_app", personId: null, class: "ai" } as const
    const charge = { item: "call_minute", resource: null, chargeId: "call_1:3" } as const
    given(ledgerDecider, charged({ ...by, ...charge, amountMicros: 12, at: NOW + 1 }))
      .when({ ...refund, chargeId: "call_1:3", at: NOW + 5 })
      .records(
        chargeReduced({ ...by, ...charge, amountMicros: 12, countedAt: NOW + 1, at: NOW + 5 }),
      )
  })

  it("refunds a part, which ends the charge", () => {
    const part = chargeReduced({ amountMicros: 1 })
    given(ledgerDecider, charged())
      .when({ ...refund, amountMicros: 1 })
      .records(part)
    given(ledgerDecider, charged())
      .when({ ...refund, amountMicros: 9_000 })
      .records(chargeReduced())
    given(ledgerDecider, charged(), part).when(refund).recordsNothing()
  })

  it("records nothing for a charge that is not pending", () => {
    given(ledgerDecider).when(refund).recordsNothing()
    given(ledgerDecider, charged({ isPending: false }))
      .when(refund)
      .recordsNothing()
    given(ledgerDecider, charged(), chargesSettled("chg_1")).when(refund).recordsNothing()
    given(ledgerDecider, charged(), chargeReduced()).when(refund).recordsNothing()
  })

  it.each([0, -1, 9_001, 0.5, Number.NaN])("is rejected for %d micros of 9,000", (amountMicros) => {
    given(ledgerDecider, charged())
      .when({ ...refund, amountMicros })
      .refuses("bad_amount")
  })

  it("refunds a charge of zero", () => {
    given(ledgerDecider, charged({ amountMicros: 0 }))
      .when(refund)
      .records(chargeReduced({ amountMicros: 0 }))
  })
})

/** The charge of `charged`, as the read model shows it once it is settled. */
const ended: ChargeToRefund = {
  chargeId: "chg_1",
  amountMicros: 9_000,
  countedAt: NOW,
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  resource: "msg_1",
}
const final = charged({ isPending: false })
const operatorRefund = (
  changed: Partial<RefundSettledCharge> = {},
): RefundSettledCharge & DecisionStamp => ({
  type: "RefundSettledCharge",
  at: NOW,
  charge: ended,
  refundableMicros: changed.charge?.amountMicros ?? ended.amountMicros,
  amountMicros: null,
  reason: "it was never sent",
  searchedUpTo: 0,
  ...changed,
})
const operatorRefunded = (changed: Partial<ChargeReduced> = {}) =>
  chargeReduced({ reason: "it was never sent", ...changed })

describe("RefundSettledCharge", () => {
  it("refunds a settled charge completely, and lowers its windows", () => {
    const facts = [...ready, limitSet(), limitSet(PERSON_LIMIT), limitSet(KEY_LIMIT), final]
    given(ledgerDecider, ...facts)
      .when(operatorRefund())
      .records(operatorRefunded())
    const state = foldFacts(ledgerDecider, ...facts, operatorRefunded())
    expect(accountOf(state).fundsMicros).toBe(1_000_000)
    expect(readLimits(state, NOW).map((limit) => limit.usedMicros)).toEqual([0, 0, 0])
  })

  it("refunds a part", () => {
    for (const amountMicros of [1, 8_999, 9_000]) {
      given(ledgerDecider, final)
        .when(operatorRefund({ amountMicros }))
        .records(operatorRefunded({ amountMicros }))
    }
  })

  it.each([0, -1, 9_001, 0.5, Number.NaN])("is rejected for %d micros of 9,000", (amountMicros) => {
    given(ledgerDecider, ...ready, final)
      .when(operatorRefund({ amountMicros }))
      .refuses("bad_amount")
  })

  it("records nothing for a charge of zero", () => {
    given(ledgerDecider, charged({ isPending: false, amountMicros: 0 }))
      .when(operatorRefund({ charge: { ...ended, amountMicros: 0 } }))
      .recordsNothing()
  })

  it("refunds a charge that its job has settled", () => {
    given(ledgerDecider, charged(), chargesSettled("chg_1"))
      .when(operatorRefund())
      .records(operatorRefunded())
  })

  it("ends a charge that is still pending", () => {
    given(ledgerDecider, charged()).when(operatorRefund()).records(operatorRefunded())
    given(ledgerDecider, charged())
      .when(operatorRefund({ amountMicros: 9_001 }))
      .refuses("bad_amount")
    expect(pendingChargeIds(foldFacts(ledgerDecider, charged(), operatorRefunded()))).toEqual([])
  })

  it("uses a pending charge's fields from the ledger, not from a read model", () => {
    given(ledgerDecider, charged())
      .when(operatorRefund({ charge: { ...ended, amountMicros: 50_000, keyId: "key_2" } }))
      .records(operatorRefunded())
  })

  it("requires a new search once a part of the charge was refunded after the search", () => {
    const again = given(ledgerDecider, final, operatorRefunded({ amountMicros: 1 }))
    again.when(operatorRefund()).refuses("search_again")
    again.when(operatorRefund({ amountMicros: 1 })).refuses("search_again")
    again
      .when(operatorRefund({ charge: { ...ended, chargeId: "chg_2" } }))
      .records(operatorRefunded({ chargeId: "chg_2" }))
    given(ledgerDecider, charged(), chargeReduced())
      .when(operatorRefund({ searchedUpTo: 0 }))
      .refuses("search_again")
  })

  it("refunds the rest of the charge, and nothing once all of it is refunded", () => {
    const partly = given(ledgerDecider, final, operatorRefunded({ amountMicros: 5_400 }))
    const seen = { refundableMicros: 3_600, searchedUpTo: 1 }
    partly.when(operatorRefund(seen)).records(operatorRefunded({ amountMicros: 3_600 }))
    partly
      .when(operatorRefund({ ...seen, amountMicros: 3_600 }))
      .records(operatorRefunded({ amountMicros: 3_600 }))
    partly.when(operatorRefund({ ...seen, amountMicros: 3_601 })).refuses("bad_amount")
    given(ledgerDecider, final, operatorRefunded())
      .when(operatorRefund({ refundableMicros: 0, searchedUpTo: 1 }))
      .recordsNothing()
  })

  it("never refunds more than was charged, whatever refundable amount is passed", () => {
    given(ledgerDecider, final)
      .when(operatorRefund({ refundableMicros: 50_000 }))
      .records(operatorRefunded())
  })

  it("refunds 60 and then 40 of a charge of 100, with 256 other refunds in between", () => {
    const hundred = charged({ isPending: false, unitPriceMicros: 100, amountMicros: 100 })
    const others = Array.from({ length: 256 }, (_, i) =>
      operatorRefunded({ chargeId: `chg_${i + 10}` }),
    )
    const facts = [hundred, operatorRefunded({ amountMicros: 60 }), ...others]
    const whole = { ...ended, amountMicros: 100 }
    // The refund is already forgotten, so a command that found the charge before it must search again.
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ charge: whole, refundableMicros: 100, searchedUpTo: 0 }))
      .refuses("search_again")
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ charge: whole, refundableMicros: 40, searchedUpTo: facts.length - 1 }))
      .records(operatorRefunded({ amountMicros: 40 }))
  })

  it("does not lower windows that have begun since", () => {
    const later = isoInstant("2026-04-01")
    const facts = [limitSet({ at: later }), operatorRefunded({ at: later })]
    const state = foldFacts(
      ledgerDecider,
      ...ready,
      final,
      charged({ chargeId: "chg_2", at: later }),
      ...facts,
    )
    expect(readLimits(state, later)).toMatchObject([{ usedMicros: 9_000 }])
  })

  it("can raise the funds and a month's total to the largest exact amount, and no further", () => {
    const most = { amountMicros: MAX_MICROS }
    const whole = { ...ended, ...most }
    given(
      ledgerDecider,
      charged({ isPending: false, exemption: "funds", ...most }),
      fundsAdded(MAX_MICROS),
    )
      .when(operatorRefund({ charge: whole }))
      .records(operatorRefunded(most))
    given(ledgerDecider, fundsAdded(1))
      .when(operatorRefund({ charge: whole }))
      .refuses("bad_amount")
    given(ledgerDecider, fundsAdded(1))
      .when(operatorRefund({ charge: whole, amountMicros: MAX_MICROS - 1 }))
      .records(operatorRefunded({ amountMicros: MAX_MICROS - 1 }))
  })

  it("leaves room for refunds of pending charges in the same month", () => {
    // The funds are far below zero, so that only the month's total of refunds is near the limit.
    const debt = charged({ isPending: false, exemption: "funds", amountMicros: MAX_MICROS - 9_000 })
    const facts = [ledgerOpened(), debt, charged({ chargeId: "chg_2", exemption: "funds" })]
    const whole = { ...ended, amountMicros: MAX_MICROS }
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ charge: whole, amountMicros: MAX_MICROS - 9_000 }))
      .records(operatorRefunded({ amountMicros: MAX_MICROS - 9_000 }))
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ charge: whole, amountMicros: MAX_MICROS - 8_999 }))
      .refuses("bad_amount")
  })

  it("is rejected with a code of its own if too many facts followed the search for the charge", () => {
    const others = Array.from({ length: 257 }, (_, i) =>
      operatorRefunded({ chargeId: `chg_${i + 10}` }),
    )
    // The first of them, at revision 1, is forgotten.
    const facts = [final, ...others]
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ searchedUpTo: 0 }))
      .refuses("search_again")
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ searchedUpTo: 1 }))
      .records(operatorRefunded())
    given(ledgerDecider, ...facts)
      .when(operatorRefund({ charge: { ...ended, chargeId: "chg_11" }, searchedUpTo: 0 }))
      .refuses("search_again")
  })

  it("is accepted for a locked account and a closed ledger", () => {
    given(ledgerDecider, final, { type: "AccountLocked", at: NOW })
      .when(operatorRefund())
      .records(operatorRefunded())
    given(ledgerDecider, final, { type: "LedgerClosed", at: NOW })
      .when(operatorRefund())
      .records(operatorRefunded())
  })

  it("lowers the windows of the calls' day if it refunds a night's calls", () => {
    const [day, next] = [isoInstant("2026-03-31"), isoInstant("2026-04-01")]
    const night = {
      isPending: false,
      isAlreadyCounted: true,
      exemption: "funds",
      servedFrom: day,
    } as const
    const counted = {
      type: "ApiCallsCounted",
      at: day,
      day,
      unitPriceMicros: 9_000,
      priceVersion: 1,
      counters: [{ via: "own_key", keyId: "key_1", personId: "per_1", calls: 1 }],
      exemption: null,
    } as const
    for (const period of ["day", "week", "month"] as const) {
      const limit = limitSet({ ...KEY_LIMIT, period, at: next })
      const facts = [counted, charged({ at: next, ...night }), limit]
      const before = readLimits(foldFacts(ledgerDecider, ...facts), next)
      const after = readLimits(
        foldFacts(ledgerDecider, ...facts, operatorRefunded({ at: next, countedAt: day })),
        next,
      )
      // The refund lowers only the week; the day and the month of the calls have ended.
      expect(before).toMatchObject([{ usedMicros: period === "week" ? 9_000 : 0 }])
      expect(after).toMatchObject([{ usedMicros: 0 }])
    }
  })
})

describe("a refunded charge", () => {
  it("can be charged again, which is a new decision", () => {
    given(ledgerDecider, ...ready, charged(), chargeReduced())
      .when(chargeCommand())
      .records(charged())
  })
})
