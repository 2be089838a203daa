/** A database of a test file's own, with pools that it opens and closes. */
import type pg from "pg"
import { afterAll, beforeAll } from "vitest"
import { openApiPool, openPool } from "../../adapters/postgres/database.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { testDatabase } from "../support/postgres.ts"

/** A migrated database, and what a test does to it. */
export class DatabaseUnderTest {
  #database: TestDatabase | null = null
  readonly #pools: pg.Pool[] = []
  /** Errors of connections that broke while they were idle. */
  readonly idleErrors: Error[] = []

  /** Lets the test file make the database before its tests and remove it after them. */
  constructor(options: { readonly migrated?: boolean } = {}) {
    beforeAll(async () => {
      this.#database = await testDatabase(options)
    })
    afterAll(async () => {
      await Promise.all(this.#pools.map((pool) => pool.end()))
      await this.#database?.drop()
    })
  }

  /** The superuser's address of the database. */
  get url(): string {
    if (this.#database === null) throw new Error("the database is made before the first test")
    return this.#database.url
  }

  /** A pool of the owner's, as the program opens it. */
  pool(max = 10): pg.Pool {
    return this.#opened(openPool(this.url, max, (error) => this.idleErrors.push(error)))
  }

  /** A pool of the API's, as the program opens it. */
  apiPool(max = 2): pg.Pool {
    return this.#opened(openApiPool(this.url, max, (error) => this.idleErrors.push(error)))
  }

  #opened(pool: pg.Pool): pg.Pool {
    this.#pools.push(pool)
    return pool
  }
}
