import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * The rows that are due late have a writer of their own: it goes on where the one of all of them stood. The
 * answers that claims are given find room in the page of their claim, as the versions of work do.
 */
export const lateWork: Migration = {
  up: async (db) => {
    await sql`
      insert into ledger.projections (name, version, commit_position, prepare_position)
      select 'late work', version, commit_position, prepare_position
      from ledger.projections where name = 'work'`.execute(db)
    await sql`alter table ledger.claims set (fillfactor = 40)`.execute(db)
  },
}
