import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * The built-in payment processor's memory, to be backed up with the rest of the schema `ledger`: what
 * it does with a company's card, and what it said of each payment. And claims that are kept for ever,
 * because what was begun with them must never be begun again.
 */
const CHANGES = `
create table ledger.test_cards (
  company_id text primary key,
  outcome text not null
);

create table ledger.card_payments (
  name text primary key,
  company_id text not null,
  amount_micros bigint not null,
  source text not null check (source in ('card', 'wallet')),
  status text not null,
  taken_at timestamptz not null default now()
);

alter table ledger.claims add column lasting boolean not null default false;
`

/** Tables of the built-in payment processor, and claims for ever. */
export const cards: Migration = {
  up: async (db) => {
    await sql.raw(CHANGES).execute(db)
  },
}
