/**
 * Connections that are given up where the database does not answer on them. What is silent is never
 * reset: without a limit, whoever asked would wait for as long as the other side pleases.
 */
import pg from "pg"

/** A connection that says good-bye waits so long for the other side to do the same. */
const DISCONNECT_TIMEOUT_MS = 1_000

const TIMEOUT_CODE = "ETIMEDOUT"

/** What fails for want of an answer: an error of a connection's. */
export function databaseTimeoutError(message: string): Error {
  return Object.assign(new Error(message), { code: TIMEOUT_CODE })
}

/** Whether a connection was lost for it was silent, and not for it was reset. */
export function isDatabaseTimeout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === TIMEOUT_CODE
}

/** What holds for a kind of connections. */
export interface ConnectionPolicy {
  /** A statement without an answer for so long ends its connection; null: its owner sees to that. */
  readonly statementTimeoutMs: number | null
  /** One that is not made within so long is given up; default its pool's own limit, milliseconds. */
  readonly connectTimeoutMs?: number | undefined
  /** Whether nobody misses one that is idle. */
  readonly isPooled: boolean
}

/** What a connection is to the server: pids are given again, and another server has the same ones. */
const OWN_BACKEND = `
  select pid || ' ' || extract(epoch from backend_start) as "backendId"
  from pg_stat_activity where pid = pg_backend_pid()`

/** A connection that knows whether an answer is outstanding on it. */
class WatchedClient extends pg.Client {
  /** Whether its holder waits for as long as a statement takes. */
  hasNoTimeout = false
  /** What the server calls it; null where nobody asked. */
  backendId: string | null = null
  readonly #policy: ConnectionPolicy
  /** Until it is made, the answer to its greeting is. */
  #isWaiting = true
  /** Whether it is not known to be alive: its next answer must come soon. */
  #nextAnswerMs: number | null = null
  #until = Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(config: pg.ClientConfig | undefined, rules: ConnectionPolicy) {
    super(config)
    this.#policy = rules
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
  override query(...given: any[]): any {
    if (!this.#isWaiting) {
      this.#isWaiting = true
      const limits = [
        this.hasNoTimeout ? null : this.#policy.statementTimeoutMs,
        this.#nextAnswerMs,
      ]
      this.limitWait(Math.min(...limits.map((limit) => limit ?? Infinity)))
    }
    return super.query.apply(this, given as Parameters<pg.Client["query"]>)
  }

  // The overloads are those of `pg`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  override end(...given: any[]): any {
    const ending: unknown = super.end.apply(this, given as Parameters<pg.Client["end"]>)
    setTimeout(() => this.connection.stream.destroy(), DISCONNECT_TIMEOUT_MS).unref()
    return ending
  }

  /** Gives it up unless the answer that is outstanding comes within so long; never later than before. */
  limitWait(ms: number): void {
    const until = performance.now() + ms
    if (!this.#isWaiting || until >= this.#until) return
    this.#until = until
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // What came while this process was busy is read before anybody is called silent.
      setImmediate(() => {
        if (this.#isWaiting && this.#until === until) this.abort("there was no answer in time")
      })
    }, ms).unref()
  }

  /** The database may have forgotten it. */
  distrust(ms: number): void {
    if (this.hasNoTimeout) return
    if (this.#isWaiting) this.limitWait(ms)
    else if (this.#policy.isPooled) this.abort("it was made before the database fell silent")
    else this.#nextAnswerMs = ms
  }

  /** Asks the server what it calls this connection. @throws an error of the connection's */
  async identify(): Promise<void> {
    if (this.backendId !== null) return
    const { rows } = await super.query<{ backendId: string | null }>(OWN_BACKEND)
    this.backendId = rows[0]?.backendId ?? null
  }

  /** Ends it, and with it whatever is outstanding. */
  abort(why: string): void {
    this.connection.stream.destroy(
      databaseTimeoutError(`the connection to PostgreSQL was given up: ${why}`),
    )
  }
}

/** All connections of a process to one database. */
export class DatabaseConnections {
  readonly #clients = new Set<WatchedClient>()
  /** How long one may take to be made, milliseconds. */
  connectTimeoutMs = Infinity
  /** Whether the database does not answer. */
  isUnavailable = false

  /** The class of connections of a kind. */
  clientClass(rules: ConnectionPolicy): typeof pg.Client {
    const all = this.#clients
    const greetingMs = () => this.connectTimeoutMs
    return class extends WatchedClient {
      constructor(config?: pg.ClientConfig) {
        super(config, rules)
        all.add(this)
        this.once("end", () => all.delete(this))
        this.limitWait(Math.min(greetingMs(), rules.connectTimeoutMs ?? Infinity))
      }
    }
  }

  /** Nobody waits longer than this for an answer any more, but for the patient. */
  limitWait(ms: number): void {
    for (const client of this.#clients) if (!client.hasNoTimeout) client.limitWait(ms)
  }

  /**
   * Gives up those whose holders are patient where the server does not know them any more; `livingOf`
   * answers which of them it knows. @throws what that throws
   */
  async abortUnknown(
    livingOf: (backends: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<void> {
    const patient = [...this.#clients].filter(
      ({ hasNoTimeout, backendId }) => hasNoTimeout && backendId !== null,
    )
    if (patient.length === 0) return
    const living = await livingOf(patient.map(({ backendId }) => backendId ?? ""))
    for (const client of patient) {
      if (!living.has(client.backendId ?? "")) client.abort("PostgreSQL does not know it any more")
    }
  }

  /** The database may have forgotten all that were made so far, as another does that took over. */
  distrustAll(ms: number): void {
    for (const client of Array.from(this.#clients)) client.distrust(ms)
  }
}

type ConnectCallback = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void

/** A pool as the package has it, with a gate before it while the database is silent. */
export class GatedPool extends pg.Pool {
  readonly #database: Pick<DatabaseConnections, "isUnavailable">
  readonly #gate: () => Promise<void>

  /** `gate` says when a connection may be asked for, and throws where none may. */
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
 * Waits on a pool's connection for as long as its statements take, until it is given back.
 *
 * @throws an error of the connection's, which is then given back
 */
export async function disableTimeouts(client: pg.PoolClient): Promise<pg.PoolClient> {
  if (!(client instanceof WatchedClient)) return client
  try {
    // Nobody is patient with this question: it is what tells later whether patience is in vain.
    await client.identify()
  } catch (error) {
    client.release(true)
    throw error
  }
  client.hasNoTimeout = true
  return client
}
