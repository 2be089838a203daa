/** How long something outside is tried, and when who was silent about it is asked what became of it. */
import type { TakenWork, WorkResult } from "../../../adapters/postgres/jobs/port.ts"

const RETRY_FIRST_MS = 500

const RETRY_MOST_MS = 5 * 60_000

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The times of an effect, milliseconds from where its intent was recorded. */
export interface EffectTimes {
  /** For so long a provider that is not available is tried; 0: once. */
  readonly unavailableForMs: number
  /** Who was silent is asked at these ages, in their order. */
  readonly askAfterMs: readonly [number, ...number[]]
  /** And so often after the last of them. */
  readonly askEveryMs: number
  /** Who knows nothing of it after this long never got it. */
  readonly unknownAfterMs: number
  /** Who is silent for this long leaves it to an operator. */
  readonly parkAfterMs: number
}

/** The times of an effect that states none. */
export const USUAL_TIMES: EffectTimes = {
  unavailableForMs: 72 * HOUR_MS,
  askAfterMs: [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  askEveryMs: HOUR_MS,
  unknownAfterMs: 10 * MINUTE_MS,
  parkAfterMs: 72 * HOUR_MS,
}
/** Who knows nothing of it after this long never got it, unless its effect says otherwise. */
export const UNKNOWN_IS_NO_AFTER_MS = USUAL_TIMES.unknownAfterMs
/** Who is silent for this long leaves it to an operator, unless its effect says otherwise. */
export const PARK_AFTER_MS = USUAL_TIMES.parkAfterMs

/**
 * How long to wait before the next question about something of this age, milliseconds.
 *
 * @param unknownEndsMs at what age it ends if it stays unknown; null where it is not unknown
 */
export function askAgainAfter(
  ageMs: number,
  unknownEndsMs: number | null,
  { askAfterMs, askEveryMs, parkAfterMs }: EffectTimes = USUAL_TIMES,
): number {
  const ends = unknownEndsMs === null ? [parkAfterMs] : [unknownEndsMs, parkAfterMs]
  const next = askAfterMs.find((after) => after > ageMs) ?? ageMs + askEveryMs
  return Math.min(next, ...ends.filter((end) => end > ageMs)) - ageMs
}

/** A time as sentences say it: `72 hours`. */
export function inWords(ms: number): string {
  const [count, unit] =
    ms % HOUR_MS === 0 ? [ms / HOUR_MS, "hour"] : [Math.round(ms / MINUTE_MS), "minute"]
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}

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
