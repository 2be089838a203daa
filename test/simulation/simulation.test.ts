/** Processes on one store, seeds over seeds: whatever goes wrong, the audit holds. */
import { describe, expect, it } from "vitest"
import { failureOf, lotsOfSeeds } from "./runs.ts"
import { simulate } from "./simulate.ts"

const LOT_TIMEOUT_MS = 120_000

describe("the simulated core", () => {
  const lots = lotsOfSeeds().map((seeds) => [seeds[0], seeds.at(-1), seeds] as const)
  it.each(lots)(
    "holds for the seeds %d to %d",
    { timeout: LOT_TIMEOUT_MS },
    async (_, __, seeds) => {
      const failures: string[] = []
      for (const seed of seeds) {
        const failure = failureOf(await simulate(seed))
        if (failure !== null) failures.push(failure)
      }
      expect(failures.join("\n")).toBe("")
    },
  )
})
