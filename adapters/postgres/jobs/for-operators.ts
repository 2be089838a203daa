import type { Pool } from "pg"
import type { WorkQueue } from "./port.ts"
import type { Row } from "./rows.ts"
import { listed, taken } from "./rows.ts"

/** What an operator sees of the queue and does to it. */
export function openForOperators(
  pool: Pool,
): Pick<WorkQueue, "names" | "list" | "find" | "named" | "dropParked" | "retry"> {
  return {
    names: async (kind) => {
      const { rows } = await pool.query<{ name: string }>(
        "select name from ledger.jobs where kind = $1",
        [kind],
      )
      return rows.map((row) => row.name)
    },
    list: async (limit) => {
      const { rows } = await pool.query<Row>(
        "select * from ledger.jobs order by stuck is null, due_at, job_id limit $1",
        [limit],
      )
      return rows.map(listed)
    },
    find: async (workId) => {
      const { rows } = await pool.query<Row>("select * from ledger.jobs where job_id = $1", [
        workId,
      ])
      const [row] = rows
      return row === undefined ? null : { ...taken(row), ...listed(row) }
    },
    named: async (kind, name) => {
      const { rows } = await pool.query<Row>(
        "select * from ledger.jobs where kind = $1 and name = $2",
        [kind, name],
      )
      const [row] = rows
      return row === undefined ? null : { ...taken(row), ...listed(row) }
    },
    dropParked: async (workId) => {
      const { rowCount } = await pool.query(
        "delete from ledger.jobs where job_id = $1 and stuck is not null",
        [workId],
      )
      return rowCount === 1
    },
    retry: async (workId, now, isEarly) => {
      const { rowCount } = await pool.query(
        `update ledger.jobs
         set stuck = null, retry_at = null, attempts = 0,
             due_at = least(due_at, to_timestamp($2::float8 / 1000))
         where job_id = $1 and ($3 or due_at <= to_timestamp($2::float8 / 1000))`,
        [workId, now, isEarly],
      )
      return rowCount === 1
    },
  }
}
