/** When somebody outside who was silent about something is asked what became of it. */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** After it was begun; then every hour. */
const ASK_AFTER_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS]
/** Who knows nothing of it after this long never got it, unless their port says otherwise. */
export const UNKNOWN_IS_NO_AFTER_MS = 10 * MINUTE_MS
/** Who is silent for this long leaves it to an operator. */
export const PARK_AFTER_MS = 72 * HOUR_MS

/**
 * How long to wait before the next question about something of this age, milliseconds.
 *
 * @param unknownEndsMs at what age it ends if it stays unknown; null where it is not unknown
 */
export function askAgainAfter(ageMs: number, unknownEndsMs: number | null): number {
  const ends = unknownEndsMs === null ? [PARK_AFTER_MS] : [unknownEndsMs, PARK_AFTER_MS]
  const next = ASK_AFTER_MS.find((after) => after > ageMs) ?? ageMs + HOUR_MS
  return Math.min(next, ...ends.filter((end) => end > ageMs)) - ageMs
}
