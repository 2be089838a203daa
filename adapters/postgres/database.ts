/**
 * Connections to PostgreSQL. Two kinds: the owner's, which migrates, projects and works, and the
 * API's, which reads as a role that owns nothing and sees one company at a time.
 */
import { Kysely, PostgresDialect } from "kysely"
import type { PostgresPool } from "kysely"
import pg from "pg"
import { bePatient } from "./connections.ts"
import { onConnection } from "./on-connection.ts"
import { API_ROLE } from "./roles.ts"
import type { DatabaseWatch } from "./watch.ts"

// Counts and money are within 2^53 (see domain/kernel/money.ts), so a bigint column is a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * A database that cannot be connected to is told of and asked again; a machine that vanished without
 * a word is noticed by the system.
 */
const REACHING = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const

/**
 * What is asked for all the time has an index, and its plan must not depend on statistics: a table
 * that was never analyzed is taken for a small one, and whoever planned to scan it whole goes on to
 * once it is large. Where there is no index tables are scanned all the same. A page of an index is
 * nearly always in memory, and costs no more than the next one.
 */
const BY_INDEX = "-c enable_seqscan=off -c random_page_cost=1.1"

/** What can go wrong on an idle connection: the pool replaces it, and this is told. */
export type OnIdleError = (error: Error) => void

/** What a pool's connections are for. */
interface PoolKind {
  /** As PostgreSQL shows them. */
  readonly name: string
  readonly options: string
  /** How long a statement may take, of a watch's waits. */
  readonly limit: "answerMs" | "behindMs"
  /** What a statement comes to while the database is silent. */
  readonly whileSilent: "refuse" | "wait"
}

/** Opens a pool; without a watch its statements may take as long as they do. */
type OpenPool = (
  url: string,
  max: number,
  onIdleError: OnIdleError,
  watch?: DatabaseWatch | null,
) => pg.Pool

const poolsOf =
  ({ name, options, limit, whileSilent }: PoolKind): OpenPool =>
  (url, max, onIdleError, watch = null) => {
    const named = { application_name: name, options }
    const config = { ...REACHING, connectionString: url, max, ...named }
    const pool = watch?.pool(config, watch.waits[limit], whileSilent) ?? new pg.Pool(config)
    return guarded(pool, onIdleError)
  }

/** A pool of the owner's connections. */
export const openPool = poolsOf({
  name: "company-ledger",
  options: `-c search_path=read ${BY_INDEX}`,
  limit: "answerMs",
  whileSilent: "refuse",
})

/**
 * A pool for what is written behind facts that are stored already, and can be made from them again:
 * read models, work rows, checkpoints. Its commits do not wait for the disk, so after a crash of the
 * server the last of them may be missing; a position is missing with its rows.
 */
export const openBehindPool = poolsOf({
  name: "company-ledger behind",
  options: `-c search_path=read ${BY_INDEX} -c synchronous_commit=off`,
  limit: "behindMs",
  whileSilent: "wait",
})

/** A pool of the API's connections: every one has given up the owner's rights. */
export const openApiPool = poolsOf({
  name: "company-ledger api",
  options: `-c role=${API_ROLE} -c search_path=read ${BY_INDEX}`,
  limit: "answerMs",
  whileSilent: "refuse",
})

/**
 * The same pool for work whose statements may take as long as they do: backups, exports, audits,
 * building and comparing read models.
 */
export function patiently(pool: pg.Pool): pg.Pool {
  const connect = async () => bePatient(await pool.connect())
  const own: Readonly<Record<string | symbol, unknown>> = {
    connect,
    query: (...given: Parameters<pg.PoolClient["query"]>): Promise<unknown> =>
      onConnection({ connect }, async (client) => client.query(...given)),
    // It is closed by whoever opened it.
    end: async () => undefined,
  }
  return new Proxy(pool, {
    get: (target, name): unknown => own[name] ?? Reflect.get(target, name),
  })
}

/** Listens to what breaks: an error that nobody listens to would end the process. */
function guarded(pool: pg.Pool, onIdleError: OnIdleError): pg.Pool {
  pool.on("error", onIdleError)
  // The pool listens to idle connections only. Who holds one is told by its next statement.
  pool.on("connect", (client) => client.on("error", () => undefined))
  return pool
}

/** Queries with types over a pool. The pool's owner closes it. */
export function kyselyOf<DB>(pool: PostgresPool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}
