/** Views of a ledger's state that no decision shows. */
import { describe, expect, it } from "vitest"
import { ledgerBytes } from "../../domain/charging/ledger-state.ts"
import {
  lowFundsAlertOf,
  findLimitByScope,
  applicableLimits,
  currentMonthOf,
  paymentIdOfPending,
  purchaseRefusalCode,
  resourceOfPendingCharge,
} from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { splitStamp, foldFacts } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  isoInstant,
  charged,
  chargesSettled,
  apiCallsCounted,
  fundsAdded,
  chargeReduced,
  limitSet,
  ledgerOpened,
  reminderReached,
} from "./ledger-facts.ts"
import {
  startPurchaseCommand,
  purchaseTermsSetFact,
  purchasePaidFact,
  purchaseStartedFact,
} from "./purchase-facts.ts"

const SPENDER = { via: "own_key", keyId: "key_1", personId: "per_1" } as const

it("shows the amount of the low-funds alert", () => {
  expect(lowFundsAlertOf(foldFacts(ledgerDecider, ledgerOpened()))).toBeNull()
  const set = { type: "LowFundsAlertSet", at: NOW, belowMicros: 5_000 } as const
  expect(lowFundsAlertOf(foldFacts(ledgerDecider, ledgerOpened(), set))).toBe(5_000)
})

it("shows the current month's totals, up to the last fact", () => {
  expect(currentMonthOf(foldFacts(ledgerDecider))).toBeNull()
  const facts = [
    ledgerOpened(),
    fundsAdded(20_000),
    charged(),
    chargeReduced({ amountMicros: 4_000 }),
  ]
  expect(currentMonthOf(foldFacts(ledgerDecider, ...facts))).toEqual({
    start: isoInstant("2026-03-01"),
    end: isoInstant("2026-04-01"),
    openingMicros: 0,
    addedMicros: 20_000,
    purchasedMicros: 0,
    correctedMicros: 0,
    chargedMicros: 9_000,
    reducedMicros: 4_000,
    charges: 1,
    fundsMicros: 15_000,
    revision: 3,
  })
})

it("finds a limit by its holder and class", () => {
  const state = foldFacts(ledgerDecider, limitSet(), limitSet({ ...PERSON_LIMIT, period: "week" }))
  const named = findLimitByScope(state, { ...PERSON_LIMIT })
  expect(named).toMatchObject({ holder: "person", holderId: "per_1", period: "week" })
  expect(findLimitByScope(state, { ...PERSON_LIMIT, holderId: "per_2" })).toBeNull()
  expect(findLimitByScope(state, { ...KEY_LIMIT })).toBeNull()
})

it("reads the limits that a charge must fit: key, person, company, with the requested amount", () => {
  const limits = [
    limitSet(),
    limitSet({ class: "ai" }),
    limitSet({ ...PERSON_LIMIT }),
    limitSet(KEY_LIMIT),
  ]
  const state = foldFacts(
    ledgerDecider,
    ledgerOpened(),
    fundsAdded(1_000_000),
    ...limits,
    charged(),
  )
  const found = applicableLimits(state, SPENDER, "general", NOW, 5)
  expect(found.map(({ holder }) => holder)).toEqual(["key", "person", "company"])
  for (const reading of found) {
    expect(reading).toMatchObject({ usedMicros: 9_000, remainingMicros: 18_000, askedMicros: 5 })
  }
})

it("shows a pending charge's fields, and the payment of a pending purchase", () => {
  const open = foldFacts(ledgerDecider, charged(), charged({ chargeId: "chg_2", resource: null }))
  expect(["chg_1", "chg_2", "chg_3"].map((id) => resourceOfPendingCharge(open, id))).toEqual([
    "msg_1",
    null,
    null,
  ])
  expect(
    resourceOfPendingCharge(foldFacts(ledgerDecider, charged(), chargesSettled("chg_1")), "chg_1"),
  ).toBeNull()
  expect(paymentIdOfPending(open, "pur_1")).toBeNull()
})

describe("the reason to reject a purchase", () => {
  const { command } = splitStamp(startPurchaseCommand())

  it("is null while the key's terms allow it in the current month", () => {
    const state = foldFacts(
      ledgerDecider,
      ledgerOpened(),
      purchaseTermsSetFact(),
      purchaseStartedFact({ purchaseId: "pur_2" }),
    )
    expect(purchaseRefusalCode(state, command, NOW)).toBe("over_monthly_limit")
    expect(purchaseRefusalCode(state, command, isoInstant("2026-04-01"))).toBeNull()
  })

  it("is the company's deletion first", () => {
    const gone = foldFacts(ledgerDecider, ledgerOpened(), purchaseTermsSetFact(), {
      type: "LedgerClosed",
      at: NOW,
    })
    expect(purchaseRefusalCode(gone, command, NOW)).toBe("ledger_closed")
    expect(purchaseRefusalCode(foldFacts(ledgerDecider, ledgerOpened()), command, NOW)).toBe(
      "purchase_not_allowed",
    )
  })
})

it("calculates the memory of each kind of entry", () => {
  const state = foldFacts(
    ledgerDecider,
    ledgerOpened(),
    fundsAdded(1_000_000, "a"),
    fundsAdded(1, "b"),
    fundsAdded(1, "c"),
    limitSet({ remindersMicros: [9_000] }),
    limitSet(KEY_LIMIT),
    limitSet({ class: "ai" }),
    charged({ isExternalId: true }),
    charged({ chargeId: "chg_2", keyId: "key_2" }),
    reminderReached(),
    charged({ chargeId: "chg_3", keyId: "key_3" }),
    apiCallsCounted(),
    purchaseTermsSetFact(),
    purchaseTermsSetFact({}, "key_2"),
    purchaseTermsSetFact({}, "key_3"),
    purchaseStartedFact(),
    purchaseStartedFact({ purchaseId: "pur_2" }),
    purchaseStartedFact({ purchaseId: "pur_3" }),
    purchasePaidFact(),
    purchasePaidFact({ purchaseId: "pur_2" }),
  )
  // One person and three keys; three limits and a reminder; three pending charges; three references and a name; a day's
  // calls; three keys' terms, a pending purchase, two ended ones and one key's used allowance.
  expect(ledgerBytes(state)).toBe(4 * 200 + 4 * 500 + 3 * 600 + 4 * 100 + 400 + 4 * 250 + 3 * 250)
})
