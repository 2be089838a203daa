import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/** What was done, to be backed up with the rest of the schema `ledger`. */
const TABLE = `
create table ledger.journal (
  place bigint primary key generated always as identity,
  company_id text not null,
  slice text not null,
  kind text not null,
  subject text not null,
  at timestamptz not null,
  content jsonb not null
);
create index journal_of_subject on ledger.journal (company_id, slice, kind, subject, at, place);
`

/** The table of what was done. */
export const journal: Migration = {
  up: async (db) => {
    await sql.raw(TABLE).execute(db)
  },
}
