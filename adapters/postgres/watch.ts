/**
 * Watches whether the database answers, with a probe once a second on a connection of its own.
 * During an outage, new requests fail or wait a limited time, and waiting ones time out early;
 * after it, older connections are not trusted.
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

/** Timeouts of the watch, in milliseconds. */
export interface DatabaseTimeouts {
  /** Of a statement that a caller waits for. */
  readonly statementTimeoutMs: number
  /** Of a write-behind statement, which may wait for a lock. */
  readonly writeBehindTimeoutMs: number
  /** Of a probe; also the interval between probes. */
  readonly probeIntervalMs: number
  /** Of an outstanding statement, once the database does not answer. */
  readonly outageTimeoutMs: number
  /** Of connections from before an outage, once it is over. */
  readonly recoveryTimeoutMs: number
}

/** The timeouts that an installation uses: API callers get an answer within 8 seconds. */
export const DEFAULT_DATABASE_TIMEOUTS: DatabaseTimeouts = {
  statementTimeoutMs: 10_000,
  writeBehindTimeoutMs: 30_000,
  probeIntervalMs: 1_000,
  outageTimeoutMs: 4_000,
  recoveryTimeoutMs: 2_000,
}

/** Connections that the watch may close. */
interface WatchedPools {
  readonly clientClass: (policy: ConnectionPolicy) => typeof pg.Client
  /**
   * Creates a pool. During an outage it opens no connections: `refuse` fails immediately, `wait`
   * waits as long as for an answer. Both throw a connection error.
   */
  readonly pool: (
    config: pg.PoolConfig,
    answerMs: number,
    duringOutage: "refuse" | "wait",
  ) => pg.Pool
}

export interface DatabaseWatch extends WatchedPools {
  readonly timeouts: DatabaseTimeouts
  /** Since when it has not answered, in UTC milliseconds; null if it answers. */
  readonly unavailableSince: () => number | null
  /** @throws a connection error if the database does not answer */
  readonly requireAvailable: () => void
  /** Probes now; resolves to false if the database does not answer. */
  readonly probe: () => Promise<boolean>
  /** For short queries of other modules, with the timeout of a probe. */
  readonly probePool: Pick<pg.Pool, "query">
  /** Ends the watch; no caller waits for the database afterwards. */
  readonly stop: () => Promise<void>
}

/** Starts watching a database that just answered. */
export function watchDatabase(
  url: string,
  listener: AvailabilityListener,
  timeouts: DatabaseTimeouts = DEFAULT_DATABASE_TIMEOUTS,
): DatabaseWatch {
  return new Watch(url, listener, timeouts)
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
  /** Resolves at the end of an outage: true if the database answers, false if the watch was stopped. */
  #outageEnd = Promise.withResolvers<boolean>()
  /** Whether connections without timeouts must still be checked after the last outage. */
  #hasUncheckedClients = false
  #stopped: Promise<void> | null = null

  constructor(url: string, listener: AvailabilityListener, timeouts: DatabaseTimeouts) {
    this.timeouts = timeouts
    this.#listener = listener
    this.probePool = openProbePool(url, timeouts.probeIntervalMs)
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

  readonly clientClass: DatabaseWatch["clientClass"] = (policy) =>
    this.#connections.clientClass(policy)

  readonly pool: DatabaseWatch["pool"] = (config, statementTimeoutMs, duringOutage) => {
    const { connectionTimeoutMillis: connectTimeoutMs } = config
    const Client = this.clientClass({ statementTimeoutMs, connectTimeoutMs, isPooled: true })
    const gate = async () => {
      const isOver =
        duringOutage === "wait" &&
        (await withTimeout(statementTimeoutMs, this.#outageEnd.promise, false))
      if (!isOver) throw this.#error()
    }
    // pg applies its connection timeout also to callers that wait for a free connection.
    const connectionTimeoutMillis = duringOutage === "wait" ? 0 : connectTimeoutMs
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

  /**
   * Probes twice before reporting an outage, because a lost connection may be a fault of that connection alone.
   */
  async #probeTwice(): Promise<boolean> {
    const lost = await this.#probeOnce()
    if (lost === null || this.#stopping.signal.aborted) return true
    const why = this.#unavailableSince === null ? await this.#probeOnce() : lost
    if (why === null) {
      // A new connection answers and an older one does not, as after a failover: other older
      // connections may be dead too.
      if (isDatabaseTimeout(lost)) this.#distrustAll()
      return true
    }
    if (!this.#stopping.signal.aborted) this.#beginOutage(why)
    return false
  }

  /** Probes once; returns null, or the error. */
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
    // Callers that waited for a connection before the outage must not wait for a new one.
    this.#connections.connectTimeoutMs = this.timeouts.probeIntervalMs
    this.#connections.limitWait(this.timeouts.outageTimeoutMs)
    this.#listener.onUnavailable(this.#unavailableSince, why)
  }

  /** Treats all current connections as possibly dead. */
  #distrustAll(): void {
    this.#connections.distrustAll(this.timeouts.recoveryTimeoutMs)
    void this.#abortUnknown()
  }

  /** Closes connections without timeouts that no longer exist on the server. */
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
      // The next successful probe tries again; outages are already reported.
      this.#hasUncheckedClients = true
    }
  }

  #error(): Error {
    const since = new Date(this.#unavailableSince ?? this.#lastAnswer).toISOString()
    return databaseTimeoutError(`PostgreSQL has not answered since ${since}`)
  }
}

/** Which of these connections exist on the server. */
const FIND_LIVING_BACKENDS = `
  select pid || ' ' || extract(epoch from backend_start) as backend
  from pg_stat_activity where pid || ' ' || extract(epoch from backend_start) = any($1::text[])`

/** A connection of the watch's own, with short timeouts. */
function openProbePool(url: string, timeoutMs: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: "company-ledger watch",
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    Client: new DatabaseConnections().clientClass({
      statementTimeoutMs: timeoutMs,
      isPooled: true,
    }),
  })
  // The next probe reports the failure.
  pool.on("error", () => undefined)
  return pool
}
