/**
 * How the program speaks of a database, or a server of events, that does not answer: one line when
 * that begins and one when it ends, instead of one for everything that fails meanwhile.
 */
import type { StoreWaits, StoreWatch } from "../../adapters/eventstore/watch.ts"
import { USUAL_STORE_WAITS, watchEventStore } from "../../adapters/eventstore/watch.ts"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { DatabaseWaits, DatabaseWatch, ToldOfSilence } from "../../adapters/postgres/watch.ts"
import { USUAL_WAITS, watchDatabase } from "../../adapters/postgres/watch.ts"
import type { DetailedLog } from "../frame/kernel/log.ts"
import type { Log } from "../frame/ports.ts"
import { DEFAULT_DEADLINE_MS } from "../frame/writer/runner/port.ts"

/** Errors of the ledger that may come of an event store that does not answer, wherever that is. */
const OF_A_STORE: ReadonlySet<string> = new Set([
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])

/** So long after an answer of the server of events a read from before may still fail for its silence. */
const STORE_LATE_MS = 10_000

/** How patient a log is with a server of events. */
export interface SuppressingWaits extends StoreWaits {
  /** So long after an answer what fails is still taken to come of the silence before it. */
  readonly lateMs?: number
}

/** What is watched, as far as this log is concerned. */
type Watch = Pick<StoreWatch, "silentSince" | "ask">

/** Something that may be silent, and what is then not said of it. */
class Suspect<W extends Watch = Watch> {
  readonly watch: W
  readonly mayCause: (error: unknown) => boolean
  readonly #given: DetailedLog
  readonly #name: string
  readonly #lateMs: number
  #hushed = 0
  #answeredAt = -Infinity
  /** Set after something failed for want of an answer, of one that answered when it was asked. */
  #brief: NodeJS.Timeout | null = null

  constructor(
    given: DetailedLog,
    name: string,
    lateMs: number,
    mayCause: (error: unknown) => boolean,
    begin: (told: ToldOfSilence) => W,
  ) {
    this.#given = given
    this.#name = name
    this.#lateMs = lateMs
    this.mayCause = mayCause
    this.watch = begin({
      onSilent: (since, why) => {
        // What failed before anybody noticed belongs to it.
        if (this.#brief === null) this.#hushed = 0
        this.#clearBrief()
        given.warn(`${name} does not answer since ${new Date(since).toISOString()}`, why)
      },
      onAnswer: (since) => {
        this.#answeredAt = performance.now()
        const seconds = Math.round((Date.now() - since) / 1_000)
        const message =
          `${name} answers again, after ${seconds} s; what failed meanwhile: ${this.#hushed} things ` +
          "(LOG_LEVEL=debug names each)"
        given.warn(message, null)
      },
    })
  }

  /** Whether what fails now fails for its silence, as far as that is known without asking. */
  get isToBlame(): boolean {
    // What hangs on a connection from before takes a while longer to find out.
    const isLate = performance.now() - this.#answeredAt < this.#lateMs
    return isLate || this.#brief !== null || this.watch.silentSince() !== null
  }

  /**
   * Something failed for want of an answer, and there is one by now: a silence that was over before
   * anybody could notice it. What it failed is told, and of what else it failed, how much it was.
   */
  tellBrief(message: string, error: unknown): void {
    if (this.#brief !== null) return this.hush(message, error)
    this.#hushed = 0
    this.#given.warn(message, error)
    this.#brief = setTimeout(() => this.endBrief(), this.#lateMs).unref()
  }

  /** Says what else came of a brief silence, where something did. */
  endBrief(): void {
    if (!this.#clearBrief() || this.#hushed === 0) return
    const seconds = Math.round(this.#lateMs / 1_000)
    const message =
      `${this.#name} was silent for a moment; what else failed within ${seconds} s: ${this.#hushed} ` +
      "things (LOG_LEVEL=debug names each)"
    this.#given.warn(message, null)
  }

  /** Whether there was one. */
  #clearBrief(): boolean {
    if (this.#brief === null) return false
    clearTimeout(this.#brief)
    this.#brief = null
    return true
  }

  hush(message: string, error: unknown): void {
    this.#hushed += 1
    this.#given.debug?.(message, error)
  }
}

/** A log that is calm about what is watched. */
export interface Suppressing {
  readonly log: Log
  readonly watch: DatabaseWatch
  /** Is calm about a server of events as well; `head` asks it something. */
  readonly watchStore: (head: () => Promise<unknown>, waits?: SuppressingWaits) => StoreWatch
}

/**
 * Begins to watch a database, and to be calm about it.
 *
 * @param deadlineMs how long a caller waits
 */
export function watchSuppressing(
  databaseUrl: string,
  given: DetailedLog,
  waits: DatabaseWaits = USUAL_WAITS,
  deadlineMs: number = DEFAULT_DEADLINE_MS,
): Suppressing {
  // Whoever came while it was silent is turned away at their own deadline, and by nothing before.
  const lateMs = Math.max(waits.silentMs + waits.doubtMs, deadlineMs)
  const database = new Suspect(given, "PostgreSQL", lateMs, mayComeOfDatabase, (told) =>
    watchDatabase(databaseUrl, told, waits),
  )
  const suspects: Suspect[] = [database]
  let server: Suspect | null = null
  const watchStore: Suppressing["watchStore"] = (
    head,
    storeWaits: SuppressingWaits = USUAL_STORE_WAITS,
  ) => {
    const { lateMs: storeLateMs = STORE_LATE_MS } = storeWaits
    const store = new Suspect(given, "EventStoreDB", storeLateMs, mayComeOfServer, (told) =>
      watchEventStore(head, told, storeWaits),
    )
    suspects.push(store)
    server = store
    const stop = (): void => {
      store.endBrief()
      store.watch.stop()
    }
    return { ...store.watch, stop }
  }
  const warn = (message: string, error: unknown): void => {
    const possible = suspects.filter((one) => one.mayCause(error))
    // Before anybody is asked: an answer that comes now is no excuse for what failed before it.
    const known = possible.find((one) => one.isToBlame)
    const asked = possible.filter(({ watch }) => watch.silentSince() === null).map(askIt)
    if (known !== undefined) return known.hush(message, error)
    void firstSilent(asked).then((silent) => {
      if (silent !== null) silent.hush(message, error)
      else if (server?.mayCause(error) === true) server.tellBrief(message, error)
      else given.warn(message, error)
    })
  }
  return { log: { info: given.info, warn }, watch: database.watch, watchStore }
}

/** What is found to be silent; null where all of them answer. */
type Finding = Promise<Suspect | null>

async function askIt(suspect: Suspect): Finding {
  return (await suspect.watch.ask()) ? null : suspect
}

/** Nobody waits for the others' answers where one is silent. */
async function firstSilent(asked: readonly Finding[]): Finding {
  const found = Promise.withResolvers<Suspect>()
  const all = asked.map(async (one) => {
    const silent = await one
    if (silent !== null) found.resolve(silent)
  })
  return Promise.race([found.promise, Promise.all(all).then(() => null)])
}

function mayComeOfDatabase(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return isConnectionFault(error) || error.name === "ClockUnsure" || OF_A_STORE.has(error.name)
}

/** The database's own faults have their own suspect, whatever they are wrapped in. */
function mayComeOfServer(error: unknown): boolean {
  if (!(error instanceof Error) || !OF_A_STORE.has(error.name)) return false
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (isConnectionFault(cause)) return false
  }
  return true
}
