/** Each law is seen to fail where a decider gets wrong what it is about. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { call } from "../../domain/voice/call.ts"
import type { LawName } from "./call-laws.ts"
import { LAWS, plans } from "./call-laws.ts"
import type { CallDecider } from "./call-model.ts"
import { playCall } from "./call-model.ts"
import { FAULTY_CALLS } from "./faulty-calls.ts"

/** After how many calls a law notices that a decider is wrong; null where it does not. */
function noticedAfter(decider: CallDecider, law: LawName, numRuns = 20_000): number | null {
  const property = fc.property(plans, (plan) => LAWS[law](playCall(decider, plan)) === null)
  const details = fc.check(property, { seed: 20_261_125, numRuns, endOnFailure: true })
  return details.failed ? details.numRuns : null
}

describe("a decider of calls", () => {
  it.each(FAULTY_CALLS)("that $fault breaks $breaks", ({ decider, breaks }) => {
    expect(noticedAfter(decider, breaks)).not.toBeNull()
  })

  it("that is right breaks no law", () => {
    const names = Object.keys(LAWS) as LawName[]
    expect(names.filter((law) => noticedAfter(call, law, 500) !== null)).toEqual([])
  })

  it("is wrong in a way that each law notices", () => {
    const noticed = new Set<string>(FAULTY_CALLS.map(({ breaks }) => breaks))
    expect([...noticed].toSorted()).toEqual(Object.keys(LAWS).toSorted())
  })
})
