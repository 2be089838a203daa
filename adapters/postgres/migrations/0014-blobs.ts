import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * Sealed bytes by chunks, to be backed up with the rest of the schema `ledger`. A blob whose mark is
 * not there is half-written: there may be several of one id, and they are there for nobody. Sealed bytes
 * cannot be compressed, so nobody tries.
 */
const TABLES = `
create table ledger.blobs (
  edition uuid primary key,
  company_id text not null,
  subject text not null,
  blob_id text not null,
  length bigint,
  mark bytea,
  begun_at timestamptz not null default now(),
  check ((length is null) = (mark is null))
);
create unique index blobs_by_id on ledger.blobs (company_id, blob_id) where mark is not null;
create index blobs_half_written on ledger.blobs (begun_at) where mark is null;

create table ledger.blob_chunks (
  edition uuid not null references ledger.blobs on delete cascade,
  index integer not null,
  sealed bytea not null,
  primary key (edition, index)
);
alter table ledger.blob_chunks alter column sealed set storage external;
`

/** The tables of blobs. */
export const blobs: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
