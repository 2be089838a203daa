/** The list of corrupt streams in PostgreSQL. */
import type { Pool } from "pg"
import type { CorruptStreamEntry, CorruptStreams } from "./port.ts"

/** Opens the list in the table `ledger.corrupt_streams`. Its methods throw the driver's errors. */
export function openPostgresCorruptStreams(pool: Pick<Pool, "query">): CorruptStreams {
  return {
    list: async () => {
      const { rows } = await pool.query<CorruptStreamEntry>(
        "select stream, revision, reason from ledger.corrupt_streams order by stream",
      )
      return rows
    },
    add: async ({ stream, revision, reason }) => {
      await pool.query(
        `insert into ledger.corrupt_streams (stream, revision, reason) values ($1, $2, $3)
         on conflict do nothing`,
        [stream, revision, reason],
      )
    },
    remove: async (stream) => {
      const { rowCount } = await pool.query(
        "delete from ledger.corrupt_streams where stream = $1",
        [stream],
      )
      return rowCount === 1
    },
  }
}
