import type { Migration } from "kysely/migration"
import { sql } from "kysely"
import { eventStoreSchemaSql } from "../../eventstore/postgres/schema.ts"

/** The event store inside PostgreSQL. */
export const eventStore: Migration = {
  up: async (db) => {
    await sql.raw(eventStoreSchemaSql).execute(db)
  },
}
