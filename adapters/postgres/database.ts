/**
 * Connections to PostgreSQL, and typed queries on them. Two kinds: the owner's, which migrates, projects and works, and the
 * API's, which reads as a role that owns nothing and sees one company at a time.
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

/** The role that API reads run as: it owns no table, so row-level security binds it. */
export const API_ROLE = "company_ledger_api"

/** The setting that says which company's rows the API's role may see. */
export const COMPANY_SETTING = "ledger.company"

// Counts and money are within 2^53 (see domain/kernel/money.ts), so a bigint column is a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * A database that cannot be connected to is told of and asked again; a machine that vanished without
 * a word is noticed by the system.
 */
const CONNECT_OPTIONS = {
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
const PLANNER_OPTIONS = "-c enable_seqscan=off -c random_page_cost=1.1"

/** What can go wrong on an idle connection: the pool replaces it, and this is told. */
type OnIdleError = (error: Error) => void

/** What a pool's connections are for. */
interface PoolKind {
  /** As PostgreSQL shows them. */
  readonly name: string
  readonly options: string
  /** How long a statement may take, of a watch's waits. */
  readonly timeout: "statementTimeoutMs" | "writeBehindTimeoutMs"
  /** What a statement comes to while the database is silent. */
  readonly duringOutage: "refuse" | "wait"
}

/** Opens a pool; without a watch its statements may take as long as they do. */
type OpenPool = (
  url: string,
  max: number,
  onIdleError: OnIdleError,
  watch?: DatabaseWatch | null,
) => pg.Pool

const poolOpener =
  ({ name, options, timeout, duringOutage }: PoolKind): OpenPool =>
  (url, max, onIdleError, watch = null) => {
    const named = { application_name: name, options }
    const config = { ...CONNECT_OPTIONS, connectionString: url, max, ...named }
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
 * A pool for what is written behind facts that are stored already, and can be made from them again:
 * read models, work rows, checkpoints. Its commits do not wait for the disk, so after a crash of the
 * server the last of them may be missing; a position is missing with its rows.
 */
export const openWriteBehindPool = poolOpener({
  name: "company-ledger behind",
  options: `-c search_path=read ${PLANNER_OPTIONS} -c synchronous_commit=off`,
  timeout: "writeBehindTimeoutMs",
  duringOutage: "wait",
})

/** A pool of the API's connections: every one has given up the owner's rights. */
export const openApiPool = poolOpener({
  name: "company-ledger api",
  options: `-c role=${API_ROLE} -c search_path=read ${PLANNER_OPTIONS}`,
  timeout: "statementTimeoutMs",
  duringOutage: "refuse",
})

/**
 * The same pool for work whose statements may take as long as they do: backups, exports, audits,
 * building and comparing read models.
 */
export function withoutTimeouts(pool: pg.Pool): pg.Pool {
  const connect = async () => disableTimeouts(await pool.connect())
  const own: Readonly<Record<string | symbol, unknown>> = {
    connect,
    query: (...given: Parameters<pg.PoolClient["query"]>): Promise<unknown> =>
      withConnection({ connect }, async (client) => client.query(...given)),
    // It is closed by whoever opened it.
    end: async () => undefined,
  }
  return new Proxy(pool, {
    get: (target, name): unknown => own[name] ?? Reflect.get(target, name),
  })
}

/** Listens to what breaks: an error that nobody listens to would end the process. */
function withErrorListeners(pool: pg.Pool, onIdleError: OnIdleError): pg.Pool {
  pool.on("error", onIdleError)
  // The pool listens to idle connections only. Who holds one is told by its next statement.
  pool.on("connect", (client) => client.on("error", () => undefined))
  return pool
}

/** Queries with types over a pool. The pool's owner closes it. */
export function kyselyOf<DB>(pool: PostgresPool): Kysely<DB> {
  return new Kysely<DB>({ dialect: new PostgresDialect({ pool }) })
}

/**
 * Lends a pool's connection for some work. One on which that failed is destroyed: whatever state it is
 * in, nobody gets it again.
 *
 * @throws what the work throws; the driver's errors
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

/** So many statements at most are kept prepared on a connection: as many as read models have, several times over. */
const MAX_PREPARED_STATEMENTS = 200
const statementNames = new Map<string, string>()

/** What a statement is called, so that PostgreSQL parses and plans it once; undefined where there are too many. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text)
  if (known !== undefined || statementNames.size >= MAX_PREPARED_STATEMENTS) return known
  const name = `kept-${statementNames.size}`
  statementNames.set(text, name)
  return name
}

/**
 * Typed queries on one connection that is already in a transaction; it never ends or leaves it.
 *
 * PostgreSQL's text has no U+0000, facts and what people write may: it is written as U+FFFD, so that
 * no text somebody sends can stop a read model.
 *
 * @param again whether its statements come again and again, so that they are worth being prepared
 */
export function kyselyOnConnection(client: PoolClient, again: "" | "again" = ""): Kysely<unknown> {
  // The dialect asks for a pool: this one always gives the same connection and keeps it on release.
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
  function query<R>(text: string, given: readonly unknown[]): Promise<PostgresQueryResult<R>>
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  function query(text: string | object, given: readonly unknown[] = []): unknown {
    if (typeof text !== "string") throw new TypeError("a lent connection has no cursors")
    const [values, name] = [given.map(columnValue), isNamed ? statementName(text) : undefined]
    return name === undefined ? client.query(text, values) : client.query({ name, text, values })
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
 * Reads as the API's role with one company in sight. The setting is made anew at each use of a
 * connection, before anything is read: a company left over from the last reader is never seen.
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

/** The same for whoever reads on and off: each query with a connection of its own. */
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
