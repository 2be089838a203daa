import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { FAULTY_LEDGERS } from "./faulty-ledgers.ts"
import { crowdedHistories, histories, richHistories } from "./histories.ts"
import { LAWS, LAW_NAMES } from "./laws.ts"
import { play } from "./play.ts"
import { plainLedger } from "./subject.ts"

const HISTORIES = {
  usual: histories(80),
  crowded: crowdedHistories,
  rich: richHistories,
}

/** The seed is fixed: whether a fault is caught must not depend on luck. */
const SEED = 20_260_330

describe("the laws notice", () => {
  const faults = FAULTY_LEDGERS.map((faulty) => [faulty.fault, faulty.breaks, faulty] as const)
  it.each(faults)("when %s (%s)", (_fault, breaks, { subject, among }) => {
    const property = fc.property(HISTORIES[among ?? "usual"], (history) => {
      return LAWS[breaks](play(subject, history), subject) === null
    })
    const details = fc.check(property, { seed: SEED, numRuns: 400, endOnFailure: true })
    expect(details.failed).toBe(true)
  })

  it("a fault each: no law is there that nothing breaks", () => {
    const broken = new Set<string>(FAULTY_LEDGERS.map(({ breaks }) => breaks))
    expect([...broken].toSorted()).toEqual([...LAW_NAMES].toSorted())
  })

  it("nothing where nothing is wrong", () => {
    const plain = plainLedger()
    const property = fc.property(HISTORIES.usual, (history) => {
      const trace = play(plain, history)
      expect(LAW_NAMES.map((law) => LAWS[law](trace, plain))).toEqual(LAW_NAMES.map(() => null))
    })
    fc.assert(property, { seed: SEED, numRuns: 25 })
  })
})
