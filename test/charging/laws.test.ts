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

/** The first law that the ledger breaks in a history, and how; null where it keeps them all. */
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

/** Tries a law on histories; a failure names the seed and the smallest history that shows it. */
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

describe("the ledger keeps the laws", { timeout: HOUR_MS }, () => {
  it("whatever happens", () => {
    expectLaws(histories(80), 100, 14_000)
  })

  it("over at least two hundred commands", () => {
    const long = histories(280).filter(({ turns }) => turns.length >= 200)
    expectLaws(long, 3, 300)
  })

  it("where more names are used than it remembers", () => {
    expectLaws(crowdedHistories, 8, 200)
  })

  it("near the most that adds up exactly, where not everything that fits can be charged", () => {
    // The plain ledger knows no such bound.
    const rest = LEDGER_LAW_NAMES.filter((name) => {
      return name !== "matchesReferenceLedger" && name !== "fittingChargesAreAccepted"
    })
    expectLaws(richHistories, 75, 1_500, rest)
  })

  it("in a million commands, where there is time for them", () => {
    expect(steps).toBeGreaterThan(isDeepRun ? 1_000_000 : 100)
  })
})

afterAll(() => {
  const seconds = Math.round((Date.now() - began) / 1_000)
  if (isDeepRun)
    console.log(`${steps} commands and calls through ${LEDGER_LAW_NAMES.length} laws, ${seconds} s`)
})
