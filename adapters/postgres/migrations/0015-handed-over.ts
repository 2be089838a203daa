import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * When a row was about to go to a provider, and whoever worked on it may have died before the answer:
 * such a row is asked about, never simply performed again.
 */
export const handedOver: Migration = {
  up: async (db) => {
    await sql`alter table ledger.work add column handed_over_at timestamptz`.execute(db)
  },
}
