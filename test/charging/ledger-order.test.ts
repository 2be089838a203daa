import { describe, expect, it } from "vitest"
import type { ChargeCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import { foldFacts, decideStamped } from "../support/decider-spec.ts"
import {
  NOW,
  chargeCommand,
  charged,
  chargesSettled,
  fundsAdded,
  chargeReduced,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"

/**
 * Every reason to reject a charge, in the order of checks (docs/api.md). Each case includes all later reasons, so the
 * answer must be the first one.
 */
const REASONS: readonly {
  readonly answer: string
  readonly facts?: readonly LedgerEvent[]
  readonly command?: Partial<ChargeCommand>
}[] = [
  { answer: "nothing new", facts: [charged({ amountMicros: 0 })] },
  { answer: "bad_amount", command: { unitPriceMicros: MAX_MICROS - 1 } },
  { answer: "search_again", command: { searchedUpTo: -1 } },
  { answer: "ledger_closed", facts: [{ type: "LedgerClosed", at: NOW }] },
  { answer: "account_locked", facts: [{ type: "AccountLocked", at: NOW }] },
  { answer: "spend_limit_reached", facts: [limitSet({ amountMicros: 0 })] },
  { answer: "payment_required", facts: [], command: { exemption: null } },
  { answer: "too_many_open_charges", facts: manyOpen() },
  { answer: "amount_too_large", facts: [] },
]

function manyOpen(): readonly LedgerEvent[] {
  return Array.from({ length: 10_000 }, (_, i) => charged({ chargeId: `c${i}`, amountMicros: 0 }))
}

/** So many names that one is forgotten, and a debt, so that the largest amount is too large. */
const BEFORE: readonly LedgerEvent[] = [
  ledgerOpened(),
  ...Array.from({ length: 257 }, (_, i) => {
    return charged({ chargeId: `o${i}`, amountMicros: 0, isPending: false, isExternalId: true })
  }),
  charged({ chargeId: "debt", amountMicros: 1, isPending: false, exemption: "funds" }),
]

describe("the first reason to reject a charge is the answer", () => {
  it.each(REASONS.map(({ answer }, index) => [answer, index] as const))("%s", (right, index) => {
    const reasons = REASONS.slice(index)
    const most = {
      amountMicros: MAX_MICROS,
      unitPriceMicros: MAX_MICROS,
      exemption: "funds",
    } as const
    const command = reasons.reduceRight(
      (whole, reason) => ({ ...whole, ...reason.command }),
      chargeCommand(most),
    )
    const state = foldFacts(ledgerDecider, ...BEFORE, ...reasons.flatMap(({ facts = [] }) => facts))
    const answer = decideStamped(ledgerDecider, command, state)
    expect("code" in answer ? answer.code : "nothing new").toBe(right)
  })

  it("a used id records nothing, even in a closed ledger", () => {
    const used = [charged({ isExternalId: true }), chargesSettled("chg_1"), chargeReduced()]
    const state = foldFacts(
      ledgerDecider,
      ...used,
      { type: "LedgerClosed", at: NOW },
      fundsAdded(1),
    )
    expect(decideStamped(ledgerDecider, chargeCommand({ searchedUpTo: -1 }), state)).toEqual([])
  })
})
