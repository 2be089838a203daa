/** What the log hears of read models that are built anew while the ledger starts. */
import type { Log } from "../../frame/kernel/log.ts"

/** So many events are folded between two lines of the log. */
const TOLD_EVERY_EVENTS = 100_000

/**
 * Says that the start takes its time, and how far it came; what it is told of is broken off where nobody
 * waits for the start any more, and begins anew at the next one.
 *
 * @param signal aborted where the ledger is to stop
 */
export function followRenewing(
  log: Log,
  signal: AbortSignal | undefined,
): (name: string, events: number) => void {
  const told = new Map<string, number>()
  return (name, events) => {
    if (events >= (told.get(name) ?? 0)) {
      told.set(name, events + TOLD_EVERY_EVENTS)
      log.info(`the read model ${name} is of another version and is built anew`, { events })
    }
    signal?.throwIfAborted()
  }
}
