/** How long something outside is tried, and when who was silent about it is asked what became of it. */
import type { ClaimedJob, JobResult } from "../../../adapters/postgres/jobs/port.ts"

const RETRY_FIRST_MS = 500

const RETRY_MAX_MS = 5 * 60_000

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The times of an effect, milliseconds from where its intent was recorded. */
export interface EffectTimes {
  /** For so long a provider that is not available is tried; 0: once. */
  readonly retryUnavailableForMs: number
  /** Who was silent is asked at these ages, in their order. */
  readonly checkAfterMs: readonly [number, ...number[]]
  /** And so often after the last of them. */
  readonly checkEveryMs: number
  /** Who knows nothing of it after this long never got it. */
  readonly notReceivedAfterMs: number
  /** Who is silent for this long leaves it to an operator. */
  readonly stuckAfterMs: number
}

/** The times of an effect that states none. */
export const DEFAULT_EFFECT_TIMES: EffectTimes = {
  retryUnavailableForMs: 72 * HOUR_MS,
  checkAfterMs: [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  checkEveryMs: HOUR_MS,
  notReceivedAfterMs: 10 * MINUTE_MS,
  stuckAfterMs: 72 * HOUR_MS,
}
/** Who knows nothing of it after this long never got it, unless its effect says otherwise. */
export const NOT_RECEIVED_AFTER_MS = DEFAULT_EFFECT_TIMES.notReceivedAfterMs
/** Who is silent for this long leaves it to an operator, unless its effect says otherwise. */
export const STUCK_AFTER_MS = DEFAULT_EFFECT_TIMES.stuckAfterMs

/**
 * How long to wait before the next question about something of this age, milliseconds.
 *
 * @param unknownEndsMs at what age it ends if it stays unknown; null where it is not unknown
 */
export function nextCheckDelayMs(
  ageMs: number,
  unknownEndsMs: number | null,
  { checkAfterMs, checkEveryMs, stuckAfterMs }: EffectTimes = DEFAULT_EFFECT_TIMES,
): number {
  const ends = unknownEndsMs === null ? [stuckAfterMs] : [unknownEndsMs, stuckAfterMs]
  const next = checkAfterMs.find((after) => after > ageMs) ?? ageMs + checkEveryMs
  return Math.min(next, ...ends.filter((end) => end > ageMs)) - ageMs
}

/** A time as sentences say it: `72 hours`. */
export function formatDuration(ms: number): string {
  const [count, unit] =
    ms % HOUR_MS === 0 ? [ms / HOUR_MS, "hour"] : [Math.round(ms / MINUTE_MS), "minute"]
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}

/**
 * To be done again: after half a second, then each time twice as long, at most five minutes.
 *
 * @param undone the provider said that it did nothing
 */
export function retryWithBackoff(
  { attempts }: Pick<ClaimedJob, "attempts">,
  reason: string,
  undone?: "undone",
): JobResult {
  const afterMs = Math.min(RETRY_FIRST_MS * 2 ** (attempts - 1), RETRY_MAX_MS)
  const result = { result: "retry" as const, afterMs, reason }
  return undone === undefined ? result : { ...result, isDispatchCleared: true }
}
