import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * Who was seen where, and apps that ask to be connected. Neither outlives a crash: who is online shows
 * itself again within minutes, and an app that asks again gets another code.
 */
const TABLES = `
create unlogged table ledger.presence (
  company_id text not null,
  person_id text not null,
  place text not null,
  seen_at timestamptz not null,
  primary key (company_id, person_id, place)
);

create unlogged table ledger.connect_codes (
  code_tag text primary key,
  company_tag text,
  install_id text,
  version text not null,
  expires_at timestamptz not null,
  company_id text,
  person_id text
);
create index connect_codes_by_age on ledger.connect_codes (expires_at);
`

/** The tables of presence and of connect codes. */
export const presenceAndConnectCodes: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
