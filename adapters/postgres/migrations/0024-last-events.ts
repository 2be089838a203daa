import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * Beside the position of a read model, the last event that it has seen: an older copy of the store that
 * others have appended to may reach as far, and holds another event there or none.
 */
export const lastEvents: Migration = {
  up: async (db) => {
    await sql`alter table ledger.projections add column last_event jsonb`.execute(db)
  },
}
