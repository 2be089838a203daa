/** Callers that each wait for their answer before they ask again. */
import { performance } from "node:perf_hooks"

/** What some callers came to. */
export interface Rate {
  readonly count: number
  readonly perSecond: number
}

/** How long a rate is measured, in milliseconds: long enough for hundreds of flushes to the disk. */
const MEASURED_MS = 1_000

/**
 * Lets so many callers call, each as soon as it was answered, for a while. What counts are the calls
 * that were answered with true; all of them are waited for, and their time counts. `call` is told who calls,
 * counted from 0.
 *
 * @throws what a call throws, and the signal's reason once it is aborted
 */
export async function callTogether(
  callers: number,
  call: (caller: number) => Promise<boolean>,
  signal: AbortSignal,
  forMs = MEASURED_MS,
): Promise<Rate> {
  const begun = performance.now()
  let count = 0
  const caller = async (own: number): Promise<void> => {
    while (performance.now() - begun < forMs) {
      signal.throwIfAborted()
      if (await call(own)) count += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, own) => caller(own)))
  return { count, perSecond: (count * 1_000) / (performance.now() - begun) }
}
