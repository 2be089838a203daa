import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * Signed heads of the trees over the events, and the key that signs them: an auditor was given some
 * of these, so they are truth. `trees` is a cache: how far each tree was read, and its right edge.
 */
const TABLES = `
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

create table ledger.trees_read (
  only_one boolean primary key default true check (only_one),
  generation integer not null,
  commit numeric not null,
  prepare numeric not null
);
`

/** Signed tree heads. */
export const treeHeads: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
