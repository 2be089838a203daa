/**
 * Logs one line when the database or the EventStoreDB server stops answering and one when it
 * answers again, instead of one for every failure in between.
 */
import type { StoreTimeouts, StoreWatch } from "../../../adapters/eventstore/watch.ts"
import { DEFAULT_STORE_TIMEOUTS, watchEventStore } from "../../../adapters/eventstore/watch.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { DatabaseTimeouts, DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import type { AvailabilityListener } from "../../../adapters/eventstore/port.ts"
import { DEFAULT_DATABASE_TIMEOUTS, watchDatabase } from "../../../adapters/postgres/watch.ts"
import type { DetailedLog, Log } from "../../frame/kernel/log.ts"
import { DEFAULT_DEADLINE_MS } from "../../frame/writer/runner/port.ts"

/** Errors that an unreachable event store may cause. */
const STORE_ERROR_NAMES: ReadonlySet<string> = new Set([
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])

/** How long after an answer an earlier read may still fail. */
const LATE_FAILURE_MS = 10_000

/** Timeouts for watching an event store. */
export interface SuppressionTimeouts extends StoreTimeouts {
  /** How long after an answer a failure is still attributed to the outage. */
  readonly lateMs?: number
}

/** The part of a watch that this log needs. */
type SilenceWatch = Pick<StoreWatch, "unavailableSince" | "probe">

/** A service that may stop answering, and the number of failures that were not logged meanwhile. */
class WatchedService<W extends SilenceWatch = SilenceWatch> {
  readonly watch: W
  readonly mayCause: (error: unknown) => boolean
  readonly #base: DetailedLog
  readonly #name: string
  readonly #lateMs: number
  #suppressed = 0
  /** Until then failures are attributed to an outage that is over. */
  #lateUntil = -Infinity
  /** Ends an outage that was over before it was noticed. */
  #brief: NodeJS.Timeout | undefined

  constructor(
    base: DetailedLog,
    name: string,
    lateMs: number,
    mayCause: (error: unknown) => boolean,
    startWatch: (listener: AvailabilityListener) => W,
  ) {
    this.#base = base
    this.#name = name
    this.#lateMs = lateMs
    this.mayCause = mayCause
    this.watch = startWatch({
      onUnavailable: (since, why) => {
        // Failures of a brief outage belong to this one.
        if (this.#brief === undefined) this.#suppressed = 0
        this.#clearBrief()
        base.warn(`${name} has not answered since ${new Date(since).toISOString()}`, why)
      },
      onAvailable: (since) => {
        this.#lateUntil = performance.now() + lateMs
        const seconds = Math.round((Date.now() - since) / 1_000)
        this.#sum(`${name} answers again after ${seconds} s; failures meanwhile`)
      },
    })
  }

  /** Whether the service is known to be the cause of failures now. */
  get isLikelyCause(): boolean {
    return performance.now() < this.#lateUntil || this.watch.unavailableSince() !== null
  }

  suppress(message: string, error: unknown): void {
    this.#suppressed += 1
    this.#base.debug?.(message, error)
  }

  /**
   * Logs a failure of an outage that is over already; further failures are counted and summarized
   * later.
   */
  logBriefOutage(message: string, error: unknown): void {
    if (this.isLikelyCause) return this.suppress(message, error)
    this.#suppressed = 0
    this.#lateUntil = performance.now() + this.#lateMs
    this.#base.warn(message, error)
    this.#brief = setTimeout(() => this.endBriefOutage(), this.#lateMs).unref()
  }

  /** Summarizes a brief outage if it caused more than one failure. */
  endBriefOutage(): void {
    if (this.#brief === undefined) return
    this.#clearBrief()
    this.#lateUntil = -Infinity
    const seconds = Math.round(this.#lateMs / 1_000)
    const text = `${this.#name} did not answer for a moment; other failures within ${seconds} s`
    if (this.#suppressed > 0) this.#sum(text)
  }

  #clearBrief(): void {
    clearTimeout(this.#brief)
    this.#brief = undefined
  }

  #sum(text: string): void {
    this.#base.warn(`${text}: ${this.#suppressed} (LOG_LEVEL=debug shows each)`, null)
  }
}

/** A log that summarizes outages. */
export interface SuppressedLog {
  readonly log: Log
  readonly watch: DatabaseWatch
  /** Also watches an EventStoreDB server; `head` sends it a request. */
  readonly watchStore: (head: () => Promise<unknown>, timeouts?: SuppressionTimeouts) => StoreWatch
}

/**
 * Watches a database and summarizes its outages in the log.
 *
 * @param deadlineMs how long a caller waits
 */
export function openSuppressedLog(
  databaseUrl: string,
  base: DetailedLog,
  timeouts: DatabaseTimeouts = DEFAULT_DATABASE_TIMEOUTS,
  deadlineMs: number = DEFAULT_DEADLINE_MS,
): SuppressedLog {
  // A call that came during the outage fails at its own deadline.
  const lateMs = Math.max(timeouts.outageTimeoutMs + timeouts.recoveryTimeoutMs, deadlineMs)
  const database = new WatchedService(base, "PostgreSQL", lateMs, mayBeDatabaseFault, (listener) =>
    watchDatabase(databaseUrl, listener, timeouts),
  )
  const suspects: WatchedService[] = [database]
  let server: WatchedService | null = null
  const watchStore: SuppressedLog["watchStore"] = (
    head,
    storeTimeouts: SuppressionTimeouts = DEFAULT_STORE_TIMEOUTS,
  ) => {
    const { lateMs: storeLateMs = LATE_FAILURE_MS } = storeTimeouts
    const store = new WatchedService(
      base,
      "EventStoreDB",
      storeLateMs,
      mayBeEventStoreFault,
      (listener) => watchEventStore(head, listener, storeTimeouts),
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
    // Checked before the probes: an answer now does not explain an earlier failure.
    const known = possible.find((one) => one.isLikelyCause)
    const answering = possible.filter(({ watch }) => watch.unavailableSince() === null)
    const finding = firstSilent(answering)
    if (known !== undefined) return known.suppress(message, error)
    void finding.then((silent) => {
      if (silent !== null) silent.suppress(message, error)
      else if (server?.mayCause(error) === true) server.logBriefOutage(message, error)
      else base.warn(message, error)
    })
  }
  return { log: { info: base.info, warn }, watch: database.watch, watchStore }
}

/** The first service that does not answer; null if all do. */
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

/** A fault of the database belongs to the database, however it is wrapped. */
function mayBeEventStoreFault(error: unknown): boolean {
  if (!(error instanceof Error) || !STORE_ERROR_NAMES.has(error.name)) return false
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (isConnectionFault(cause)) return false
  }
  return true
}
