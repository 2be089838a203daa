/**
 * How much the property tests do, said in one place. `LEDGER_DEEP=1` goes through more than a
 * million commands and takes minutes; `LEDGER_RUNS=few` tries few histories, always the same, for
 * runs that repeat the tests for each of many changes to the code.
 */
import process from "node:process"

/** Whether there is time for a million commands. */
export const isDeepRun = process.env["LEDGER_DEEP"] === "1"

const isQuickRun = process.env["LEDGER_RUNS"] === "few"
const SEED = 20_260_330

/** How often a property is tried, and from which seed: a fresh one, but where few must do. */
export function propertyRuns(usual: number, deep = usual): { numRuns: number; seed?: number } {
  if (isQuickRun) return { numRuns: Math.max(2, Math.ceil(usual / 10)), seed: SEED }
  return { numRuns: isDeepRun ? deep : usual }
}
