/** A seed is a run: again and again the same, and another one for every other seed. */
import { describe, expect, it } from "vitest"
import { failureOf } from "./runs.ts"
import { simulate } from "./simulate.ts"

const SEEDS = [1, 2, 3, 17, 51, 97, 2 ** 40 + 5]

describe("a run", () => {
  it("is the same whenever it is replayed, byte for byte and step for step", async () => {
    const first = []
    for (const seed of SEEDS) first.push(await simulate(seed))
    const second = []
    for (const seed of SEEDS.toReversed()) second.unshift(await simulate(seed))
    expect(second).toEqual(first)
  })

  it("is another one for every seed", async () => {
    const digests = new Set<string>()
    for (const seed of SEEDS) digests.add((await simulate(seed)).digest)
    expect(digests.size).toBe(SEEDS.length)
  })

  it("that fails says how to see it again", () => {
    const run = { seed: 42, breaks: ["a charge is there twice"], digest: "", seen: new Map() }
    const failure = failureOf(run)
    expect(failure).toContain("a charge is there twice")
    expect(failure).toContain("LEDGER_SEED=42 npm test -- test/simulation/simulation.test.ts")
    expect(failureOf({ ...run, breaks: [] })).toBeNull()
  })
})
