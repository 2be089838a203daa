/** A database of a test file's own, with pools that it opens and closes. */
import type pg from "pg"
import { beforeEach, afterAll } from "vitest"
import { openApiPool, openPool } from "../../adapters/postgres/database.ts"
import type { JobQueue } from "../../adapters/postgres/jobs/port.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { testDatabase } from "../support/test-database.ts"

/** The instant of the tests. */
export const NOW = Date.UTC(2026, 10, 21, 12)

/** Opens the queue for a test file. Call it at the top level. */
export async function jobQueueUnderTest() {
  const pool = (await databaseUnderTest()).pool()
  const queue = openPostgresJobQueue(pool, { ownId: "prc_own", isAlive: async () => true })
  beforeEach(async () => {
    await pool.query("truncate ledger.jobs restart identity")
  })
  return {
    pool,
    queue,
    /** Another process's view of it. */
    others: openPostgresJobQueue(pool, { ownId: "prc_other", isAlive: async () => true }),
    /** Adds work on a subject, due at `NOW` unless said otherwise. */
    add: async (subject: string, name: string, dueAt = NOW): Promise<void> => {
      await pool.query(
        `insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
         values ('send-text', $2, $1, 'co_aaaaaa', '{"a":[1]}', to_timestamp($3::float8 / 1000))`,
        [subject, name, dueAt],
      )
    },
    /** The names of the work that a process takes. */
    take: async (now = NOW, from: JobQueue = queue): Promise<readonly string[]> =>
      (await from.claim(now, 10)).map(({ name }) => name),
    /** Lets the back-off or the lease of all work run out. */
    runOut: async (column: "retry_at" | "leased_until"): Promise<void> => {
      await pool.query(`update ledger.jobs set ${column} = now() - interval '1 second'
        where ${column} is not null`)
    },
  }
}

/** A database, and what a test does to it. */
export interface DatabaseUnderTest {
  /** The superuser's address of the database. */
  readonly url: string
  /** A pool of the owner's, as the program opens it; default 10 connections. */
  readonly pool: (max?: number) => pg.Pool
  /** A pool of the API's, as the program opens it; default 2 connections. */
  readonly apiPool: (max?: number) => pg.Pool
  /** Errors of connections that broke while they were idle. */
  readonly idleErrors: readonly Error[]
}

/** Makes a database, migrated unless said otherwise, and removes it after the test file. Call it at the top level. */
export async function databaseUnderTest(
  options: { readonly migrated?: boolean } = {},
): Promise<DatabaseUnderTest> {
  const { url, drop } = await testDatabase(options)
  const pools: pg.Pool[] = []
  const idleErrors: Error[] = []
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await drop()
  })
  const opened = (open: typeof openPool, max: number): pg.Pool => {
    const pool = open(url, max, (error) => idleErrors.push(error))
    pools.push(pool)
    return pool
  }
  return {
    url,
    pool: (max = 10) => opened(openPool, max),
    apiPool: (max = 2) => opened(openApiPool, max),
    idleErrors,
  }
}
