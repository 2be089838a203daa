import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * The streams that are held back, and from which revision on: every process, restart and rebuild holds
 * back the same. It is in backups, so that a restored installation knows what was left out.
 */
export const corruptStreams: Migration = {
  up: async (db) => {
    await sql`
      create table ledger.corrupt_streams (
        stream text primary key,
        revision bigint,
        reason text not null,
        found_at timestamptz not null default now()
      )`.execute(db)
  },
}
