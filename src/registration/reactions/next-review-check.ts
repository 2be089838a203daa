import type { Clock } from "../../../adapters/machine/clock/port.ts"

const MIN_WAIT_MS = 60_000
const MAX_WAIT_MS = 24 * 3_600_000
/** A submission that has waited for a day is checked every six hours. */
const WAIT_PER_AGE = 1 / 4

/** The time of the next check, UTC milliseconds; checks get rarer with the age since `begunAt`. */
export function nextReviewCheckAt(clock: Pick<Clock, "now">, begunAt: number): number {
  const now = clock.now()
  const wait = Math.round(Math.max(0, now - begunAt) * WAIT_PER_AGE)
  return now + Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, wait))
}
