/**
 * How the program speaks of a database, or a server of events, that does not answer: one line when
 * that begins and one when it ends, instead of one for everything that fails meanwhile.
 */
import type { StoreTimeouts, StoreWatch } from "../../../adapters/eventstore/watch.ts"
import { DEFAULT_STORE_TIMEOUTS, watchEventStore } from "../../../adapters/eventstore/watch.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { DatabaseTimeouts, DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import type { AvailabilityListener } from "../../../adapters/eventstore/port.ts"
import { DEFAULT_DATABASE_TIMEOUTS, watchDatabase } from "../../../adapters/postgres/watch.ts"
import type { DetailedLog, Log } from "../../frame/kernel/log.ts"
import { DEFAULT_DEADLINE_MS } from "../../frame/writer/runner/port.ts"

/** Errors of the ledger that may come of an event store that does not answer, wherever that is. */
const STORE_ERROR_NAMES: ReadonlySet<string> = new Set([
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])

/** So long after an answer of the server of events a read from before may still fail for its silence. */
const LATE_FAILURE_MS = 10_000

/** How patient a log is with a server of events. */
export interface SuppressionWaits extends StoreTimeouts {
  /** So long after an answer what fails is still taken to come of the silence before it. */
  readonly lateMs?: number
}

/** What is watched, as far as this log is concerned. */
type SilenceWatch = Pick<StoreWatch, "unavailableSince" | "probe">

/** Something that may be silent, and how much of what that causes was not logged. */
class WatchedService<W extends SilenceWatch = SilenceWatch> {
  readonly watch: W
  readonly mayCause: (error: unknown) => boolean
  readonly #given: DetailedLog
  readonly #name: string
  readonly #lateMs: number
  #hushed = 0
  /** Until then what fails is taken to come of a silence that is over. */
  #lateUntil = -Infinity
  /** Ends a silence that was over before anybody noticed it. */
  #brief: NodeJS.Timeout | undefined

  constructor(
    given: DetailedLog,
    name: string,
    lateMs: number,
    mayCause: (error: unknown) => boolean,
    begin: (told: AvailabilityListener) => W,
  ) {
    this.#given = given
    this.#name = name
    this.#lateMs = lateMs
    this.mayCause = mayCause
    this.watch = begin({
      onUnavailable: (since, why) => {
        // What failed in a brief silence belongs to this one.
        if (this.#brief === undefined) this.#hushed = 0
        this.#clearBrief()
        given.warn(`${name} does not answer since ${new Date(since).toISOString()}`, why)
      },
      onAvailable: (since) => {
        this.#lateUntil = performance.now() + lateMs
        const seconds = Math.round((Date.now() - since) / 1_000)
        this.#sum(`${name} answers again, after ${seconds} s; what failed meanwhile`)
      },
    })
  }

  /** Whether what fails now fails for its silence, as far as that is known without asking. */
  get isLikelyCause(): boolean {
    return performance.now() < this.#lateUntil || this.watch.unavailableSince() !== null
  }

  suppress(message: string, error: unknown): void {
    this.#hushed += 1
    this.#given.debug?.(message, error)
  }

  /** Logs what failed for want of an answer where there is one by now; what else fails so is summed up later. */
  logBriefOutage(message: string, error: unknown): void {
    if (this.isLikelyCause) return this.suppress(message, error)
    this.#hushed = 0
    this.#lateUntil = performance.now() + this.#lateMs
    this.#given.warn(message, error)
    this.#brief = setTimeout(() => this.endBriefOutage(), this.#lateMs).unref()
  }

  /** Sums a brief silence up where more failed of it than the first thing. */
  endBriefOutage(): void {
    if (this.#brief === undefined) return
    this.#clearBrief()
    this.#lateUntil = -Infinity
    const seconds = Math.round(this.#lateMs / 1_000)
    const what = `${this.#name} was silent for a moment; what else failed within ${seconds} s`
    if (this.#hushed > 0) this.#sum(what)
  }

  #clearBrief(): void {
    clearTimeout(this.#brief)
    this.#brief = undefined
  }

  #sum(what: string): void {
    this.#given.warn(`${what}: ${this.#hushed} things (LOG_LEVEL=debug names each)`, null)
  }
}

/** A log that is calm about what is watched. */
export interface SuppressedLog {
  readonly log: Log
  readonly watch: DatabaseWatch
  /** Is calm about a server of events as well; `head` asks it something. */
  readonly watchStore: (head: () => Promise<unknown>, waits?: SuppressionWaits) => StoreWatch
}

/**
 * Begins to watch a database, and to be calm about it.
 *
 * @param deadlineMs how long a caller waits
 */
export function openSuppressedLog(
  databaseUrl: string,
  given: DetailedLog,
  waits: DatabaseTimeouts = DEFAULT_DATABASE_TIMEOUTS,
  deadlineMs: number = DEFAULT_DEADLINE_MS,
): SuppressedLog {
  // Whoever came while it was silent is turned away at their own deadline, and by nothing before.
  const lateMs = Math.max(waits.outageTimeoutMs + waits.recoveryTimeoutMs, deadlineMs)
  const database = new WatchedService(given, "PostgreSQL", lateMs, mayBeDatabaseFault, (told) =>
    watchDatabase(databaseUrl, told, waits),
  )
  const suspects: WatchedService[] = [database]
  let server: WatchedService | null = null
  const watchStore: SuppressedLog["watchStore"] = (
    head,
    storeWaits: SuppressionWaits = DEFAULT_STORE_TIMEOUTS,
  ) => {
    const { lateMs: storeLateMs = LATE_FAILURE_MS } = storeWaits
    const store = new WatchedService(
      given,
      "EventStoreDB",
      storeLateMs,
      mayBeEventStoreFault,
      (told) => watchEventStore(head, told, storeWaits),
    )
    suspects.push(store)
    server = store
    const stop = (): void => {
      store.endBriefOutage()
      store.watch.stop()
    }
    return { ...store.watch, stop }
  }
  const warn = (message: string, error: unknown): void => {
    const possible = suspects.filter((one) => one.mayCause(error))
    // Before anybody is asked: an answer that comes now is no excuse for what failed before it.
    const known = possible.find((one) => one.isLikelyCause)
    const answering = possible.filter(({ watch }) => watch.unavailableSince() === null)
    const finding = firstSilent(answering)
    if (known !== undefined) return known.suppress(message, error)
    void finding.then((silent) => {
      if (silent !== null) silent.suppress(message, error)
      else if (server?.mayCause(error) === true) server.logBriefOutage(message, error)
      else given.warn(message, error)
    })
  }
  return { log: { info: given.info, warn }, watch: database.watch, watchStore }
}

/** The first that is found to be silent; null where all of them answer. */
async function firstSilent(asked: readonly WatchedService[]): Promise<WatchedService | null> {
  const found = Promise.withResolvers<WatchedService>()
  const all = asked.map(async (one) => {
    if (!(await one.watch.probe())) found.resolve(one)
  })
  return Promise.race([found.promise, Promise.all(all).then(() => null)])
}

function mayBeDatabaseFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    isConnectionFault(error) || error.name === "ClockUnsure" || STORE_ERROR_NAMES.has(error.name)
  )
}

/** The database's own faults have their own suspect, whatever they are wrapped in. */
function mayBeEventStoreFault(error: unknown): boolean {
  if (!(error instanceof Error) || !STORE_ERROR_NAMES.has(error.name)) return false
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (isConnectionFault(cause)) return false
  }
  return true
}
