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
 * Names the connections of the stores under test, so that a test can find and break them: those of its
 * own database only, for other files' tests run in the same PostgreSQL meanwhile.
 */
const APPLICATION = "event-store-under-test"

/** A database with an event store, empty at the start of each test, and what a test does to it. */
export class PostgresUnderTest {
  #database: TestDatabase | null = null
  #admin: pg.Client | null = null
  readonly #open: EventStore[] = []

  /** Lets the test file make the database before its tests and remove it after them. */
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

  /** The address of the database. */
  get url(): string {
    return this.#database?.url ?? ""
  }

  /** A connection that may do everything and belongs to no store. */
  get admin(): pg.Client {
    if (this.#admin === null) throw new Error("the database is made before the first test")
    return this.#admin
  }

  /** Opens a store on the database, as another process would; closed after the test. */
  open(options: Partial<PostgresEventStoreOptions> = {}): EventStore {
    const settings = { application_name: APPLICATION }
    const store = openPostgresEventStore({ url: this.url, settings, ...options })
    this.#open.push(store)
    return store
  }

  /** Ends all connections of the stores; answers how many there were. */
  async killConnections(): Promise<number> {
    const { rowCount } = await this.admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [APPLICATION],
    )
    return rowCount ?? 0
  }

  /** Begins a transaction that holds the lock for which writers stand in line. */
  async holdAppendLock(): Promise<void> {
    await this.admin.query("begin")
    await this.admin.query(
      "select pg_advisory_xact_lock(hashtextextended('eventstore.append_many', 0))",
    )
  }

  /** Commits that transaction. */
  async releaseAppendLock(): Promise<void> {
    await this.admin.query("commit")
  }

  /** Waits until a connection of the stores stands in line for the lock. */
  async untilAppendWaits(): Promise<void> {
    // The transaction of `admin` would go on seeing the same activity.
    const observer = new pg.Client(this.url)
    await observer.connect()
    try {
      for (let inLine = 0; inLine === 0;) {
        const { rowCount } = await observer.query(
          `select from pg_stat_activity where datname = current_database()
           and application_name = $1 and wait_event = 'advisory'`,
          [APPLICATION],
        )
        inLine = rowCount ?? 0
      }
    } finally {
      await observer.end()
    }
  }

  /** Appends the same bytes until it is known that they are stored. */
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
