/**
 * Connections that are closed when the database does not answer on them. A silent connection is
 * never reset by the network, so without a timeout callers would wait forever.
 */
import pg from "pg"

const DISCONNECT_TIMEOUT_MS = 1_000

const TIMEOUT_CODE = "ETIMEDOUT"

/** Creates the error for a missing answer: it counts as a connection fault. */
export function databaseTimeoutError(message: string): Error {
  return Object.assign(new Error(message), { code: TIMEOUT_CODE })
}

/** Whether a connection was closed because of a timeout, and not because it was reset. */
export function isDatabaseTimeout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === TIMEOUT_CODE
}

/** Timeouts and role of a group of connections. */
export interface ConnectionPolicy {
  /** A statement without an answer for this long closes its connection; null: the owner handles timeouts. */
  readonly statementTimeoutMs: number | null
  /** How long connecting may take, in milliseconds; default the pool's own limit. */
  readonly connectTimeoutMs?: number | undefined
  /** Whether the connection belongs to a pool, so that an idle one can be closed. */
  readonly isPooled: boolean
}

/** Identifies a connection on the server. Pids are reused, and another server has the same ones. */
const OWN_BACKEND = `
  select pid || ' ' || extract(epoch from backend_start) as "backendId"
  from pg_stat_activity where pid = pg_backend_pid()`

class WatchedClient extends pg.Client {
  /** Whether its statements may take any time. */
  hasNoTimeout = false
  backendId: string | null = null
  readonly #policy: ConnectionPolicy
  /** True from the start: connecting waits for the server's greeting. */
  #isWaiting = true
  /** Timeout of the next answer while the connection may be dead. */
  #nextAnswerMs: number | null = null
  #until = Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(config: pg.ClientConfig | undefined, policy: ConnectionPolicy) {
    super(config)
    this.#policy = policy
    this.connection.on("readyForQuery", () => {
      this.#isWaiting = false
      this.#nextAnswerMs = null
      this.#until = Infinity
      clearTimeout(this.#timer)
    })
    this.once("end", () => clearTimeout(this.#timer))
  }

  // The overloads are those of `pg`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  override query(...args: any[]): any {
    if (!this.#isWaiting) {
      this.#isWaiting = true
      const limits = [
        this.hasNoTimeout ? null : this.#policy.statementTimeoutMs,
        this.#nextAnswerMs,
      ]
      this.limitWait(Math.min(...limits.map((limit) => limit ?? Infinity)))
    }
    return super.query.apply(this, args as Parameters<pg.Client["query"]>)
  }

  // The overloads are those of `pg`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  override end(...args: any[]): any {
    const ending: unknown = super.end.apply(this, args as Parameters<pg.Client["end"]>)
    setTimeout(() => this.connection.stream.destroy(), DISCONNECT_TIMEOUT_MS).unref()
    return ending
  }

  /** Closes the connection unless the outstanding answer arrives within `ms`; only shortens the current limit. */
  limitWait(ms: number): void {
    const until = performance.now() + ms
    if (!this.#isWaiting || until >= this.#until) return
    this.#until = until
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // Read data that arrived while this process was busy before declaring a timeout.
      setImmediate(() => {
        if (this.#isWaiting && this.#until === until)
          this.abort("the server did not answer in time")
      })
    }, ms).unref()
  }

  /** Treats the connection as possibly dead on the server. */
  distrust(ms: number): void {
    if (this.hasNoTimeout) return
    if (this.#isWaiting) this.limitWait(ms)
    else if (this.#policy.isPooled)
      this.abort("it was opened before the database stopped answering")
    else this.#nextAnswerMs = ms
  }

  async identify(): Promise<void> {
    if (this.backendId !== null) return
    const { rows } = await super.query<{ backendId: string | null }>(OWN_BACKEND)
    this.backendId = rows[0]?.backendId ?? null
  }

  abort(why: string): void {
    this.connection.stream.destroy(
      databaseTimeoutError(`the connection to PostgreSQL was closed: ${why}`),
    )
  }
}

/** All connections of a process to one database. */
export class DatabaseConnections {
  readonly #clients = new Set<WatchedClient>()
  connectTimeoutMs = Infinity
  isUnavailable = false

  clientClass(policy: ConnectionPolicy): typeof pg.Client {
    const all = this.#clients
    const connectTimeoutMs = () => this.connectTimeoutMs
    return class extends WatchedClient {
      constructor(config?: pg.ClientConfig) {
        super(config, policy)
        all.add(this)
        this.once("end", () => all.delete(this))
        this.limitWait(Math.min(connectTimeoutMs(), policy.connectTimeoutMs ?? Infinity))
      }
    }
  }

  /** Limits the wait for every outstanding answer, except on connections without timeouts. */
  limitWait(ms: number): void {
    for (const client of this.#clients) if (!client.hasNoTimeout) client.limitWait(ms)
  }

  /**
   * Closes connections without timeouts that no longer exist on the server; `findBackends` returns
   * the ids that do. @throws the errors of `findBackends`
   */
  async abortUnknown(
    findBackends: (backends: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<void> {
    const unlimited = [...this.#clients].filter(
      ({ hasNoTimeout, backendId }) => hasNoTimeout && backendId !== null,
    )
    if (unlimited.length === 0) return
    const backendIds = await findBackends(unlimited.map(({ backendId }) => backendId ?? ""))
    for (const client of unlimited) {
      if (!backendIds.has(client.backendId ?? "")) client.abort("PostgreSQL no longer lists it")
    }
  }

  /** Treats all current connections as possibly dead, for example after a failover. */
  distrustAll(ms: number): void {
    for (const client of Array.from(this.#clients)) client.distrust(ms)
  }
}

type ConnectCallback = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void

/** A `pg` pool with a gate for new connections while the database does not answer. */
export class GatedPool extends pg.Pool {
  readonly #database: Pick<DatabaseConnections, "isUnavailable">
  readonly #gate: () => Promise<void>

  /** `gate` resolves when a connection may be requested, and rejects if it may not. */
  constructor(
    config: pg.PoolConfig,
    database: Pick<DatabaseConnections, "isUnavailable">,
    gate: () => Promise<void>,
  ) {
    super(config)
    this.#database = database
    this.#gate = gate
    this.on("release", (_error, client) => {
      if (client instanceof WatchedClient) client.hasNoTimeout = false
    })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    const { isUnavailable } = this.#database
    if (callback === undefined) {
      return isUnavailable ? this.#gate().then(() => super.connect()) : super.connect()
    }
    if (!isUnavailable) return super.connect(callback)
    return void this.#gate().then(
      () => super.connect(callback),
      (error: Error) => callback(error),
    )
  }
}

/**
 * Disables the timeouts of a pool's connection until it is released.
 *
 * @throws a connection error; the connection is released then
 */
export async function disableTimeouts(client: pg.PoolClient): Promise<pg.PoolClient> {
  if (!(client instanceof WatchedClient)) return client
  try {
    // This query keeps its timeout: its id later shows whether the connection still exists on the server.
    await client.identify()
  } catch (error) {
    client.release(true)
    throw error
  }
  client.hasNoTimeout = true
  return client
}
