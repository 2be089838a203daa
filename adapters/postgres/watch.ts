/**
 * Whether the database answers: it is asked once a second on a connection of its own. Where it does
 * not, nobody begins to wait for it who can be told so, and what waits already does not wait long;
 * when it answers again, connections from before are not trusted.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { AvailabilityListener } from "../eventstore/port.ts"
import type { ConnectionPolicy } from "./connections.ts"
import {
  DatabaseConnections,
  GatedPool,
  isDatabaseTimeout,
  databaseTimeoutError,
} from "./connections.ts"
import { withTimeout } from "../machine/promises.ts"

/** How patient to be with a database, in milliseconds. */
export interface DatabaseTimeouts {
  /** With a statement that somebody waits for. */
  readonly statementTimeoutMs: number
  /** With one that is written behind, which may have to wait for a lock. */
  readonly writeBehindTimeoutMs: number
  /** With the question whether it answers; so often it is asked. */
  readonly probeIntervalMs: number
  /** With what is outstanding, once it is known to be silent. */
  readonly outageTimeoutMs: number
  /** With connections from before, once it answers again. */
  readonly recoveryTimeoutMs: number
}

/** How patient to be unless said otherwise: whoever calls the API hears something within 8 seconds. */
export const DEFAULT_DATABASE_TIMEOUTS: DatabaseTimeouts = {
  statementTimeoutMs: 10_000,
  writeBehindTimeoutMs: 30_000,
  probeIntervalMs: 1_000,
  outageTimeoutMs: 4_000,
  recoveryTimeoutMs: 2_000,
}

/** Connections of a process, which its watch may give up. */
interface WatchedPools {
  /** The class of connections of a kind. */
  readonly clientClass: (rules: ConnectionPolicy) => typeof pg.Client
  /**
   * A pool of connections. While the database is silent it gives none: `refuse` says so at once, `wait` waits for as
   * long as for an answer. It throws an error of the connection's.
   */
  readonly pool: (config: pg.PoolConfig, answerMs: number, whenSilent: "refuse" | "wait") => pg.Pool
}

/** A watch over a database. */
export interface DatabaseWatch extends WatchedPools {
  readonly timeouts: DatabaseTimeouts
  /** Since when it does not answer, in UTC milliseconds; null where it does. */
  readonly unavailableSince: () => number | null
  /** @throws where the database is silent: an error of the connection's */
  readonly requireAvailable: () => void
  /** Asks now; false where it is silent. */
  readonly probe: () => Promise<boolean>
  /** For short questions of others, whose answers must come as soon as the watch's own. */
  readonly probePool: Pick<pg.Pool, "query">
  /** Ends it; nobody waits for the database after that. */
  readonly stop: () => Promise<void>
}

/** Begins to watch a database that answered just now. */
export function watchDatabase(
  url: string,
  told: AvailabilityListener,
  waits: DatabaseTimeouts = DEFAULT_DATABASE_TIMEOUTS,
): DatabaseWatch {
  return new Watch(url, told, waits)
}

class Watch implements DatabaseWatch {
  readonly timeouts: DatabaseTimeouts
  readonly probePool: pg.Pool
  readonly #listener: AvailabilityListener
  readonly #connections = new DatabaseConnections()
  readonly #stopping = new AbortController()
  readonly #watching: Promise<void>
  #lastAnswer = Date.now()
  #unavailableSince: number | null = null
  #probing: Promise<boolean> | null = null
  /** Resolves with the end of a silence: whether the database answers again, or the watch has stopped. */
  #outageEnd = Promise.withResolvers<boolean>()
  /** Whether a patient connection may wait in vain: the server was not asked since the last silence. */
  #hasUncheckedClients = false
  #stopped: Promise<void> | null = null

  constructor(url: string, told: AvailabilityListener, waits: DatabaseTimeouts) {
    this.timeouts = waits
    this.#listener = told
    this.probePool = openProbePool(url, waits.probeIntervalMs)
    this.#watching = this.#watch()
  }

  readonly unavailableSince = (): number | null => this.#unavailableSince

  readonly requireAvailable = (): void => {
    if (this.#unavailableSince !== null) throw this.#error()
  }

  readonly probe = async (): Promise<boolean> => {
    if (this.#stopping.signal.aborted) return true
    this.#probing ??= this.#probeTwice().finally(() => (this.#probing = null))
    return this.#probing
  }

  readonly clientClass: DatabaseWatch["clientClass"] = (rules) =>
    this.#connections.clientClass(rules)

  readonly pool: DatabaseWatch["pool"] = (config, statementTimeoutMs, whenSilent) => {
    const { connectionTimeoutMillis: connectTimeoutMs } = config
    const Client = this.clientClass({ statementTimeoutMs, connectTimeoutMs, isPooled: true })
    const gate = async () => {
      const isOver =
        whenSilent === "wait" &&
        (await withTimeout(statementTimeoutMs, this.#outageEnd.promise, false))
      if (!isOver) throw this.#error()
    }
    // The package's limit holds for the line of those who find no connection free as well.
    const connectionTimeoutMillis = whenSilent === "wait" ? 0 : connectTimeoutMs
    const watched = { ...config, connectionTimeoutMillis, Client }
    return new GatedPool(watched, this.#connections, gate)
  }

  readonly stop = (): Promise<void> => (this.#stopped ??= this.#stop())

  async #stop(): Promise<void> {
    this.#stopping.abort()
    this.#outageEnd.resolve(false)
    await this.probePool.end()
    await this.#watching
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.probe()
      await pause(this.timeouts.probeIntervalMs, undefined, { ref: false, signal }).catch(
        () => null,
      )
    }
  }

  /** Asks a second time where the first was in vain: a connection may be lost for reasons of its own. */
  async #probeTwice(): Promise<boolean> {
    const lost = await this.#probeOnce()
    if (lost === null || this.#stopping.signal.aborted) return true
    const why = this.#unavailableSince === null ? await this.#probeOnce() : lost
    if (why === null) {
      // It answers on a new connection and no more on one from before, as where another took over before it was
      // found silent: the others from before may be as dead.
      if (isDatabaseTimeout(lost)) this.#distrustAll()
      return true
    }
    if (!this.#stopping.signal.aborted) this.#beginOutage(why)
    return false
  }

  /** Asks whether it answers: null, or what kept it from that. */
  async #probeOnce(): Promise<unknown> {
    try {
      await this.probePool.query("select 1")
    } catch (error) {
      return error
    }
    this.#lastAnswer = Date.now()
    const since = this.#unavailableSince
    if (since !== null) {
      this.#unavailableSince = null
      this.#connections.isUnavailable = false
      this.#connections.connectTimeoutMs = Infinity
      this.#distrustAll()
      this.#listener.onAvailable(since)
      this.#outageEnd.resolve(true)
    } else if (this.#hasUncheckedClients) void this.#abortUnknown()
    return null
  }

  #beginOutage(why: unknown): void {
    if (this.#unavailableSince !== null) return
    this.#unavailableSince = this.#lastAnswer
    this.#outageEnd = Promise.withResolvers<boolean>()
    this.#connections.isUnavailable = true
    // What stood in line for a connection before is not kept for the making of a new one.
    this.#connections.connectTimeoutMs = this.timeouts.probeIntervalMs
    this.#connections.limitWait(this.timeouts.outageTimeoutMs)
    this.#listener.onUnavailable(this.#unavailableSince, why)
  }

  /** The database may have forgotten all connections that were made so far. */
  #distrustAll(): void {
    this.#connections.distrustAll(this.timeouts.recoveryTimeoutMs)
    void this.#abortUnknown()
  }

  /** Ends the patience with connections that the server does not know any more. */
  async #abortUnknown(): Promise<void> {
    this.#hasUncheckedClients = false
    try {
      await this.#connections.abortUnknown(async (backends) => {
        const { rows } = await this.probePool.query<{ backend: string }>(FIND_LIVING_BACKENDS, [
          backends,
        ])
        return new Set(rows.map(({ backend }) => backend))
      })
    } catch {
      // The next answer is soon enough: whether there is one is reported already.
      this.#hasUncheckedClients = true
    }
  }

  #error(): Error {
    const since = new Date(this.#unavailableSince ?? this.#lastAnswer).toISOString()
    return databaseTimeoutError(`PostgreSQL does not answer since ${since}`)
  }
}

/** Which of these connections the server knows. */
const FIND_LIVING_BACKENDS = `
  select pid || ' ' || extract(epoch from backend_start) as backend
  from pg_stat_activity where pid || ' ' || extract(epoch from backend_start) = any($1::text[])`

/** A connection of the watch's own, whose answers come soon or not at all. */
function openProbePool(url: string, askMs: number): pg.Pool {
  const quick = new pg.Pool({
    connectionString: url,
    application_name: "company-ledger watch",
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: askMs,
    keepAlive: true,
    Client: new DatabaseConnections().clientClass({ statementTimeoutMs: askMs, isPooled: true }),
  })
  // The next question finds out what became of it.
  quick.on("error", () => undefined)
  return quick
}
