import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/** Finds the rows that wait for an operator at once, among however many that do not. */
export const parkedWork: Migration = {
  up: async (db) => {
    await sql`create index work_parked on ledger.work (due_at) where parked is not null`.execute(db)
  },
}
