/** Waiting for something outside, and no longer than that. */
import type { Ports } from "../ports.ts"

const ANSWER_TIMEOUT_MS = 10_000

/** The answer from outside. Once the time for it is over it throws what `silence` gives. */
export async function inTime<T>(
  { pacer }: Pick<Ports, "pacer">,
  answer: Promise<T>,
  silence: () => Error,
): Promise<T> {
  const answered = new AbortController()
  const late = pacer.pause(ANSWER_TIMEOUT_MS, answered.signal).then(() => {
    throw silence()
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    // The timer ends with the question; what it says then is nobody's concern.
    late.catch(() => undefined)
    answered.abort()
  }
}
