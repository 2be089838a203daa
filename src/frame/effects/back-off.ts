/** How long work waits that could not be done for a passing reason. */
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"

const RETRY_FIRST_MS = 500
const RETRY_MOST_MS = 5 * 60_000

/** To be done again: after half a second, then each time twice as long, at most five minutes. */
export function retryLater({ tries }: Pick<TakenWork, "tries">, reason: string): WorkResult {
  const afterMs = Math.min(RETRY_FIRST_MS * 2 ** (tries - 1), RETRY_MOST_MS)
  return { result: "retry", afterMs, reason }
}
