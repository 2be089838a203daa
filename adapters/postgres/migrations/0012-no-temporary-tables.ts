import type { Migration } from "kysely/migration"
import { sql } from "kysely"
import { API_ROLE } from "../roles.ts"

/**
 * The API's role can make nothing at all, temporary tables included. Everybody may make those by
 * PUBLIC's leave, so that is taken back, and given to whom this program logs in as. Only a database's
 * owner can do it: elsewhere PUBLIC stays as it is.
 */
const REVOKE = `
do $$ begin
  if (select pg_has_role(current_user, datdba, 'usage') from pg_database
      where datname = current_database()) then
    execute format('grant temporary on database %I to current_user', current_database());
    execute format('revoke temporary on database %I from public, ${API_ROLE}', current_database());
  end if;
end $$`

/** No temporary tables for the API's role. */
export const noTemporaryTables: Migration = {
  up: async (db) => {
    await sql.raw(REVOKE).execute(db)
  },
}
