/** The table of the keys by which sending domains sign: no fact and no fold of any, so it is in backups. */
import { sql } from "kysely"
import type { Slice } from "../frame/slice.ts"

/** How it is made. */
export const dkimMigrations: NonNullable<Slice["migrations"]> = {
  "email-0001-dkim-keys": {
    up: async (db) => {
      await sql`
        create table ledger.dkim_keys (
          company_id text not null,
          sending_domain_id text not null,
          selector text not null,
          public_key text not null,
          private_key bytea not null,
          primary key (company_id, sending_domain_id)
        )`.execute(db)
    },
  },
}

/** What becomes of its rows. */
export const dkimTables: NonNullable<Slice["tables"]> = [
  {
    table: "dkim_keys",
    backup: { part: "after", key: "company_id, sending_domain_id" },
    erased: true,
  },
]
