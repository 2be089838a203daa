/** The read models of a database that tests and benchmarks begin with anew. */
import type { Pool } from "pg"
import type { Leases } from "../../adapters/postgres/leases/port.ts"

/** Everybody who asks has all leases at once. */
export const EVERYBODY: Leases = {
  ask: async (names, onChange) => {
    for (const name of names) onChange(name, true)
    return { giveUp: async () => undefined }
  },
}

/** Takes all read models away. */
export async function forgetReadModels(pool: Pool): Promise<void> {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
}
