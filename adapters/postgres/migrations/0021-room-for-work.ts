import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * Room in each page for a row's next versions: it is taken, handed over and done within moments, and where
 * these stay in its page no index has to be told.
 */
export const roomForWork: Migration = {
  up: async (db) => {
    await sql`alter table ledger.work set (fillfactor = 30)`.execute(db)
  },
}
