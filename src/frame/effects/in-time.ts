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
  const late = Promise.withResolvers<never>()
  void pacer.pause(ANSWER_TIMEOUT_MS, answered.signal).then(() => {
    if (!answered.signal.aborted) late.reject(silence())
  })
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    // The timer ends with the question.
    answered.abort()
  }
}
