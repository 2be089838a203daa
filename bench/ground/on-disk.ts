import type { Pool } from "pg"
import { honest } from "../benchmark.ts"

/** Once or twice a background process may have flushed in time by luck. */
const TRIES = 20

/**
 * Makes sure that what was acknowledged is on the disk, whatever the connection is told that stores
 * it: behind each append the log has to be flushed beyond where it stood before.
 *
 * @param append appends something and answers once it is acknowledged
 * @throws Dishonest where an append was acknowledged before the disk had it
 */
export async function checkOnDisk(
  pool: Pick<Pool, "query">,
  append: () => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < TRIES; i += 1) {
    const { rows } = await pool.query<{ lsn: string }>("select pg_current_wal_insert_lsn() as lsn")
    await append()
    const asked = "select pg_current_wal_flush_lsn() > $1::pg_lsn as is_flushed"
    const after = await pool.query<{ is_flushed: boolean }>(asked, [rows[0]?.lsn])
    const isFlushed = after.rows[0]?.is_flushed === true
    honest(isFlushed, "an append was acknowledged before the disk had it")
  }
}
