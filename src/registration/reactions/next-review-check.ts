/** When something is asked about again that carriers review, which takes days: more and more seldom. */
import type { Clock } from "../../../adapters/machine/clock/port.ts"

const MIN_WAIT_MS = 60_000
const MAX_WAIT_MS = 24 * 3_600_000
/** What has waited for a day is asked about every six hours. */
const WAIT_PER_AGE = 1 / 4

/** The instant, UTC milliseconds. @param begunAt since when it has been asked about */
export function nextReviewCheckAt(clock: Pick<Clock, "now">, begunAt: number): number {
  const now = clock.now()
  const part = Math.round(Math.max(0, now - begunAt) * WAIT_PER_AGE)
  return now + Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, part))
}
