/**
 * Which seeds the simulation goes through: 200 of them, 10,000 with `LEDGER_DEEP=1`, a few with
 * `LEDGER_RUNS=few`, and exactly one with `LEDGER_SEED=<seed>`, which replays that run.
 */
import process from "node:process"
import { runsOf } from "../charging/runs.ts"
import type { DatabaseFlaws } from "./database.ts"
import type { Run } from "./simulate.ts"
import { simulate } from "./simulate.ts"

const USUAL = 200
const DEEP = 10_000
const ONE_TEST = 50

const named = process.env["LEDGER_SEED"]

/** The seeds, in lots that take about a test's time. */
export function lotsOfSeeds(): readonly (readonly number[])[] {
  if (named !== undefined) return [[Number(named)]]
  const { numRuns } = runsOf(USUAL, DEEP)
  const seeds = Array.from({ length: numRuns }, (_, i) => i + 1)
  return Array.from({ length: Math.ceil(numRuns / ONE_TEST) }, (_, lot) => {
    return seeds.slice(lot * ONE_TEST, (lot + 1) * ONE_TEST)
  })
}

/** Whether every usual seed is gone through: fewer show less of what can happen. */
export const isWhole = named === undefined && runsOf(USUAL).numRuns >= USUAL

/** What broke in a run, and how to see it again; null where everything held. */
export function failureOf({ seed, breaks }: Run): string | null {
  if (breaks.length === 0) return null
  const again = `LEDGER_SEED=${seed} npm test -- test/simulation/simulation.test.ts`
  return [`seed ${seed}:`, ...breaks.map((one) => `  ${one}`), `  again: ${again}`].join("\n")
}

/**
 * The first run that breaks something of this kind; null where all of the usual ones hold. The seed
 * that is likely to show it is looked at first.
 */
export async function firstBroken(
  flaws: DatabaseFlaws,
  breaks: RegExp,
  likely: number,
): Promise<Run | null> {
  const others = Array.from({ length: USUAL }, (_, i) => i + 1).filter((seed) => seed !== likely)
  for (const seed of [likely, ...others]) {
    const run = await simulate(seed, flaws)
    if (run.breaks.some((one) => breaks.test(one))) return run
  }
  return null
}
