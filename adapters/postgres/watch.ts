/**
 * Whether the database answers: it is asked once a second on a connection of its own. Where it does
 * not, nobody begins to wait for it who can be told so, and what waits already does not wait long;
 * when it answers again, connections from before are not trusted.
 */
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { ConnectionRules } from "./connections.ts"
import { Connections, isNoAnswer, noAnswer } from "./connections.ts"
import { WatchedPool } from "./watched-pool.ts"

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

/** Who is told when what is watched falls silent, and when it answers again; `since` is UTC ms. */
export interface ToldOfSilence {
  readonly onSilent: (since: number, why: unknown) => void
  readonly onAnswer: (since: number) => void
}

/** Connections that somebody made, under the eyes of a watch. */
interface WatchedPools {
  /** The class of connections of a kind. */
  readonly kind: (rules: ConnectionRules) => typeof pg.Client
  /**
   * A pool of connections. While the database is silent it gives none: `refuse` says so at once, `wait`
   * waits for as long as for an answer, and in line for others for as long as those take. It throws an error
   * of the connection's.
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
  const connections = new Connections()
  const quick = openQuick(url, waits.askMs)
  const silence = new Silence(told, connections, waits, livingBy(quick))
  const stopping = new AbortController()
  let asking: Promise<boolean> | null = null

  const askOnce = async (): Promise<boolean> => {
    const askedAt = Date.now()
    try {
      await quick.query("select 1")
      silence.answered(askedAt)
      return true
    } catch (error) {
      silence.why = error
      return false
    }
  }
  const askTwice = async (): Promise<boolean> => {
    // A connection may be lost for reasons of its own.
    if ((await askOnce()) || stopping.signal.aborted) return true
    const lost = silence.why
    if (silence.since === null && (await askOnce())) {
      if (isNoAnswer(lost)) silence.suspect()
      return true
    }
    if (!stopping.signal.aborted) silence.begin()
    return false
  }
  const ask = async (): Promise<boolean> => {
    if (stopping.signal.aborted) return true
    asking ??= askTwice().finally(() => (asking = null))
    return asking
  }
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      await ask()
      await pause(waits.askMs, undefined, { ref: false, signal: stopping.signal }).catch(() => null)
    }
  })()
  const stop = async (): Promise<void> => {
    stopping.abort()
    silence.giveUp()
    await quick.end()
    await watching
  }
  let stopped: Promise<void> | null = null
  return {
    waits,
    silentSince: () => silence.since,
    mustAnswer: () => silence.mustAnswer(),
    ask,
    quick,
    kind: (rules) => connections.kind(rules),
    pool: (config, answerMs, whenSilent) => {
      const Client = connections.kind({ answerMs, isPooled: true })
      const isPatient = whenSilent === "wait"
      const gate = isPatient ? () => silence.pass(answerMs) : silence.mustAnswer
      const isSilent = () => silence.since !== null
      return new WatchedPool({ ...config, Client }, { isSilent, gate, isPatient })
    },
    stop: () => (stopped ??= stop()),
  }
}

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

/** Which of these connections the server knows. */
type LivingOf = Parameters<Connections["forsake"]>[0]

const LIVING = `
  select pid || ' ' || extract(epoch from backend_start) as backend
  from pg_stat_activity where pid || ' ' || extract(epoch from backend_start) = any($1::text[])`

const livingBy =
  (quick: pg.Pool): LivingOf =>
  async (backends) => {
    const { rows } = await quick.query<{ backend: string }>(LIVING, [backends])
    return new Set(rows.map(({ backend }) => backend))
  }

/** What is known of a silence. */
class Silence {
  since: number | null = null
  why: unknown = null
  readonly #told: ToldOfSilence
  readonly #connections: Connections
  readonly #waits: DatabaseWaits
  readonly #livingOf: LivingOf
  /** Whether somebody may be patient in vain: nobody has asked since the last silence. */
  #mayForsake = false
  #lastAnswer = Date.now()
  #passing: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = []

  constructor(
    told: ToldOfSilence,
    connections: Connections,
    waits: DatabaseWaits,
    livingOf: LivingOf,
  ) {
    this.#told = told
    this.#connections = connections
    this.#waits = waits
    this.#livingOf = livingOf
  }

  begin(): void {
    if (this.since !== null) return
    this.since = this.#lastAnswer
    this.#mayForsake = true
    // Who stood in line for a connection before is not kept for the making of a new one.
    this.#connections.greetingMs = this.#waits.askMs
    this.#connections.hurry(this.#waits.silentMs)
    this.#told.onSilent(this.since, this.why)
  }

  answered(askedAt: number): void {
    this.#lastAnswer = askedAt
    this.#endSilence()
    if (this.#mayForsake) void this.#forsake()
  }

  /**
   * It answers on a new connection and does no more on one from before, as where another took over so
   * quickly that nobody found it silent: the others from before may be as dead.
   */
  suspect(): void {
    this.#connections.doubt(this.#waits.doubtMs)
    void this.#forsake()
  }

  #endSilence(): void {
    const { since } = this
    if (since === null) return
    this.since = null
    this.#connections.greetingMs = null
    this.#connections.doubt(this.#waits.doubtMs)
    this.#told.onAnswer(since)
    for (const { resolve } of this.#passing.splice(0)) resolve()
  }

  /** Lets nobody wait on a connection to a server that is no more. */
  async #forsake(): Promise<void> {
    this.#mayForsake = false
    try {
      await this.#connections.forsake(this.#livingOf)
    } catch {
      // The next answer is soon enough: whether there is one is told of already.
      this.#mayForsake = true
    }
  }

  readonly mustAnswer = (): void => {
    if (this.since !== null) throw this.#error()
  }

  /** Waits, but not for ever, until it answers. @throws an error of the connection's */
  async pass(mostMs: number): Promise<void> {
    if (this.since === null) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#passing.push({ resolve, reject })
    const timer = setTimeout(() => reject(this.#error()), mostMs)
    await promise.finally(() => clearTimeout(timer))
  }

  giveUp(): void {
    for (const { reject } of this.#passing.splice(0)) reject(this.#error())
  }

  #error(): Error {
    const since = new Date(this.since ?? this.#lastAnswer).toISOString()
    return noAnswer(`PostgreSQL does not answer since ${since}`)
  }
}
