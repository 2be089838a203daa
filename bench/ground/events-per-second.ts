import { performance } from "node:perf_hooks"
import { honest } from "../benchmark.ts"

/**
 * How many events a second somebody reads who has `events` to read and answers how many it was.
 *
 * @throws Dishonest where it was another number, and the signal's reason
 */
export async function eventsPerSecond(
  events: number,
  read: () => Promise<number>,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted()
  const begun = performance.now()
  const found = await read()
  const tookMs = performance.now() - begun
  honest(found === events, `${found} events were read of ${events}`)
  return (events * 1_000) / tookMs
}
