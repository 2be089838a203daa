/** Access to a database's read models, for tests and benchmarks. */
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../projections/kernel/table.ts"
import type { Pool } from "pg"
import type { Leases } from "../../adapters/postgres/leases/port.ts"

/** A query builder for every table of the database, not only for read models. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const anyTable = (db: Kysely<ReadModelTables>): Kysely<any> => db

/** Grants every lease immediately. */
export const ALL_LEASES: Leases = {
  request: async (names, onChange) => {
    for (const name of names) onChange(name, true)
    return { release: async () => undefined }
  },
}

/** Drops all read models. */
export async function dropReadModels(pool: Pool): Promise<void> {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
}
