/**
 * Connections to PostgreSQL. Two kinds: the owner's, which migrates, projects and works, and the
 * API's, which reads as a role that owns nothing and sees one company at a time.
 */
import { Kysely, PostgresDialect } from "kysely"
import pg from "pg"
import { API_ROLE } from "./roles.ts"

// Counts and money are within 2^53 (see domain/kernel/money.ts), so a bigint column is a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * A database that cannot be connected to is told of and asked again; a machine that vanished without
 * a word is noticed by the system.
 */
const REACHING = { connectionTimeoutMillis: 5_000, keepAlive: true } as const

/** What can go wrong on an idle connection: the pool replaces it, and this is told. */
export type OnIdleError = (error: Error) => void

/** A pool of the owner's connections. */
export function openPool(url: string, max: number, onIdleError: OnIdleError): pg.Pool {
  const pool = new pg.Pool({
    ...REACHING,
    connectionString: url,
    max,
    application_name: "company-ledger",
    options: "-c search_path=read",
  })
  return guarded(pool, onIdleError)
}

/**
 * A pool for what is written behind facts that are stored already, and can be made from them again:
 * read models, work rows, checkpoints. Its commits do not wait for the disk, so after a crash of the
 * server the last of them may be missing; a position is missing with its rows.
 */
export function openBehindPool(url: string, max: number, onIdleError: OnIdleError): pg.Pool {
  const pool = new pg.Pool({
    ...REACHING,
    connectionString: url,
    max,
    application_name: "company-ledger behind",
    options: "-c search_path=read -c synchronous_commit=off",
  })
  return guarded(pool, onIdleError)
}

/** A pool of the API's connections: every one has given up the owner's rights. */
export function openApiPool(url: string, max: number, onIdleError: OnIdleError): pg.Pool {
  const pool = new pg.Pool({
    ...REACHING,
    connectionString: url,
    max,
    application_name: "company-ledger api",
    options: `-c role=${API_ROLE} -c search_path=read`,
  })
  return guarded(pool, onIdleError)
}

/** Listens to what breaks: an error that nobody listens to would end the process. */
function guarded(pool: pg.Pool, onIdleError: OnIdleError): pg.Pool {
  pool.on("error", onIdleError)
  // The pool listens to idle connections only. Who holds one is told by its next statement.
  pool.on("connect", (client) => client.on("error", () => undefined))
  return pool
}

/** Queries with types over a pool. The pool's owner closes it. */
export function kyselyOf<DB>(pool: pg.Pool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}
