import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * How often the events have moved, into another store or out of a backup: a place in the global order
 * that a caller was told of before the last move is none of the store that is there now.
 */
export const storeGenerations: Migration = {
  up: async (db) => {
    const TABLE = "alter table ledger.event_store add column generation integer not null default 0"
    await sql.raw(TABLE).execute(db)
  },
}
