import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * The built-in mailer's memory, to be backed up with the rest of the schema `ledger`. Subjects, bodies
 * and addresses are sealed.
 */
const TABLES = `
create table ledger.mails (
  mail_id text primary key,
  place bigint generated always as identity,
  company_id text not null,
  subject text not null,
  body text not null,
  taken_at timestamptz not null
);
create index mails_by_place on ledger.mails (place);

create table ledger.mail_recipients (
  mail_id text not null references ledger.mails on delete cascade,
  person_id text not null,
  place bigint generated always as identity,
  address text not null,
  bounced boolean not null,
  primary key (mail_id, person_id)
);
`

/** The tables of the built-in mailer. */
export const mails: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
