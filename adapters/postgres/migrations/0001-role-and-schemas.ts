import type { Migration } from "kysely/migration"
import { sql } from "kysely"
import { API_ROLE } from "../roles.ts"

/**
 * The role API reads run as, and the schemas: `ledger` holds what is not a fold (keys, claims, work,
 * caches), `read` the read models. The role is shared by all databases of a server, so it may exist.
 */
export const roleAndSchemas: Migration = {
  up: async (db) => {
    await sql`
      do $$ begin
        create role ${sql.raw(API_ROLE)} nologin;
      exception when duplicate_object or unique_violation then null;
      end $$`.execute(db)
    await sql`grant ${sql.raw(API_ROLE)} to current_user`.execute(db)
    await sql`create schema if not exists ledger`.execute(db)
    await sql`create schema if not exists read`.execute(db)
    await sql`grant usage on schema read to ${sql.raw(API_ROLE)}`.execute(db)
  },
}
