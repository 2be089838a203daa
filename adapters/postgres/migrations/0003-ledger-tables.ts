import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * What in PostgreSQL is no fold of events, or a cache beside them.
 *
 * Truth, to be backed up: installation, company_keys, subject_keys, claims, test_clock, stand_ins
 * and the built-in carrier's memory. Caches and hints: checkpoints, projections, work.
 */
const TABLES = `
create table ledger.installation (
  only_one boolean primary key default true check (only_one),
  installation_id text not null,
  master_key bytea,
  master_check text not null
);

create table ledger.company_keys (
  company_id text primary key,
  wrapped bytea not null
);

create table ledger.subject_keys (
  company_id text not null references ledger.company_keys on delete cascade,
  subject text not null,
  wrapped bytea not null,
  primary key (company_id, subject)
);

create table ledger.checkpoints (
  stream text primary key,
  revision bigint not null,
  hash text not null,
  shape integer not null,
  saved text not null
);

create table ledger.processes (
  process_id text primary key,
  lock_key bigint not null unique,
  started_at timestamptz not null default now()
);
create sequence ledger.process_lock_keys as integer;

create table ledger.claims (
  company_id text not null,
  key_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  state text not null check (state in ('running', 'done', 'free')),
  process_id text not null,
  attempt integer not null,
  begun text not null,
  answer text,
  claimed_at timestamptz not null,
  primary key (key_id, idempotency_key)
);
create index claims_by_age on ledger.claims (claimed_at);

create table ledger.projections (
  name text primary key,
  version integer not null,
  commit_position bigint not null,
  prepare_position bigint not null,
  fault text
);

create table ledger.work (
  work_id bigint generated always as identity primary key,
  kind text not null,
  name text not null,
  subject text not null,
  company_id text,
  payload text not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  process_id text,
  leased_until timestamptz,
  retry_at timestamptz,
  parked text,
  unique (kind, name)
);
create index work_by_due on ledger.work (due_at, work_id) where parked is null;
create index work_by_subject on ledger.work (subject, work_id) where parked is null;

create table ledger.test_clock (
  only_one boolean primary key default true check (only_one),
  now_at timestamptz not null
);

create table ledger.stand_ins (
  name text primary key,
  outcome text not null,
  times integer
);

create table ledger.carrier_texts (
  text_id text primary key,
  company_id text not null,
  status text not null,
  error_code text,
  taken_at timestamptz not null
);
`

/** The tables of the schema `ledger`. */
export const ledgerTables: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
