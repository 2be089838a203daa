/** How long the rest of some steps takes, by those that were done. */
import { performance } from "node:perf_hooks"

/** Steps that are done one after the other. */
export interface TimeLeft {
  /** Notes that one more is done. */
  readonly done: () => void
  /** `, about 40 s left`; empty while nothing is known. */
  readonly words: () => string
}

const MINUTE_S = 60

/** Begins to count. @param elapsedMs milliseconds since some moment, never going back */
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
