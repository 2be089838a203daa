/**
 * Connections that are given up where the database does not answer on them. What is silent is never
 * reset: without a limit, whoever asked would wait for as long as the other side pleases.
 */
import pg from "pg"

/** A connection that says good-bye waits so long for the other side to do the same. */
const GOODBYE_MS = 1_000

/** What holds for a kind of connections. */
export interface ConnectionRules {
  /** A statement without an answer for so long ends its connection; null: its owner sees to that. */
  readonly answerMs: number | null
  /** Whether nobody misses one that is idle. */
  readonly isPooled: boolean
}

/** A connection that knows whether an answer is outstanding on it. */
class WatchedClient extends pg.Client {
  /** Whether its holder waits for as long as a statement takes. */
  isPatient = false
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

  override query(...given: never[]): never {
    if (!this.#isWaiting) {
      this.#isWaiting = true
      const limits = [this.isPatient ? null : this.#rules.answerMs, this.#doubtMs]
      this.hurry(Math.min(...limits.map((limit) => limit ?? Infinity)))
    }
    return super.query.apply(this, given as never) as never
  }

  override end(...given: never[]): never {
    const ending = super.end.apply(this, given as never) as never
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
        if (this.#isWaiting && this.#until === until) this.#giveUp("there was no answer in time")
      })
    }, ms).unref()
  }

  /** The database may have forgotten it. */
  doubt(ms: number): void {
    if (this.isPatient) return
    if (this.#isWaiting) this.hurry(ms)
    else if (this.#rules.isPooled) this.#giveUp("it was made before the database fell silent")
    else this.#doubtMs = ms
  }

  #giveUp(why: string): void {
    const error = new Error(`the connection to PostgreSQL was given up: ${why}`)
    this.connection.stream.destroy(Object.assign(error, { code: "ETIMEDOUT" }))
  }
}

/** All connections of a process to one database. */
export class Connections {
  readonly #all = new Set<WatchedClient>()
  /** How long one may take to be made; null: for as long as its pool waits. */
  greetingMs: number | null = null

  /** The class of connections of a kind. */
  kind(rules: ConnectionRules): typeof pg.Client {
    const all = this.#all
    const greetingMs = () => this.greetingMs
    return class extends WatchedClient {
      constructor(config?: pg.ClientConfig) {
        super(config, rules)
        all.add(this)
        this.once("end", () => all.delete(this))
        this.hurry(greetingMs() ?? Infinity)
      }
    } as unknown as typeof pg.Client
  }

  /** Nobody waits longer than this for an answer any more, but for the patient. */
  hurry(ms: number): void {
    for (const client of this.#all) if (!client.isPatient) client.hurry(ms)
  }

  /** The database may have forgotten all that were made so far, as another does that took over. */
  doubt(ms: number): void {
    for (const client of [...this.#all]) client.doubt(ms)
  }
}

/** Waits on a pool's connection for as long as its statements take, until it is given back. */
export function bePatient(client: pg.PoolClient): pg.PoolClient {
  if (client instanceof WatchedClient) client.isPatient = true
  return client
}

/** Ends the patience for a connection that is given back. */
export function endPatience(client: pg.PoolClient): void {
  if (client instanceof WatchedClient) client.isPatient = false
}
