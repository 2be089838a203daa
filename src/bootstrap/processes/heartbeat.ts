/** Whether a process still answers: one whose loop stands still takes connections and serves none. */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"

/** It is asked so often; one that has not answered by then gets no more connections, */
const EVERY_MS = 10_000
/**
 * and after so many in a row it is given up: a minute. The longest that one was seen to stand still for work
 * of its own is half of that: the list of a million companies, on a busy machine (docs/scale.md).
 */
const MOST_UNANSWERED = 6

/** A process as it is asked. */
export interface Asked {
  readonly pacer: Pacer
  readonly ask: () => void
  /** It has not answered in time, or does again. */
  readonly onChange: (answers: boolean) => void
  /** It will not answer any more. */
  readonly onSilent: () => void
  /** Aborts where it has ended. */
  readonly ended: AbortSignal
}

/**
 * Asks until it has ended, or is given up. What was not answered is counted, and not the time: where this
 * process stood still itself, its timers are over before it has read the answers.
 *
 * @returns what is called with each answer
 */
export function askAgainAndAgain(asked: Asked): () => void {
  const { pacer, ask, onChange, onSilent, ended } = asked
  let unanswered = 0
  const run = async (): Promise<void> => {
    for (;;) {
      unanswered += 1
      ask()
      await pacer.pause(EVERY_MS, ended)
      if (ended.aborted) return
      if (unanswered === 1) onChange(false)
      if (unanswered === MOST_UNANSWERED) return onSilent()
    }
  }
  void run()
  return () => {
    if (unanswered > 1) onChange(true)
    unanswered = 0
  }
}
