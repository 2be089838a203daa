import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/** On which machine each process runs: of some work only so much may be done on one at a time. */
export const machines: Migration = {
  up: async (db) => {
    await sql`alter table ledger.processes add column machine text not null default ''`.execute(db)
  },
}
