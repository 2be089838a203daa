import { setImmediate as nextTurn } from "node:timers/promises"

import pg from "pg"
import { afterAll, afterEach, beforeAll } from "vitest"

import { type EventStore, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import {
  openPostgresEventStore,
  type PostgresEventStoreOptions,
} from "../../adapters/eventstore/postgres/event-store.ts"
import { eventStoreSchemaSql } from "../../adapters/eventstore/postgres/schema.ts"
import { executeSql, type TestDatabase, testDatabase } from "../support/test-database.ts"

/**
 * Application name of the stores under test, so that a test can find and break their connections. Queries
 * also filter by database, because other test files use the same PostgreSQL.
 */
const APPLICATION = "event-store-under-test"

/** A database with an event store that is empty at the start of each test. */
export class PostgresUnderTest {
  #database: TestDatabase | null = null
  #admin: pg.Client | null = null
  readonly #open: EventStore[] = []

  /** Registers hooks that create the database before the tests of a file and remove it after them. */
  constructor() {
    beforeAll(async () => {
      this.#database = await testDatabase({ migrated: false })
      await executeSql(this.url, eventStoreSchemaSql)
      this.#admin = new pg.Client(this.url)
      await this.#admin.connect()
    })
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((store) => store.close()))
      await this.admin.query("truncate eventstore.events")
    })
    afterAll(async () => {
      await this.#admin?.end()
      await this.#database?.drop()
    })
  }

  get url(): string {
    return this.#database?.url ?? ""
  }

  /** A superuser's connection that belongs to no store. */
  get admin(): pg.Client {
    if (this.#admin === null) throw new Error("the database is made before the first test")
    return this.#admin
  }

  /** Opens a store on the database, as another process does. It is closed after the test. */
  open(options: Partial<PostgresEventStoreOptions> = {}): EventStore {
    const settings = { application_name: APPLICATION }
    const store = openPostgresEventStore({ url: this.url, settings, ...options })
    this.#open.push(store)
    return store
  }

  /** Terminates all connections of the stores. @returns their number */
  async killConnections(): Promise<number> {
    const { rowCount } = await this.admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [APPLICATION],
    )
    return rowCount ?? 0
  }

  async holdAppendLock(): Promise<void> {
    await this.admin.query("begin")
    await this.admin.query(
      "select pg_advisory_xact_lock(hashtextextended('eventstore.append_many', 0))",
    )
  }

  async releaseAppendLock(): Promise<void> {
    await this.admin.query("commit")
  }

  /** Waits until a connection of the stores waits for the lock. */
  async untilAppendWaits(): Promise<void> {
    // A separate client, because the transaction of `admin` has a snapshot of the activity.
    const observer = new pg.Client(this.url)
    await observer.connect()
    try {
      for (let waiting = 0; waiting === 0;) {
        const { rowCount } = await observer.query(
          `select from pg_stat_activity where datname = current_database()
           and application_name = $1 and wait_event = 'advisory'`,
          [APPLICATION],
        )
        waiting = rowCount ?? 0
      }
    } finally {
      await observer.end()
    }
  }

  /** Repeats an append until it is known to be stored. */
  async appendUntilStored(
    store: EventStore,
    ...append: Parameters<EventStore["append"]>
  ): Promise<void> {
    for (;;) {
      try {
        await store.append(...append)
        return
      } catch (error) {
        const mayRetry = error instanceof UnknownOutcome || error instanceof Unavailable
        if (!mayRetry || !this.#open.includes(store)) throw error
        await nextTurn()
      }
    }
  }
}
