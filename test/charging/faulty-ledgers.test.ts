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

/** The seed is fixed: whether a fault is caught must not depend on luck. */
const SEED = 20_260_330

describe("the laws notice", () => {
  const faults = FAULTY_LEDGERS.map((faulty) => [faulty.fault, faulty.brokenLaw, faulty] as const)
  it.each(faults)("when %s (%s)", (_fault, breaks, { ledger, histories: kind }) => {
    const property = fc.property(HISTORIES[kind ?? "usual"], (history) => {
      return LEDGER_LAWS[breaks](playHistory(ledger, history), ledger) === null
    })
    const details = fc.check(property, { seed: SEED, numRuns: 400, endOnFailure: true })
    expect(details.failed).toBe(true)
  })

  it("a fault each: no law is there that nothing breaks", () => {
    const broken = new Set<string>(FAULTY_LEDGERS.map(({ brokenLaw }) => brokenLaw))
    expect([...broken].toSorted()).toEqual([...LEDGER_LAW_NAMES].toSorted())
  })

  it("nothing where nothing is wrong", () => {
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
