import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/** The trace that a row of work follows from, where somebody collects traces. */
export const tracedWork: Migration = {
  up: async (db) => {
    await sql`alter table ledger.work add column trace text`.execute(db)
  },
}
