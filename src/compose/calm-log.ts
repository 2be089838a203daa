/**
 * How the program speaks of a database, or a server of events, that does not answer: one line when
 * that begins and one when it ends, instead of one for everything that fails meanwhile.
 */
import type { StoreWaits, StoreWatch } from "../../adapters/eventstore/watch.ts"
import { USUAL_STORE_WAITS, watchEventStore } from "../../adapters/eventstore/watch.ts"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { DatabaseWaits, DatabaseWatch, ToldOfSilence } from "../../adapters/postgres/watch.ts"
import { USUAL_WAITS, watchDatabase } from "../../adapters/postgres/watch.ts"
import type { DetailedLog } from "../log.ts"
import type { Log } from "../ports.ts"

/** Errors of the ledger that may come of an event store that does not answer, wherever that is. */
const OF_A_STORE: ReadonlySet<string> = new Set([
  "DeadlinePassed",
  "OutcomeUnknown",
  "Unavailable",
  "UnknownOutcome",
])

/** So long after an answer of the server of events a read from before may still fail for its silence. */
const STORE_LATE_MS = 10_000

/** What is watched, as far as this log is concerned. */
type Watch = Pick<StoreWatch, "silentSince" | "ask">

/** Something that may be silent, and what is then not said of it. */
class Suspect<W extends Watch = Watch> {
  readonly watch: W
  readonly mayCause: (error: unknown) => boolean
  readonly #given: DetailedLog
  readonly #lateMs: number
  #hushed = 0
  #answeredAt = -Infinity

  constructor(
    given: DetailedLog,
    name: string,
    lateMs: number,
    mayCause: (error: unknown) => boolean,
    begin: (told: ToldOfSilence) => W,
  ) {
    this.#given = given
    this.#lateMs = lateMs
    this.mayCause = mayCause
    this.watch = begin({
      onSilent: (since, why) => {
        this.#hushed = 0
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
    return isLate || this.watch.silentSince() !== null
  }

  hush(message: string, error: unknown): void {
    this.#hushed += 1
    this.#given.debug?.(message, error)
  }
}

/** A log that is calm about what is watched. */
export interface Calm {
  readonly log: Log
  readonly watch: DatabaseWatch
  /** Is calm about a server of events as well; `head` asks it something. */
  readonly watchStore: (head: () => Promise<unknown>, waits?: StoreWaits) => StoreWatch
}

/** Begins to watch a database, and to be calm about it. */
export function watchCalmly(
  databaseUrl: string,
  given: DetailedLog,
  waits: DatabaseWaits = USUAL_WAITS,
): Calm {
  const lateMs = waits.silentMs + waits.doubtMs
  const database = new Suspect(given, "PostgreSQL", lateMs, mayComeOfDatabase, (told) =>
    watchDatabase(databaseUrl, told, waits),
  )
  const suspects: Suspect[] = [database]
  const watchStore: Calm["watchStore"] = (head, storeWaits = USUAL_STORE_WAITS) => {
    const store = new Suspect(given, "EventStoreDB", STORE_LATE_MS, mayComeOfServer, (told) =>
      watchEventStore(head, told, storeWaits),
    )
    suspects.push(store)
    return store.watch
  }
  const warn = (message: string, error: unknown): void => {
    const possible = suspects.filter((one) => one.mayCause(error))
    // Before anybody is asked: an answer that comes now is no excuse for what failed before it.
    const known = possible.find((one) => one.isToBlame)
    const asked = possible.filter(({ watch }) => watch.silentSince() === null).map(askIt)
    if (known !== undefined) return known.hush(message, error)
    void firstSilent(asked).then((silent) => {
      if (silent === null) given.warn(message, error)
      else silent.hush(message, error)
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
