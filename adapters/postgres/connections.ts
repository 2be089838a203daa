/**
 * Connections that are given up where the database does not answer on them. What is silent is never
 * reset: without a limit, whoever asked would wait for as long as the other side pleases.
 */
import pg from "pg"

/** A connection that says good-bye waits so long for the other side to do the same. */
const GOODBYE_MS = 1_000

const NO_ANSWER = "ETIMEDOUT"

/** What fails for want of an answer: an error of a connection's. */
export function noAnswer(message: string): Error {
  return Object.assign(new Error(message), { code: NO_ANSWER })
}

/** Whether a connection was lost for it was silent, and not for it was reset. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === NO_ANSWER
}

/** What holds for a kind of connections. */
export interface ConnectionRules {
  /** A statement without an answer for so long ends its connection; null: its owner sees to that. */
  readonly answerMs: number | null
  /** One that is not made within so long is given up; default its pool's own limit, milliseconds. */
  readonly greetingMs?: number | undefined
  /** Whether nobody misses one that is idle. */
  readonly isPooled: boolean
}

/** What a connection is to the server: pids are given again, and another server has the same ones. */
const OWN_BACKEND = `
  select pid || ' ' || extract(epoch from backend_start) as backend
  from pg_stat_activity where pid = pg_backend_pid()`

/** A connection that knows whether an answer is outstanding on it. */
class WatchedClient extends pg.Client {
  /** Whether its holder waits for as long as a statement takes. */
  isPatient = false
  /** What the server calls it; null where nobody asked. */
  backend: string | null = null
  readonly #rules: ConnectionRules
  /** Until it is made, the answer to its greeting is. */
  #isWaiting = true
  /** Whether it is not known to be alive: its next answer must come soon. */
  #doubtMs: number | null = null
  #until = Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(config: pg.ClientConfig | undefined, rules: ConnectionRules) {
    super(config)
    this.#rules = rules
    this.connection.on("readyForQuery", () => {
      this.#isWaiting = false
      this.#doubtMs = null
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
      const limits = [this.isPatient ? null : this.#rules.answerMs, this.#doubtMs]
      this.hurry(Math.min(...limits.map((limit) => limit ?? Infinity)))
    }
    return super.query.apply(this, given as Parameters<pg.Client["query"]>)
  }

  // The overloads are those of `pg`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  override end(...given: any[]): any {
    const ending: unknown = super.end.apply(this, given as Parameters<pg.Client["end"]>)
    setTimeout(() => this.connection.stream.destroy(), GOODBYE_MS).unref()
    return ending
  }

  /** Gives it up unless the answer that is outstanding comes within so long; never later than before. */
  hurry(ms: number): void {
    const until = performance.now() + ms
    if (!this.#isWaiting || until >= this.#until) return
    this.#until = until
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // What came while this process was busy is read before anybody is called silent.
      setImmediate(() => {
        if (this.#isWaiting && this.#until === until) this.giveUp("there was no answer in time")
      })
    }, ms).unref()
  }

  /** The database may have forgotten it. */
  doubt(ms: number): void {
    if (this.isPatient) return
    if (this.#isWaiting) this.hurry(ms)
    else if (this.#rules.isPooled) this.giveUp("it was made before the database fell silent")
    else this.#doubtMs = ms
  }

  /** Asks the server what it calls this connection. @throws an error of the connection's */
  async identify(): Promise<void> {
    if (this.backend !== null) return
    const { rows } = await super.query<{ backend: string | null }>(OWN_BACKEND)
    this.backend = rows[0]?.backend ?? null
  }

  /** Ends it, and with it whatever is outstanding. */
  giveUp(why: string): void {
    this.connection.stream.destroy(noAnswer(`the connection to PostgreSQL was given up: ${why}`))
  }
}

/** All connections of a process to one database. */
export class Connections {
  readonly #all = new Set<WatchedClient>()
  /** How long one may take to be made, milliseconds. */
  greetingMs = Infinity
  /** Whether the database does not answer. */
  isSilent = false

  /** The class of connections of a kind. */
  kind(rules: ConnectionRules): typeof pg.Client {
    const all = this.#all
    const greetingMs = () => this.greetingMs
    return class extends WatchedClient {
      constructor(config?: pg.ClientConfig) {
        super(config, rules)
        all.add(this)
        this.once("end", () => all.delete(this))
        this.hurry(Math.min(greetingMs(), rules.greetingMs ?? Infinity))
      }
    }
  }

  /** Nobody waits longer than this for an answer any more, but for the patient. */
  hurry(ms: number): void {
    for (const client of this.#all) if (!client.isPatient) client.hurry(ms)
  }

  /**
   * Gives up those whose holders are patient where the server does not know them any more; `livingOf`
   * answers which of them it knows. @throws what that throws
   */
  async forsake(
    livingOf: (backends: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<void> {
    const patient = [...this.#all].filter(({ isPatient, backend }) => isPatient && backend !== null)
    if (patient.length === 0) return
    const living = await livingOf(patient.map(({ backend }) => backend ?? ""))
    for (const client of patient) {
      if (!living.has(client.backend ?? "")) client.giveUp("PostgreSQL does not know it any more")
    }
  }

  /** The database may have forgotten all that were made so far, as another does that took over. */
  doubt(ms: number): void {
    for (const client of Array.from(this.#all)) client.doubt(ms)
  }
}

type Connected = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void

/** A pool as the package has it, with a gate before it while the database is silent. */
export class GatedPool extends pg.Pool {
  readonly #database: Pick<Connections, "isSilent">
  readonly #gate: () => Promise<void>

  /** `gate` says when a connection may be asked for, and throws where none may. */
  constructor(
    config: pg.PoolConfig,
    database: Pick<Connections, "isSilent">,
    gate: () => Promise<void>,
  ) {
    super(config)
    this.#database = database
    this.#gate = gate
    this.on("release", (_error, client) => {
      if (client instanceof WatchedClient) client.isPatient = false
    })
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
    const { isSilent } = this.#database
    if (callback === undefined) {
      return isSilent ? this.#gate().then(() => super.connect()) : super.connect()
    }
    if (!isSilent) return super.connect(callback)
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
export async function bePatient(client: pg.PoolClient): Promise<pg.PoolClient> {
  if (!(client instanceof WatchedClient)) return client
  try {
    // Nobody is patient with this question: it is what tells later whether patience is in vain.
    await client.identify()
  } catch (error) {
    client.release(true)
    throw error
  }
  client.isPatient = true
  return client
}
