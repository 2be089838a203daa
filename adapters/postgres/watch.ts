/**
 * Whether the database answers: it is asked once a second on a connection of its own. Where it does
 * not, nobody begins to wait for it who can be told so, and what waits already does not wait long;
 * when it answers again, connections from before are not trusted.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { ToldOfSilence } from "../eventstore/port.ts"
import type { ConnectionRules } from "./connections.ts"
import { Connections, GatedPool, isNoAnswer, noAnswer } from "./connections.ts"
import { within } from "../machine/promises.ts"

/** How patient to be with a database, in milliseconds. */
export interface DatabaseWaits {
  /** With a statement that somebody waits for. */
  readonly answerMs: number
  /** With one that is written behind, which may have to wait for a lock. */
  readonly behindMs: number
  /** With the question whether it answers; so often it is asked. */
  readonly askMs: number
  /** With what is outstanding, once it is known to be silent. */
  readonly silentMs: number
  /** With connections from before, once it answers again. */
  readonly doubtMs: number
}

/** How patient to be unless said otherwise: whoever calls the API hears something within 8 seconds. */
export const USUAL_WAITS: DatabaseWaits = {
  answerMs: 10_000,
  behindMs: 30_000,
  askMs: 1_000,
  silentMs: 4_000,
  doubtMs: 2_000,
}

/** Connections of a process, which its watch may give up. */
interface WatchedPools {
  /** The class of connections of a kind. */
  readonly kind: (rules: ConnectionRules) => typeof pg.Client
  /**
   * A pool of connections. While the database is silent it gives none: `refuse` says so at once, `wait` waits for as
   * long as for an answer. It throws an error of the connection's.
   */
  readonly pool: (config: pg.PoolConfig, answerMs: number, whenSilent: "refuse" | "wait") => pg.Pool
}

/** A watch over a database. */
export interface DatabaseWatch extends WatchedPools {
  readonly waits: DatabaseWaits
  /** Since when it does not answer, in UTC milliseconds; null where it does. */
  readonly silentSince: () => number | null
  /** @throws where the database is silent: an error of the connection's */
  readonly mustAnswer: () => void
  /** Asks now; false where it is silent. */
  readonly ask: () => Promise<boolean>
  /** For short questions of others, whose answers must come as soon as the watch's own. */
  readonly quick: Pick<pg.Pool, "query">
  /** Ends it; nobody waits for the database after that. */
  readonly stop: () => Promise<void>
}

/** Begins to watch a database that answered just now. */
export function watchDatabase(
  url: string,
  told: ToldOfSilence,
  waits: DatabaseWaits = USUAL_WAITS,
): DatabaseWatch {
  return new Watch(url, told, waits)
}

class Watch implements DatabaseWatch {
  readonly waits: DatabaseWaits
  readonly quick: pg.Pool
  readonly #told: ToldOfSilence
  readonly #connections = new Connections()
  readonly #stopping = new AbortController()
  readonly #watching: Promise<void>
  #lastAnswer = Date.now()
  #since: number | null = null
  #asking: Promise<boolean> | null = null
  /** Resolves with the end of a silence: whether the database answers again, or the watch has stopped. */
  #end = Promise.withResolvers<boolean>()
  /** Whether a patient connection may wait in vain: the server was not asked since the last silence. */
  #mayForsake = false
  #stopped: Promise<void> | null = null

  constructor(url: string, told: ToldOfSilence, waits: DatabaseWaits) {
    this.waits = waits
    this.#told = told
    this.quick = openQuick(url, waits.askMs)
    this.#watching = this.#watch()
  }

  readonly silentSince = (): number | null => this.#since

  readonly mustAnswer = (): void => {
    if (this.#since !== null) throw this.#error()
  }

  readonly ask = async (): Promise<boolean> => {
    if (this.#stopping.signal.aborted) return true
    this.#asking ??= this.#askTwice().finally(() => (this.#asking = null))
    return this.#asking
  }

  readonly kind: DatabaseWatch["kind"] = (rules) => this.#connections.kind(rules)

  readonly pool: DatabaseWatch["pool"] = (config, answerMs, whenSilent) => {
    const { connectionTimeoutMillis: greetingMs } = config
    const Client = this.kind({ answerMs, greetingMs, isPooled: true })
    const gate = async () => {
      const isOver = whenSilent === "wait" && (await within(answerMs, this.#end.promise, false))
      if (!isOver) throw this.#error()
    }
    // The package's limit holds for the line of those who find no connection free as well.
    const connectionTimeoutMillis = whenSilent === "wait" ? 0 : greetingMs
    const watched = { ...config, connectionTimeoutMillis, Client }
    return new GatedPool(watched, this.#connections, gate)
  }

  readonly stop = (): Promise<void> => (this.#stopped ??= this.#stop())

  async #stop(): Promise<void> {
    this.#stopping.abort()
    this.#end.resolve(false)
    await this.quick.end()
    await this.#watching
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.ask()
      await pause(this.waits.askMs, undefined, { ref: false, signal }).catch(() => null)
    }
  }

  /** Asks a second time where the first was in vain: a connection may be lost for reasons of its own. */
  async #askTwice(): Promise<boolean> {
    const lost = await this.#askOnce()
    if (lost === null || this.#stopping.signal.aborted) return true
    const why = this.#since === null ? await this.#askOnce() : lost
    if (why === null) {
      // It answers on a new connection and no more on one from before, as where another took over before it was
      // found silent: the others from before may be as dead.
      if (isNoAnswer(lost)) this.#doubt()
      return true
    }
    if (!this.#stopping.signal.aborted) this.#begin(why)
    return false
  }

  /** Asks whether it answers: null, or what kept it from that. */
  async #askOnce(): Promise<unknown> {
    try {
      await this.quick.query("select 1")
    } catch (error) {
      return error
    }
    this.#lastAnswer = Date.now()
    const since = this.#since
    if (since !== null) {
      this.#since = null
      this.#connections.isSilent = false
      this.#connections.greetingMs = Infinity
      this.#doubt()
      this.#told.onAnswer(since)
      this.#end.resolve(true)
    } else if (this.#mayForsake) void this.#forsake()
    return null
  }

  #begin(why: unknown): void {
    if (this.#since !== null) return
    this.#since = this.#lastAnswer
    this.#end = Promise.withResolvers<boolean>()
    this.#connections.isSilent = true
    // What stood in line for a connection before is not kept for the making of a new one.
    this.#connections.greetingMs = this.waits.askMs
    this.#connections.hurry(this.waits.silentMs)
    this.#told.onSilent(this.#since, why)
  }

  /** The database may have forgotten all connections that were made so far. */
  #doubt(): void {
    this.#connections.doubt(this.waits.doubtMs)
    void this.#forsake()
  }

  /** Ends the patience with connections that the server does not know any more. */
  async #forsake(): Promise<void> {
    this.#mayForsake = false
    try {
      await this.#connections.forsake(async (backends) => {
        const { rows } = await this.quick.query<{ backend: string }>(LIVING, [backends])
        return new Set(rows.map(({ backend }) => backend))
      })
    } catch {
      // The next answer is soon enough: whether there is one is reported already.
      this.#mayForsake = true
    }
  }

  #error(): Error {
    const since = new Date(this.#since ?? this.#lastAnswer).toISOString()
    return noAnswer(`PostgreSQL does not answer since ${since}`)
  }
}

/** Which of these connections the server knows. */
const LIVING = `
  select pid || ' ' || extract(epoch from backend_start) as backend
  from pg_stat_activity where pid || ' ' || extract(epoch from backend_start) = any($1::text[])`

/** A connection of the watch's own, whose answers come soon or not at all. */
function openQuick(url: string, askMs: number): pg.Pool {
  const quick = new pg.Pool({
    connectionString: url,
    application_name: "company-ledger watch",
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: askMs,
    keepAlive: true,
    Client: new Connections().kind({ answerMs: askMs, isPooled: true }),
  })
  // The next question finds out what became of it.
  quick.on("error", () => undefined)
  return quick
}
