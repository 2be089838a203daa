import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { FAULTY_LEDGERS } from "./faulty-ledgers.ts"
import { crowdedHistories, histories, richHistories } from "./histories.ts"
import { LEDGER_LAWS, LEDGER_LAW_NAMES } from "./laws.ts"
import { playHistory } from "./play-history.ts"
import { referenceLedger } from "./ledger-under-test.ts"

const HISTORIES = {
  usual: histories(80),
  crowded: crowdedHistories,
  rich: richHistories,
}

/** The seed is fixed, so that finding a fault does not depend on chance. */
const SEED = 20_260_330

describe("the laws", () => {
  const faults = FAULTY_LEDGERS.map((faulty) => [faulty.fault, faulty.brokenLaw, faulty] as const)
  it.each(faults)("detect that %s (%s)", (_fault, breaks, { ledger, histories: kind }) => {
    const property = fc.property(HISTORIES[kind ?? "usual"], (history) => {
      return LEDGER_LAWS[breaks](playHistory(ledger, history), ledger) === null
    })
    const details = fc.check(property, { seed: SEED, numRuns: 400, endOnFailure: true })
    expect(details.failed).toBe(true)
  })

  it("are each broken by at least one faulty ledger", () => {
    const broken = new Set<string>(FAULTY_LEDGERS.map(({ brokenLaw }) => brokenLaw))
    expect([...broken].toSorted()).toEqual([...LEDGER_LAW_NAMES].toSorted())
  })

  it("hold for the correct ledger", () => {
    const plain = referenceLedger()
    const property = fc.property(HISTORIES.usual, (history) => {
      const trace = playHistory(plain, history)
      expect(LEDGER_LAW_NAMES.map((law) => LEDGER_LAWS[law](trace, plain))).toEqual(
        LEDGER_LAW_NAMES.map(() => null),
      )
    })
    fc.assert(property, { seed: SEED, numRuns: 25 })
  })
})
