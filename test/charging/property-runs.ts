/**
 * The number of runs of property tests. `LEDGER_DEEP=1` runs more than a million commands in minutes; `LEDGER_RUNS=few`
 * runs a few fixed histories, for mutation tests.
 */
import process from "node:process"

/** Whether deep runs are enabled. */
export const isDeepRun = process.env["LEDGER_DEEP"] === "1"

const isQuickRun = process.env["LEDGER_RUNS"] === "few"
const SEED = 20_260_330

/** The number of runs and the seed: random, unless only a few runs are made. */
export function propertyRuns(usual: number, deep = usual): { numRuns: number; seed?: number } {
  if (isQuickRun) return { numRuns: Math.max(2, Math.ceil(usual / 10)), seed: SEED }
  return { numRuns: isDeepRun ? deep : usual }
}
