import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { crowdedHistories, histories, richHistories } from "./histories.ts"
import { LEDGER_LAWS, LEDGER_LAW_NAMES, type LedgerLawName } from "./laws.ts"
import { playHistory } from "./play-history.ts"
import { isDeepRun, propertyRuns } from "./property-runs.ts"
import { realLedger } from "./ledger-under-test.ts"
import type { LedgerHistory } from "./history.ts"

const began = Date.now()
let steps = 0

/** Describes the first law that the ledger breaks in a history; null if it breaks none. */
function broken(
  history: LedgerHistory,
  laws: readonly LedgerLawName[] = LEDGER_LAW_NAMES,
): string | null {
  const trace = playHistory(realLedger, history)
  steps += trace.steps.length
  for (const name of laws) {
    const wrong = LEDGER_LAWS[name](trace, realLedger)
    if (wrong !== null) return `${name}: ${wrong}`
  }
  return null
}

/** Checks laws on histories; a failure shows the seed and the smallest failing history. */
function expectLaws(
  all: fc.Arbitrary<LedgerHistory>,
  usual: number,
  deep: number,
  laws = LEDGER_LAW_NAMES,
): void {
  const property = fc.property(all, (history) => {
    expect(broken(history, laws)).toBeNull()
  })
  fc.assert(property, propertyRuns(usual, deep))
}

const HOUR_MS = 3_600_000

describe("the ledger respects the laws", { timeout: HOUR_MS }, () => {
  it("in random histories", () => {
    expectLaws(histories(80), 100, 14_000)
  })

  it("in histories of at least 200 turns", () => {
    const long = histories(280).filter(({ turns }) => turns.length >= 200)
    expectLaws(long, 3, 300)
  })

  it("with more names than it remembers", () => {
    expectLaws(crowdedHistories, 8, 200)
  })

  it("near the largest exact sum, where it may reject charges that fit", () => {
    // The reference ledger has no limit for exact sums.
    const rest = LEDGER_LAW_NAMES.filter((name) => {
      return name !== "matchesReferenceLedger" && name !== "fittingChargesAreAccepted"
    })
    expectLaws(richHistories, 75, 1_500, rest)
  })

  it("in a million commands in deep runs", () => {
    expect(steps).toBeGreaterThan(isDeepRun ? 1_000_000 : 100)
  })
})

afterAll(() => {
  const seconds = Math.round((Date.now() - began) / 1_000)
  if (isDeepRun)
    console.log(`${steps} commands and calls through ${LEDGER_LAW_NAMES.length} laws, ${seconds} s`)
})
