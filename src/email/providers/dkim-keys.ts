import type { DkimKeys } from "../../../adapters/postgres/dkim-keys/port.ts"
import { openPostgresDkimKeys } from "../../../adapters/postgres/dkim-keys/dkim-keys.ts"
import type { Provider } from "../../frame/provider.ts"
import { sql } from "kysely"
import type { Slice } from "../../frame/slice.ts"

/** Creates the table of the keys. No read model can rebuild it, so backups include it. */
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

/** How backups and erasure treat the table. */
export const dkimTables: NonNullable<Slice["tables"]> = [
  {
    table: "dkim_keys",
    backup: { phase: "after", orderBy: "company_id, sending_domain_id" },
    erased: true,
  },
]

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly dkimKeys: DkimKeys
  }
}

/** Provides the keys with which sending domains sign. */
export const dkimKeysProvider: Provider = {
  from: import.meta.url,
  name: "DKIM keys",
  isLocal: true,
  open: async ({ pool, sealing }) => ({ dkimKeys: openPostgresDkimKeys({ pool, sealing }) }),
}
