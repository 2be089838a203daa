/** Times of effects: how long to retry a provider, and when to check the status of unknown outcomes. */
import type { ClaimedJob, JobResult } from "../../../adapters/postgres/jobs/port.ts"

const RETRY_FIRST_MS = 500

const RETRY_MAX_MS = 5 * 60_000

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The times of an effect, milliseconds since its intent was recorded. */
export interface EffectTimes {
  /** How long to retry a provider that is unavailable; 0 for a single attempt. */
  readonly retryUnavailableForMs: number
  /** Ages at which to check the status of an unknown outcome, ascending. */
  readonly checkAfterMs: readonly [number, ...number[]]
  /** Interval of the checks after the last of these ages. */
  readonly checkEveryMs: number
  /** Age at which a provider that does not know the request is taken not to have received it. */
  readonly notReceivedAfterMs: number
  /** Age at which a job without an answer becomes stuck. */
  readonly stuckAfterMs: number
}

/** The times of an effect that declares none. */
export const DEFAULT_EFFECT_TIMES: EffectTimes = {
  retryUnavailableForMs: 72 * HOUR_MS,
  checkAfterMs: [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  checkEveryMs: HOUR_MS,
  notReceivedAfterMs: 10 * MINUTE_MS,
  stuckAfterMs: 72 * HOUR_MS,
}
/** Default age at which a provider that does not know the request did not receive it, milliseconds. */
export const NOT_RECEIVED_AFTER_MS = DEFAULT_EFFECT_TIMES.notReceivedAfterMs
/** Default age at which a job without an answer becomes stuck, milliseconds. */
export const STUCK_AFTER_MS = DEFAULT_EFFECT_TIMES.stuckAfterMs

/**
 * Returns how long to wait before the next status check of something of this age, milliseconds.
 *
 * @param unknownEndsMs the age at which it ends if the provider still does not know it; null if it does
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

/** Formats a duration for messages: `72 hours`. */
export function formatDuration(ms: number): string {
  const [count, unit] =
    ms % HOUR_MS === 0 ? [ms / HOUR_MS, "hour"] : [Math.round(ms / MINUTE_MS), "minute"]
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}

/**
 * Retries after half a second, then doubles the pause each time up to five minutes.
 *
 * @param undone given if the provider confirmed that it did nothing
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
