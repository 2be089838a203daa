/** The read models of a database that tests and benchmarks begin with anew. */
import type { Pool } from "pg"

/** Takes all read models away. */
export async function forgetReadModels(pool: Pool): Promise<void> {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
}
