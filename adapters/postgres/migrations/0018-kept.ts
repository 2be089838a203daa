import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/** What slices keep for a time, to be backed up with the rest of the schema `ledger`. */
const TABLE = `
create table ledger.kept (
  company_id text not null,
  slice text not null,
  kind text not null,
  name text not null,
  content jsonb not null,
  until timestamptz not null,
  primary key (company_id, slice, kind, name)
);
create index kept_until on ledger.kept (until);
`

/** The table of what is kept for a time. */
export const kept: Migration = {
  up: async (db) => {
    await sql.raw(TABLE).execute(db)
  },
}
