/**
 * Connections to PostgreSQL. Two kinds: the owner's, which migrates, projects and works, and the
 * API's, which reads as a role that owns nothing and sees one company at a time.
 */
import { Kysely, PostgresDialect } from "kysely"
import pg from "pg"
import { API_ROLE } from "./roles.ts"

// Counts and money are within 2^53 (see domain/kernel/money.ts), so a bigint column is a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** What can go wrong on an idle connection: the pool replaces it, and this is told. */
export type OnIdleError = (error: Error) => void

/** A pool of the owner's connections. */
export function openPool(url: string, max: number, onIdleError: OnIdleError): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: "company-ledger",
    options: "-c search_path=read",
  })
  // Without a listener the loss of an idle connection would end the process.
  pool.on("error", onIdleError)
  return pool
}

/** A pool of the API's connections: every one has given up the owner's rights. */
export function openApiPool(url: string, max: number, onIdleError: OnIdleError): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: "company-ledger api",
    options: `-c role=${API_ROLE} -c search_path=read`,
  })
  pool.on("error", onIdleError)
  return pool
}

/** Queries with types over a pool. The pool's owner closes it. */
export function kyselyOf<DB>(pool: pg.Pool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}
