import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCheckpoint } from "../../domain/charging/ledger-state.ts"
import { readLimits, exhaustedLimit } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { foldFacts, decideStamped } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  chargeCommand,
  charged,
  fundsAdded,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"

const ready = [ledgerOpened(), fundsAdded(1_000_000)]
const OWN: Spender = { via: "own_key", keyId: "key_1", personId: "per_1" }
const SHARED: Spender = { via: "app_key", keyId: "key_1", personId: "per_1" }
const UNSIGNED: Spender = { via: "app_key", keyId: "key_1", personId: null }
const DASHBOARD: Spender = { via: "person", keyId: null, personId: "per_1" }
const ALONE: Spender = { via: "company", keyId: null, personId: null }

/** The used amount by every possible limit: key, person, person without keys, company. */
function used(facts: (state: ReturnType<typeof ledgerDecider.initial>) => void): readonly number[] {
  const limits = [
    limitSet(KEY_LIMIT),
    limitSet(PERSON_LIMIT),
    limitSet({ ...PERSON_LIMIT, leaveKeysOut: true }),
    limitSet(),
  ]
  return limits.map((limit) => {
    const state = foldFacts(ledgerDecider, ...ready)
    facts(state)
    ledgerDecider.evolve(state, limit)
    return readLimits(state, NOW)[0]?.usedMicros ?? Number.NaN
  })
}

describe("a charge that is decided and then folded", () => {
  const others: readonly (readonly [string, readonly LedgerEvent[]])[] = [
    ["no holder", []],
    ["the key alone", [charged({ ...UNSIGNED, amountMicros: 0 })]],
    ["the person alone", [charged({ ...DASHBOARD, amountMicros: 0 })]],
    ["both", [charged({ ...OWN, amountMicros: 0 })]],
  ]
  it.each(others)("counts for all of its holders, if %s was known before", (_who, known) => {
    for (const [spender, right] of [
      [OWN, [9_000, 9_000, 0, 9_000]],
      [SHARED, [9_000, 9_000, 9_000, 9_000]],
      [UNSIGNED, [9_000, 0, 0, 9_000]],
      [DASHBOARD, [0, 9_000, 9_000, 9_000]],
      [ALONE, [0, 0, 0, 9_000]],
    ] as const) {
      const sums = used((state) => {
        for (const fact of known) ledgerDecider.evolve(state, fact)
        expect(
          decideStamped(ledgerDecider, chargeCommand({ ...spender, chargeId: "chg_2" }), state),
        ).toHaveLength(1)
        ledgerDecider.evolve(state, charged({ ...spender, chargeId: "chg_2" }))
      })
      expect(sums, spender.via).toEqual(right)
    }
  })

  it.each([
    ["the same key and person through the app key", OWN, SHARED],
    ["another class", { ...OWN, class: "ai" }, { ...OWN, class: "general" }],
    ["another key", { ...OWN, keyId: "key_2" }, OWN],
    ["another person", { ...OWN, personId: "per_2" }, OWN],
    ["the company alone", ALONE, OWN],
  ] as const)(
    "counts for its own holders, not for those of the last decision: %s",
    (_case, first, second) => {
      const both = [charged({ ...first, amountMicros: 0 }), charged({ ...second, amountMicros: 0 })]
      const right = used((state) => {
        for (const fact of both) ledgerDecider.evolve(state, fact)
        ledgerDecider.evolve(state, charged(second))
      })
      const sums = used((state) => {
        for (const fact of both) ledgerDecider.evolve(state, fact)
        decideStamped(ledgerDecider, chargeCommand({ ...first, chargeId: "chg_2" }), state)
        ledgerDecider.evolve(state, charged(second))
      })
      expect(sums).toEqual(right)
      expect(right).toContain(9_000)
    },
  )

  it("counts correctly after a read of holders without a counter", () => {
    const sums = used((state) => {
      expect(exhaustedLimit(state, OWN, NOW)).toBeNull()
      ledgerDecider.evolve(state, charged(OWN))
      ledgerDecider.evolve(state, charged({ ...OWN, chargeId: "chg_2" }))
    })
    expect(sums).toEqual([18_000, 18_000, 0, 18_000])
  })
})

describe("spending without a key or person", () => {
  it("has no counter of a key or person", () => {
    const state = foldFacts(ledgerDecider, ...ready, charged(ALONE))
    expect(ledgerCheckpoint.save(state)).toMatchObject({ tallies: { keys: [], people: [] } })
    const unsigned = foldFacts(ledgerDecider, ...ready, charged(UNSIGNED))
    expect(ledgerCheckpoint.save(unsigned)).toMatchObject({
      tallies: { keys: [["key_1", [9_000, 9_000, 9_000]]], people: [] },
    })
  })
})
