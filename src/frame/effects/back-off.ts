/** How long work waits that could not be done for a passing reason. */
import type { TakenWork, WorkResult } from "../../../adapters/postgres/jobs/port.ts"

const RETRY_FIRST_MS = 500
const RETRY_MOST_MS = 5 * 60_000

/**
 * To be done again: after half a second, then each time twice as long, at most five minutes.
 *
 * @param undone the provider said that it did nothing
 */
export function retryLater(
  { tries }: Pick<TakenWork, "tries">,
  reason: string,
  undone?: "undone",
): WorkResult {
  const afterMs = Math.min(RETRY_FIRST_MS * 2 ** (tries - 1), RETRY_MOST_MS)
  const result = { result: "retry" as const, afterMs, reason }
  return undone === undefined ? result : { ...result, isUndone: true }
}
