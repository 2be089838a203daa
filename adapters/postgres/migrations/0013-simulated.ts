import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * One table for what all simulators remember, to be backed up with the rest of the schema `ledger`.
 * Where `lasting` is set a row holds money alone, and stays when its company is erased.
 */
const TABLE = `
create table ledger.simulated (
  provider text not null,
  kind text not null,
  name text not null,
  place bigint generated always as identity,
  company_id text not null,
  content jsonb not null,
  lasting boolean not null default false,
  at timestamptz not null,
  primary key (provider, kind, name)
)`

/** A table that there was before for the memory of one simulator. */
interface FormerTable {
  readonly name: string
  /** Its columns, as they were. */
  readonly columns: string
  /** The statement that takes its rows over, out of where they are found. */
  readonly takeOver: (from: string) => string
}

const INTO = "insert into ledger.simulated (provider, kind, name, company_id, lasting, at, content)"

/** What those tables were, in the order in which their rows are taken over. */
export const FORMER_TABLES: readonly FormerTable[] = [
  {
    name: "carrier_texts",
    columns: "text_id text, company_id text, status text, error_code text, taken_at timestamptz",
    takeOver: (from) => `
      ${INTO} select 'carrier', 'text', text_id, company_id, false, taken_at,
        jsonb_build_object('status', status, 'errorCode', error_code)
      from ${from} order by taken_at, text_id on conflict do nothing`,
  },
  {
    name: "test_cards",
    columns: "company_id text, outcome text",
    takeOver: (from) => `
      ${INTO} select 'cards', 'card', company_id, company_id, false, now(),
        jsonb_build_object('outcome', outcome)
      from ${from} order by company_id on conflict do nothing`,
  },
  {
    name: "card_payments",
    columns:
      "name text, company_id text, amount_micros bigint, source text, status text, taken_at timestamptz",
    takeOver: (from) => `
      ${INTO} select 'cards', 'payment', name, company_id, true, taken_at,
        jsonb_build_object('amountMicros', amount_micros, 'source', source, 'status', status)
      from ${from} order by taken_at, name on conflict do nothing`,
  },
  {
    name: "mails",
    columns:
      "mail_id text, place bigint, company_id text, subject text, body text, taken_at timestamptz",
    takeOver: (from) => `
      ${INTO} select 'mail', 'mail', mail_id, company_id, false, taken_at,
        jsonb_build_object('subject', subject, 'body', body, 'recipients', jsonb_build_array())
      from ${from} order by place on conflict do nothing`,
  },
  {
    name: "mail_recipients",
    columns: "mail_id text, person_id text, place bigint, address text, bounced boolean",
    // A backup gives a mail's recipients in order, and maybe not all of them at once.
    takeOver: (from) => `
      update ledger.simulated set content = jsonb_set(
        content, '{recipients}', content -> 'recipients' || given.recipients)
      from (
        select mail_id, jsonb_agg(jsonb_build_object(
          'personId', person_id, 'address', address, 'bounced', bounced) order by place) as recipients
        from ${from} group by mail_id) given
      where provider = 'mail' and kind = 'mail' and name = given.mail_id`,
  },
]

/** The table of all simulators in the place of one table or two for each. */
export const simulated: Migration = {
  up: async (db) => {
    await sql.raw(TABLE).execute(db)
    for (const { name, takeOver } of FORMER_TABLES) {
      await sql.raw(takeOver(`ledger.${name} former`)).execute(db)
    }
    for (const { name } of FORMER_TABLES.toReversed()) {
      await sql.raw(`drop table ledger.${name}`).execute(db)
    }
  },
}
