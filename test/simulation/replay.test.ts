/** A seed is a run: again and again the same, and another one for every other seed. */
import { describe, expect, it } from "vitest"
import { failureOf } from "./runs.ts"
import type { Run } from "./simulate.ts"
import { simulate } from "./simulate.ts"

const SEEDS = [1, 2, 3, 2 ** 40 + 5]

async function runs(seeds: readonly number[]): Promise<readonly Run[]> {
  const all: Run[] = []
  for (const seed of seeds) all.push(await simulate(seed))
  return all
}

describe("a run", () => {
  it("is the same whenever it is replayed, byte for byte and step for step", async () => {
    const first = await runs(SEEDS)
    const second = await runs(SEEDS.toReversed())
    expect(second.toReversed()).toEqual(first)
    expect(new Set(first.map(({ digest }) => digest)).size).toBe(SEEDS.length)
  })

  it("that fails says how to see it again", () => {
    const run = { seed: 42, breaks: ["a charge is there twice"], digest: "", seen: new Map() }
    const failure = failureOf(run)
    expect(failure).toContain("a charge is there twice")
    expect(failure).toContain("LEDGER_SEED=42 npm test -- test/simulation/simulation.test.ts")
    expect(failureOf({ ...run, breaks: [] })).toBeNull()
  })
})
