/** The first migration: it creates every table of the program except the read models. */
import type { Migration } from "kysely/migration"
import { sql } from "kysely"
import { eventStoreSchemaSql } from "../eventstore/postgres/schema.ts"
import { API_ROLE } from "./database.ts"

/**
 * The role of API reads, and the schemas: `ledger` holds data that is not derived from facts, and caches; `read`
 * holds the read models. Roles belong to all databases of a server, so this one may exist.
 */
const ROLE_AND_SCHEMAS = `
do $$ begin
  create role ${API_ROLE} nologin;
exception when duplicate_object or unique_violation then null;
end $$;
grant ${API_ROLE} to current_user;
create schema if not exists ledger;
create schema if not exists read;
grant usage on schema read to ${API_ROLE};
`

/**
 * The API's role must create nothing, not even temporary tables. PUBLIC may create those, so that is revoked, and
 * granted to the program's user. Only a database's owner can revoke it; otherwise PUBLIC keeps the right.
 */
const NO_TEMPORARY_TABLES = `
do $$ begin
  if (select pg_has_role(current_user, datdba, 'usage') from pg_database
      where datname = current_database()) then
    execute format('grant temporary on database %I to current_user', current_database());
    execute format('revoke temporary on database %I from public, ${API_ROLE}', current_database());
  end if;
end $$;
`

/**
 * The installation and its keys. A row in `processes` is a running process: `clock_at` is the time
 * up to which it follows the test clock (null: another clock), `machine` its host. A destroyed
 * company key stays as an empty row, so that no new one is created.
 */
const INSTALLATION = `
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

create table ledger.processes (
  process_id text primary key,
  lock_key bigint not null unique,
  started_at timestamptz not null default now(),
  clock_at timestamptz,
  machine text not null default ''
);
create sequence ledger.process_lock_keys as integer;

create table ledger.test_clock (
  only_one boolean primary key default true check (only_one),
  now_at timestamptz not null
);
`

/** Notifies all processes which company's keys were erased; an empty text means all. */
const ERASED_KEYS = `
create function ledger.notify_erased_keys() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    perform pg_notify('ledger_keys_erased', '');
  else
    perform pg_notify('ledger_keys_erased', old.company_id);
  end if;
  return null;
end $$;

create trigger company_keys_erased after delete on ledger.company_keys
  for each row execute function ledger.notify_erased_keys();
create trigger company_keys_destroyed after update on ledger.company_keys
  for each row execute function ledger.notify_erased_keys();
create trigger subject_keys_erased after delete on ledger.subject_keys
  for each row execute function ledger.notify_erased_keys();
create trigger all_company_keys_erased after truncate on ledger.company_keys
  for each statement execute function ledger.notify_erased_keys();
create trigger all_subject_keys_erased after truncate on ledger.subject_keys
  for each statement execute function ledger.notify_erased_keys();
`

/**
 * `event_store` identifies the store that read models and checkpoints were built from, by its first
 * event; `generation` counts how often the events were migrated or restored, because that changes
 * their positions. `last_event` of a projection is the last event it handled: a copy of the store
 * to which other writers appended has another event at that position. `corrupt_streams` are held
 * back from their revision on, by every process, also after restarts and rebuilds.
 */
const EVENTS_AND_FOLDS = `
create table ledger.event_store (
  only_one boolean primary key default true check (only_one),
  kind text not null check (kind in ('postgres', 'eventstoredb')),
  first_event uuid not null,
  first_commit bigint not null,
  first_prepare bigint not null,
  generation integer not null default 0
);

create table ledger.unfinished_restore (
  only_one boolean primary key default true check (only_one),
  backup text not null
);

create table ledger.checkpoints (
  stream text primary key,
  revision bigint not null,
  hash text not null,
  format integer not null,
  state text not null
);

create table ledger.projections (
  name text primary key,
  version integer not null,
  commit_position bigint not null,
  prepare_position bigint not null,
  fault text,
  last_event jsonb
);

create table ledger.corrupt_streams (
  stream text primary key,
  revision bigint,
  reason text not null,
  found_at timestamptz not null default now()
);
`

/**
 * Signed tree heads, and the key that signs them. Auditors have copies, so they must not be
 * rebuilt. `trees` and `tree_position` are caches: how far each tree was read, and its right edge.
 */
const TREES = `
create table ledger.signing_key (
  only_one boolean primary key default true check (only_one),
  public_key text not null,
  sealed bytea not null
);

create table ledger.tree_heads (
  tree text not null,
  size bigint not null,
  root text not null,
  position text not null,
  at text not null,
  public_key text not null,
  signature text not null,
  signed_on date not null,
  primary key (tree, size)
);

create table ledger.trees (
  tree text primary key,
  size bigint not null,
  edge text not null,
  commit numeric not null,
  prepare numeric not null,
  at text not null
);

create table ledger.tree_position (
  only_one boolean primary key default true check (only_one),
  generation integer not null,
  commit numeric not null,
  prepare numeric not null
);
`

/**
 * Requests by idempotency key, and jobs. Both leave room in each page for new versions of a row, because rows
 * change within moments and updates within a page change no index. Permanent requests are stored forever, because
 * their effects must never start again. A dispatched job is reconciled after a crash, never just repeated.
 */
const REQUESTS_AND_JOBS = `
create table ledger.idempotent_requests (
  company_id text not null,
  key_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  state text not null check (state in ('running', 'done', 'free')),
  process_id text not null,
  attempt integer not null,
  started text not null,
  answer text,
  claimed_at timestamptz not null,
  is_permanent boolean not null default false,
  primary key (key_id, idempotency_key)
) with (fillfactor = 40);
create index idempotent_requests_by_age on ledger.idempotent_requests (claimed_at);

create table ledger.jobs (
  job_id bigint generated always as identity primary key,
  kind text not null,
  name text not null,
  subject text not null,
  company_id text,
  payload text not null,
  due_at timestamptz not null,
  attempts integer not null default 0,
  process_id text,
  leased_until timestamptz,
  retry_at timestamptz,
  stuck text,
  dispatched_at timestamptz,
  trace text,
  unique (kind, name)
) with (fillfactor = 30);
create index jobs_by_due on ledger.jobs (due_at, job_id) where stuck is null;
create index jobs_by_subject on ledger.jobs (subject, job_id) where stuck is null;
create index jobs_stuck on ledger.jobs (due_at) where stuck is not null;
`

/** The simulators: their settings and records. Permanent records are about money only. */
const SIMULATORS = `
create table ledger.simulators (
  name text primary key,
  outcome text not null,
  times integer
);

create table ledger.simulated_records (
  provider text not null,
  kind text not null,
  name text not null,
  record_id bigint generated always as identity,
  company_id text not null,
  content jsonb not null,
  is_permanent boolean not null default false,
  at timestamptz not null,
  primary key (provider, kind, name)
);
`

/**
 * Records of slices: expiring records, activity logs, and the online status, which need not survive
 * a crash because clients report it again within minutes.
 */
const RECORDS = `
create table ledger.expiring_records (
  company_id text not null,
  slice text not null,
  kind text not null,
  name text not null,
  content jsonb not null,
  expires_at timestamptz not null,
  primary key (company_id, slice, kind, name)
);
create index expiring_records_by_expiry on ledger.expiring_records (expires_at);

create table ledger.activity_log (
  entry_id bigint primary key generated always as identity,
  company_id text not null,
  slice text not null,
  kind text not null,
  subject text not null,
  at timestamptz not null,
  content jsonb not null
);
create index activity_log_by_subject
  on ledger.activity_log (company_id, slice, kind, subject, at, entry_id);

create unlogged table ledger.online_status (
  company_id text not null,
  person_id text not null,
  client text not null,
  seen_at timestamptz not null,
  primary key (company_id, person_id, client)
);
`

/**
 * Sealed bytes in chunks. A blob without a digest is half-written: several may share an id, and
 * readers ignore them. Sealed bytes do not compress, so PostgreSQL does not try.
 */
const BLOBS = `
create table ledger.blobs (
  version_id uuid primary key,
  company_id text not null,
  subject text not null,
  blob_id text not null,
  length bigint,
  digest bytea,
  started_at timestamptz not null default now(),
  check ((length is null) = (digest is null))
);
create unique index blobs_by_id on ledger.blobs (company_id, blob_id) where digest is not null;
create index blobs_half_written on ledger.blobs (started_at) where digest is null;

create table ledger.blob_chunks (
  version_id uuid not null references ledger.blobs on delete cascade,
  index integer not null,
  sealed bytea not null,
  primary key (version_id, index)
);
alter table ledger.blob_chunks alter column sealed set storage external;
`

/** Creates the program's tables in an empty database. */
export const firstMigration: Migration = {
  up: async (db) => {
    for (const part of [
      ROLE_AND_SCHEMAS,
      NO_TEMPORARY_TABLES,
      eventStoreSchemaSql,
      INSTALLATION,
      ERASED_KEYS,
      EVENTS_AND_FOLDS,
      TREES,
      REQUESTS_AND_JOBS,
      SIMULATORS,
      RECORDS,
      BLOBS,
    ]) {
      await sql.raw(part).execute(db)
    }
  },
}
