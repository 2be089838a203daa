/**
 * Connections to PostgreSQL, and typed queries on them. There are two kinds: the owner's connections migrate,
 * project and run jobs; the API's connections read with a role that owns nothing and sees one company at a time.
 */
import type { PostgresPool, PostgresCursor, PostgresQueryResult } from "kysely"
import {
  Kysely,
  PostgresDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from "kysely"
import pg from "pg"
import type { PoolClient, Pool } from "pg"
import { disableTimeouts } from "./connections.ts"
import type { DatabaseWatch } from "./watch.ts"
import type { ReadModelTables } from "../../projections/kernel/table.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** The role of API reads. It owns no table, so row-level security applies to it. */
export const API_ROLE = "company_ledger_api"

/** The setting with the id of the company whose rows the API role may see. */
export const COMPANY_SETTING = "ledger.company"

// Counts and money are within 2^53 (see domain/kernel/money.ts), so a bigint column is a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Connecting fails after five seconds, and keep-alives detect a machine that vanished. */
const CONNECT_OPTIONS = {
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const

/**
 * Plans must not depend on statistics: a table that was never analyzed is taken for a small one,
 * and a scan planned then is used even after the table has grown. Frequent queries have an index;
 * tables without one are still scanned. A page of an index is nearly always in memory, so a random
 * read costs about as much as a sequential one.
 */
const PLANNER_OPTIONS = "-c enable_seqscan=off -c random_page_cost=1.1"

/** Called with an error of an idle connection, which the pool replaces. */
type OnIdleError = (error: Error) => void

interface PoolKind {
  /** The application_name in PostgreSQL. */
  readonly name: string
  readonly options: string
  /** Which timeout of the watch applies to a statement. */
  readonly timeout: "statementTimeoutMs" | "writeBehindTimeoutMs"
  /** Whether statements fail or wait while the database does not answer. */
  readonly duringOutage: "refuse" | "wait"
}

/** Opens a pool; without a watch its statements have no timeout. */
type OpenPool = (
  url: string,
  max: number,
  onIdleError: OnIdleError,
  watch?: DatabaseWatch | null,
) => pg.Pool

const poolOpener =
  ({ name, options, timeout, duringOutage }: PoolKind): OpenPool =>
  (url, max, onIdleError, watch = null) => {
    const session = { application_name: name, options }
    const config = { ...CONNECT_OPTIONS, connectionString: url, max, ...session }
    const pool = watch?.pool(config, watch.timeouts[timeout], duringOutage) ?? new pg.Pool(config)
    return withErrorListeners(pool, onIdleError)
  }

/** A pool of the owner's connections. */
export const openPool = poolOpener({
  name: "company-ledger",
  options: `-c search_path=read ${PLANNER_OPTIONS}`,
  timeout: "statementTimeoutMs",
  duringOutage: "refuse",
})

/**
 * A pool for writes that can be repeated from stored facts: read models, jobs, checkpoints. Its
 * commits do not wait for the disk, so a crash of the server may lose the last of them; a position
 * is lost together with its rows.
 */
export const openWriteBehindPool = poolOpener({
  name: "company-ledger write-behind",
  options: `-c search_path=read ${PLANNER_OPTIONS} -c synchronous_commit=off`,
  timeout: "writeBehindTimeoutMs",
  duringOutage: "wait",
})

/** A pool of the API's connections, which all use the API role. */
export const openApiPool = poolOpener({
  name: "company-ledger api",
  options: `-c role=${API_ROLE} -c search_path=read ${PLANNER_OPTIONS}`,
  timeout: "statementTimeoutMs",
  duringOutage: "refuse",
})

/**
 * Returns the same pool without statement timeouts, for long work: backups, exports, audits, and
 * building and comparing read models.
 */
export function withoutTimeouts(pool: pg.Pool): pg.Pool {
  const connect = async () => disableTimeouts(await pool.connect())
  const overrides: Readonly<Record<string | symbol, unknown>> = {
    connect,
    query: (...args: Parameters<pg.PoolClient["query"]>): Promise<unknown> =>
      withConnection({ connect }, async (client) => client.query(...args)),
    // The pool's owner closes it.
    end: async () => undefined,
  }
  return new Proxy(pool, {
    get: (target, name): unknown => overrides[name] ?? Reflect.get(target, name),
  })
}

/** Listens for errors: an unhandled `error` event would end the process. */
function withErrorListeners(pool: pg.Pool, onIdleError: OnIdleError): pg.Pool {
  pool.on("error", onIdleError)
  // The pool listens to idle connections only. The holder of another one gets the error from its next statement.
  pool.on("connect", (client) => client.on("error", () => undefined))
  return pool
}

/** Wraps a pool for typed queries. The pool's owner closes it. */
export function kyselyOf<DB>(pool: PostgresPool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}

/**
 * Runs work with a connection of a pool. If the work fails, the connection is destroyed, because
 * its state is unknown.
 *
 * @throws the errors of the work and the driver
 */
export async function withConnection<T>(
  pool: { readonly connect: () => Promise<PoolClient> },
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let failed = true
  try {
    const result = await work(client)
    failed = false
    return result
  } finally {
    client.release(failed)
  }
}

/** Maximum number of prepared statements on a connection: several times those of all read models. */
const MAX_PREPARED_STATEMENTS = 200
const statementNames = new Map<string, string>()

/**
 * The name of a prepared statement, so that PostgreSQL parses and plans it once; undefined if there are too many.
 */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text)
  if (known !== undefined || statementNames.size >= MAX_PREPARED_STATEMENTS) return known
  const name = `prepared-${statementNames.size}`
  statementNames.set(text, name)
  return name
}

/**
 * Typed queries on a connection that is in a transaction, which they never end.
 *
 * PostgreSQL's text cannot contain U+0000, but facts and messages may: it is stored as U+FFFD, so
 * that no text can stop a read model.
 *
 * @param again whether the statements repeat often enough to prepare them
 */
export function kyselyOnConnection(client: PoolClient, again: "" | "again" = ""): Kysely<unknown> {
  // The dialect needs a pool: this one always returns the same connection.
  const pool = borrowedPool(client, again === "again")
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PostgresDialect({ pool }).createDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

function borrowedPool(client: PoolClient, isNamed: boolean): PostgresPool {
  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  function query(text: string | object, values: readonly unknown[] = []): unknown {
    if (typeof text !== "string") throw new TypeError("A borrowed connection has no cursors")
    const columns = values.map(columnValue)
    const name = isNamed ? statementName(text) : undefined
    return name === undefined
      ? client.query(text, columns)
      : client.query({ name, text, values: columns })
  }
  const connection = { query, release: () => undefined }
  return { connect: async () => connection, end: async () => undefined, options: {} }
}

function columnValue(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD")
  return Array.isArray(value) ? value.map(columnValue) : value
}

const SET_COMPANY = { name: "set-company", text: "select set_config($1, $2, false)" }

/**
 * Reads with the API role, limited to one company. The setting is written before each use of a
 * connection, so the previous reader's company is never visible.
 */
export function readAsCompany(pool: Pool) {
  return <T>(
    companyId: CompanyId,
    query: (db: Kysely<ReadModelTables>) => Promise<T>,
  ): Promise<T> =>
    withConnection(pool, async (client) => {
      await client.query({ ...SET_COMPANY, values: [COMPANY_SETTING, companyId] })
      return query(kyselyOnConnection(client))
    })
}

/** The same as a query builder: each query uses a connection of its own. */
export function openCompanyReader(pool: Pool) {
  return (companyId: CompanyId): Kysely<ReadModelTables> => {
    const connect = async () => {
      const client = await pool.connect()
      try {
        await client.query({ ...SET_COMPANY, values: [COMPANY_SETTING, companyId] })
        return client
      } catch (error) {
        client.release(true)
        throw error
      }
    }
    return kyselyOf<ReadModelTables>({ connect, end: async () => undefined, options: {} })
  }
}
