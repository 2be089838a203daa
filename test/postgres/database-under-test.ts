/** A database for one test file, with pools that it opens and closes. */
import type pg from "pg"
import { beforeEach, afterAll } from "vitest"
import { openApiPool, openPool } from "../../adapters/postgres/database.ts"
import type { JobQueue } from "../../adapters/postgres/jobs/port.ts"
import { openPostgresJobQueue } from "../../adapters/postgres/jobs/postgres.ts"
import { testDatabase } from "../support/test-database.ts"

/** The time in the tests. */
export const NOW = Date.UTC(2026, 10, 21, 12)

/** Opens the job queue for a test file. Call it at the top level. */
export async function jobQueueUnderTest() {
  const pool = (await databaseUnderTest()).pool()
  const queue = openPostgresJobQueue(pool, { ownId: "prc_own", isAlive: async () => true })
  beforeEach(async () => {
    await pool.query("truncate ledger.jobs restart identity")
  })
  return {
    pool,
    queue,
    /** The queue as another process sees it. */
    others: openPostgresJobQueue(pool, { ownId: "prc_other", isAlive: async () => true }),
    /** Adds a job on a subject, due at `NOW` by default. */
    add: async (subject: string, name: string, dueAt = NOW): Promise<void> => {
      await pool.query(
        `insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
         values ('send-text', $2, $1, 'co_aaaaaa', '{"a":[1]}', to_timestamp($3::float8 / 1000))`,
        [subject, name, dueAt],
      )
    },
    /** Claims jobs for a process. @returns their names */
    take: async (now = NOW, from: JobQueue = queue): Promise<readonly string[]> =>
      (await from.claim(now, 10)).map(({ name }) => name),
    /** Ends the back-off or the lease of all jobs. */
    runOut: async (column: "retry_at" | "leased_until"): Promise<void> => {
      await pool.query(`update ledger.jobs set ${column} = now() - interval '1 second'
        where ${column} is not null`)
    },
  }
}

export interface DatabaseUnderTest {
  /** The superuser's connection string. */
  readonly url: string
  /** A pool of the owner, as the program opens it; 10 connections by default. */
  readonly pool: (max?: number) => pg.Pool
  /** A pool of the API, as the program opens it; 2 connections by default. */
  readonly apiPool: (max?: number) => pg.Pool
  /** Errors of connections that broke while they were idle. */
  readonly idleErrors: readonly Error[]
}

/** Makes a database, migrated by default, and removes it after the test file. Call it at the top level. */
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
