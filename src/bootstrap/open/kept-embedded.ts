/** The embedded PostgreSQL, started again where it ended without being asked. */
import type { Embedded } from "../../../adapters/postgres/embedded/start-embedded.ts"
import type { Log } from "../../frame/kernel/log.ts"

/** One that ends so soon after its start has a reason to; */
const SOON_MS = 2_000
/** so often in a row, and it is left. */
const MOST_IN_VAIN = 5

/** A PostgreSQL that is looked after. */
export interface KeptEmbedded {
  readonly url: string
  /** Resolves with a sentence where it ended and could not be started again; else never. */
  readonly lost: Promise<string>
  readonly stop: () => Promise<void>
}

/**
 * Starts it, and again whenever it ends by itself: whoever has connections makes new ones, at the same
 * address. What it is started with says whether it ran before: then nothing may be made anew.
 *
 * @param signal aborted when all is to stop: it is not started from then on
 * @throws what the first start throws
 */
export async function keepEmbedded(
  start: (again: boolean) => Promise<Embedded>,
  log: Log,
  elapsedMs: () => number,
  signal: AbortSignal,
): Promise<KeptEmbedded> {
  const lost = Promise.withResolvers<string>()
  let running = await start(false)
  let isStopping = false
  const { url } = running
  let startedAt = elapsedMs()
  let inVain = 0

  /** Null where it runs again, else why not. */
  const startAgain = async (lastLines: readonly string[]): Promise<string | null> => {
    const ended = `PostgreSQL ended by itself:\n${lastLines.join("\n")}`
    const left = `${ended}\nIt is not started again, because the program stops.`
    if (signal.aborted) return left
    inVain = elapsedMs() - startedAt < SOON_MS ? inVain + 1 : 0
    if (inVain === MOST_IN_VAIN) return ended
    log.warn("PostgreSQL is started again", new Error(ended))
    try {
      running = await start(true)
      startedAt = elapsedMs()
    } catch (error) {
      if (signal.aborted) return left
      return `${ended}\nIt could not be started again: ${String(error)}`
    }
    return running.url === url ? null : `${ended}\nIt runs again, but on another port.`
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      const { asked, lastLines } = await running.exited
      if (asked || isStopping) return
      const why = await startAgain(lastLines)
      if (why !== null) return lost.resolve(why)
      // Whoever stops it meanwhile waits for this, and ends the new one.
      if (isStopping) return
      log.info("PostgreSQL runs again")
    }
  }
  const watching = watch()
  return {
    url,
    lost: lost.promise,
    stop: async () => {
      isStopping = true
      await running.stop()
      // A start may have been under way.
      await watching
      await running.stop()
    },
  }
}
