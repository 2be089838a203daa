/** The first form of the database: every table of the program that is no read model, in one migration. */
import type { Migration } from "kysely/migration"
import { sql } from "kysely"
import { eventStoreSchemaSql } from "../eventstore/postgres/schema.ts"
import { API_ROLE } from "./database.ts"

/**
 * The role that API reads run as, and the schemas: `ledger` holds what no fold of events gives, and caches; `read`
 * holds the read models. The role belongs to all databases of a server, so it may exist.
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
 * The API's role can create nothing, not even temporary tables. PUBLIC may create those, so that is revoked and
 * granted to the user of this program. Only a database's owner can do it: elsewhere PUBLIC keeps it.
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
 * The installation and its keys. `processes` are those that run: `clock_at` is up to when each follows the test
 * clock (null: it follows another), `machine` its host. A company's key that was destroyed stays as an empty row,
 * so that none is ever made for it again.
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

/** Tells all processes which company's keys were erased; the empty text: all. */
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
 * Which event store the read models and checkpoints were made from, by its first event; `generation` counts how
 * often the events moved into another store or out of a backup: a position of before such a move is none of the
 * store that is there now. `last_event` of a projection is the last event that it saw: a copy of the store to
 * which others appended may reach as far and hold another event there. `corrupt_streams` are held back from their
 * revision on, by every process, restart and rebuild.
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
 * Signed heads of the trees over the events, and the key that signs them: auditors have some of these, so they are
 * truth. `trees` and `tree_position` are caches: how far each tree was read, and its right edge.
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
 * Requests by their idempotency keys, and jobs. Both leave room in each page for a row's next versions: a row
 * changes within moments, and no index changes where the versions stay in one page. A request that is permanent is
 * kept for ever, because what it started must never start again. A job that was dispatched is asked about after a
 * crash, never simply performed again.
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

/** The built-in simulators: their settings and what they remember. Permanent rows hold money alone. */
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
 * Records of slices: those that expire, logs of activity, and who is online, which does not outlive a crash: who is
 * online shows itself again within minutes.
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
 * Sealed bytes in chunks. A blob without a digest is half-written: there may be several of one id, and no reader
 * sees them. Sealed bytes do not compress, so PostgreSQL does not try.
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

/** Makes an empty database one of this program. */
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
