import type { Migration } from "kysely/migration"
import { sql } from "kysely"

/**
 * A company's key that was destroyed stays as an empty row, so that none is ever made for it again:
 * the processes are called out to for that as for a row that is gone.
 */
const CHANGES = `
create trigger company_keys_destroyed after update on ledger.company_keys
  for each row execute function ledger.call_out_erased_keys();
`

/** The call to all processes that a company's key was destroyed. */
export const erasedKeys: Migration = {
  up: async (db) => {
    await sql.raw(CHANGES).execute(db)
  },
}
