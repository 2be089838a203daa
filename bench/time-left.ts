/** Estimates the time of the remaining steps from the finished ones. */
import { performance } from "node:perf_hooks"

export interface TimeLeft {
  /** Counts a finished step. */
  readonly done: () => void
  /** `, about 40 s left`; empty while there is no estimate. */
  readonly words: () => string
}

const MINUTE_S = 60

/** Starts to count. @param elapsedMs a monotonic clock, milliseconds */
export function timeLeft(
  steps: number,
  elapsedMs: () => number = () => performance.now(),
): TimeLeft {
  const begun = elapsedMs()
  let finished = 0
  return {
    done: () => {
      finished += 1
    },
    words: () => {
      if (finished === 0) return ""
      const seconds = (((elapsedMs() - begun) / finished) * (steps - finished)) / 1_000
      return `, ${durationWords(seconds)} left`
    },
  }
}

function durationWords(seconds: number): string {
  if (seconds >= 2 * MINUTE_S) return `about ${Math.round(seconds / MINUTE_S)} min`
  return `about ${Math.max(1, Math.round(seconds))} s`
}
