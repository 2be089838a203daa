import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * What a database remembers of the house around it: which event store its read models and checkpoints
 * were made from (by its first event and where that stands), and a restore that did not come to its
 * end. A database from before this has its events in PostgreSQL.
 */
const TABLES = `
create table ledger.event_store (
  only_one boolean primary key default true check (only_one),
  kind text not null check (kind in ('postgres', 'eventstoredb')),
  first_event uuid not null,
  first_commit bigint not null,
  first_prepare bigint not null
);
insert into ledger.event_store (kind, first_event, first_commit, first_prepare)
  select 'postgres', id, position, position from eventstore.events where position = 0;

create table ledger.unfinished_restore (
  only_one boolean primary key default true check (only_one),
  backup text not null
);
`

/** What a database remembers of its event store, and of a restore that was cut short. */
export const movingHouse: Migration = {
  up: async (db) => {
    await sql.raw(TABLES).execute(db)
  },
}
