/** A database of a test file's own, with pools that it opens and closes. */
import type pg from "pg"
import { afterAll } from "vitest"
import { openApiPool, openPool } from "../../adapters/postgres/database.ts"
import { testDatabase } from "../support/postgres.ts"

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
