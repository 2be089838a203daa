/**
 * How the program speaks of a database that does not answer: one line when that begins and one when
 * it ends, instead of one for everything that fails meanwhile.
 */
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { DatabaseWaits, DatabaseWatch } from "../../adapters/postgres/watch.ts"
import { USUAL_WAITS, watchDatabase } from "../../adapters/postgres/watch.ts"
import type { DetailedLog } from "../log.ts"
import type { Log } from "../ports.ts"

/** Errors of the ledger that may come of a database that does not answer. */
const MAY_COME_OF_IT: ReadonlySet<string> = new Set([
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])

/** Begins to watch a database, and to be calm about it. */
export function watchCalmly(
  databaseUrl: string,
  given: DetailedLog,
  waits: DatabaseWaits = USUAL_WAITS,
): { readonly log: Log; readonly watch: DatabaseWatch } {
  let hushed = 0
  let answeredAt = -Infinity
  const hush = (message: string, error: unknown): void => {
    hushed += 1
    given.debug?.(message, error)
  }
  const watch = watchDatabase(
    databaseUrl,
    {
      onSilent: (since, why) => {
        hushed = 0
        given.warn(`PostgreSQL does not answer since ${new Date(since).toISOString()}`, why)
      },
      onAnswer: (since) => {
        answeredAt = performance.now()
        const seconds = Math.round((Date.now() - since) / 1_000)
        const message =
          `PostgreSQL answers again, after ${seconds} s; what failed meanwhile: ${hushed} things ` +
          "(LOG_LEVEL=debug names each)"
        given.warn(message, null)
      },
    },
    waits,
  )
  const warn = (message: string, error: unknown): void => {
    if (!mayComeOfIt(error)) return given.warn(message, error)
    // What hangs on a connection from before takes a while longer to find out.
    const isLate = performance.now() - answeredAt < waits.silentMs + waits.doubtMs
    if (isLate || watch.silentSince() !== null) return hush(message, error)
    return void watch
      .ask()
      .then((answers) => (answers ? given.warn(message, error) : hush(message, error)))
  }
  return { log: { info: given.info, warn }, watch }
}

function mayComeOfIt(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isConnectionFault(error) || MAY_COME_OF_IT.has(error.name)
}
