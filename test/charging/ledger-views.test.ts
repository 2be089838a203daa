/** What others may see of a ledger's state, where no decision shows it. */
import { describe, expect, it } from "vitest"
import { ledgerBytes } from "../../domain/charging/ledger-state.ts"
import {
  fundsNoticeOf,
  limitNamed,
  limitsFor,
  openMonthOf,
  paymentOfPending,
  purchaseRefusal,
  resourceOfOpen,
} from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { apart, fold } from "../support/spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  at,
  charged,
  closed,
  counted,
  funded,
  givenBack,
  limitSet,
  opened,
  reminded,
} from "./ledger-facts.ts"
import { buy, may, paid, started } from "./purchase-facts.ts"

const SPENDER = { via: "own_key", keyId: "key_1", personId: "per_1" } as const

it("shows the sum below which owners want to hear of the funds", () => {
  expect(fundsNoticeOf(fold(ledger, opened()))).toBeNull()
  const set = { type: "LowFundsAlertSet", at: NOW, belowMicros: 5_000 } as const
  expect(fundsNoticeOf(fold(ledger, opened(), set))).toBe(5_000)
})

it("shows the month that is not closed, up to the last fact", () => {
  expect(openMonthOf(fold(ledger))).toBeNull()
  const facts = [opened(), funded(20_000), charged(), givenBack({ amountMicros: 4_000 })]
  expect(openMonthOf(fold(ledger, ...facts))).toEqual({
    start: at("2026-03-01"),
    end: at("2026-04-01"),
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
  const state = fold(ledger, limitSet(), limitSet({ ...PERSON_LIMIT, period: "week" }))
  const named = limitNamed(state, { ...PERSON_LIMIT })
  expect(named).toMatchObject({ holder: "person", holderId: "per_1", period: "week" })
  expect(limitNamed(state, { ...PERSON_LIMIT, holderId: "per_2" })).toBeNull()
  expect(limitNamed(state, { ...KEY_LIMIT })).toBeNull()
})

it("reads the limits that a charge must fit: key, person, company, with what is asked", () => {
  const limits = [
    limitSet(),
    limitSet({ class: "ai" }),
    limitSet({ ...PERSON_LIMIT }),
    limitSet(KEY_LIMIT),
  ]
  const state = fold(ledger, opened(), funded(1_000_000), ...limits, charged())
  const found = limitsFor(state, SPENDER, "general", NOW, 5)
  expect(found.map(({ holder }) => holder)).toEqual(["key", "person", "company"])
  for (const reading of found) {
    expect(reading).toMatchObject({ usedMicros: 9_000, remainingMicros: 18_000, askedMicros: 5 })
  }
})

it("shows what an open charge is for, and the payment of a pending purchase", () => {
  const open = fold(ledger, charged(), charged({ chargeId: "chg_2", resource: null }))
  expect(["chg_1", "chg_2", "chg_3"].map((id) => resourceOfOpen(open, id))).toEqual([
    "msg_1",
    null,
    null,
  ])
  expect(resourceOfOpen(fold(ledger, charged(), closed("chg_1")), "chg_1")).toBeNull()
  expect(paymentOfPending(open, "pur_1")).toBeNull()
})

describe("why a purchase would be refused", () => {
  const { command } = apart(buy())

  it("is nothing while the key's terms let it pass, in the month of the question", () => {
    const state = fold(ledger, opened(), may(), started({ purchaseId: "pur_2" }))
    expect(purchaseRefusal(state, command, NOW)).toBe("over_monthly_limit")
    expect(purchaseRefusal(state, command, at("2026-04-01"))).toBeNull()
  })

  it("is first that the company was deleted", () => {
    const gone = fold(ledger, opened(), may(), { type: "LedgerClosed", at: NOW })
    expect(purchaseRefusal(gone, command, NOW)).toBe("ledger_closed")
    expect(purchaseRefusal(fold(ledger, opened()), command, NOW)).toBe("purchase_not_allowed")
  })
})

it("says what each kind of entry takes in memory", () => {
  const state = fold(
    ledger,
    opened(),
    funded(1_000_000, "a"),
    funded(1, "b"),
    funded(1, "c"),
    limitSet({ remindersMicros: [9_000] }),
    limitSet(KEY_LIMIT),
    limitSet({ class: "ai" }),
    charged({ isExternalId: true }),
    charged({ chargeId: "chg_2", keyId: "key_2" }),
    reminded(),
    charged({ chargeId: "chg_3", keyId: "key_3" }),
    counted(),
    may(),
    may({}, "key_2"),
    may({}, "key_3"),
    started(),
    started({ purchaseId: "pur_2" }),
    started({ purchaseId: "pur_3" }),
    paid(),
    paid({ purchaseId: "pur_2" }),
  )
  // One person and three keys; three limits and a reminder; three open charges; three references and a name; a day's
  // calls; three keys' terms, a pending purchase, two ended ones and what one key took.
  expect(ledgerBytes(state)).toBe(4 * 200 + 4 * 500 + 3 * 600 + 4 * 100 + 400 + 4 * 250 + 3 * 250)
})
