/** The read models of a database that tests and benchmarks begin with anew. */
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../projections/kernel/table.ts"
import type { Pool } from "pg"
import type { Leases } from "../../adapters/postgres/leases/port.ts"

/** Queries of every table of the database, also of those that are no read model's. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const anyTable = (db: Kysely<ReadModelTables>): Kysely<any> => db

/** Everybody who asks has all leases at once. */
export const ALL_LEASES: Leases = {
  request: async (names, onChange) => {
    for (const name of names) onChange(name, true)
    return { release: async () => undefined }
  },
}

/** Takes all read models away. */
export async function dropReadModels(pool: Pool): Promise<void> {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
}
