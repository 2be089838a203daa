import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { FaultyLedger } from "./faulting.ts"
import { FAULTY_LEDGERS } from "./faulty-ledgers.ts"
import { crowdedHistories, histories, richHistories } from "./histories.ts"
import { LAWS, LAW_NAMES, type LawName } from "./laws.ts"
import { play } from "./play.ts"
import { type Subject, plainLedger } from "./subject.ts"

const HISTORIES = {
  usual: histories(80),
  crowded: crowdedHistories,
  rich: richHistories,
}

/** How many histories it took to see a law broken; null where all of them passed. */
function historiesUntilCaught(
  law: LawName,
  subject: Subject,
  among: FaultyLedger["among"] | "usual" = "usual",
  numRuns = 400,
): number | null {
  const property = fc.property(HISTORIES[among], (history) => {
    return LAWS[law](play(subject, history), subject) === null
  })
  // The seed is fixed: whether a fault is caught must not depend on luck.
  const details = fc.check(property, { seed: 20_260_330, numRuns, endOnFailure: true })
  return details.failed ? details.numRuns : null
}

describe("the laws notice", () => {
  const faults = FAULTY_LEDGERS.map((faulty) => [faulty.fault, faulty.breaks, faulty] as const)
  it.each(faults)("when %s (%s)", (_fault, breaks, { subject, among }) => {
    expect(historiesUntilCaught(breaks, subject, among)).not.toBeNull()
  })

  it("a fault each: no law is there that nothing breaks", () => {
    const broken = new Set<string>(FAULTY_LEDGERS.map(({ breaks }) => breaks))
    expect([...broken].sort()).toEqual([...LAW_NAMES].sort())
  })

  it.each(LAW_NAMES)("nothing where nothing is wrong (%s)", (law) => {
    expect(historiesUntilCaught(law, plainLedger(), "usual", 25)).toBeNull()
  })
})
