import type { Pool } from "pg"
import { isConnectionFault } from "../postgres/port.ts"
import type { Checkpoint, Checkpoints } from "./port.ts"

interface Row {
  readonly revision: string
  readonly hash: string
  readonly shape: number
  readonly saved: string
}

/** The row of a stream; null where there is none, or where the database cannot be asked just now. */
async function find(pool: Pool, stream: string): Promise<Row | null> {
  try {
    const { rows } = await pool.query<Row>(
      "select revision, hash, shape, saved from ledger.checkpoints where stream = $1",
      [stream],
    )
    return rows[0] ?? null
  } catch (error) {
    // A cache that cannot be asked costs its reader time, and nothing else.
    if (isConnectionFault(error)) return null
    throw error
  }
}

/** Checkpoints in the table `ledger.checkpoints`: callers wait for loads, nobody for what is kept `behind`. */
export function openPostgresCheckpoints(pool: Pool, behind = pool): Checkpoints {
  return {
    load: async (stream) => {
      const row = await find(pool, stream)
      if (row === null) return null
      const saved: unknown = JSON.parse(row.saved)
      return { revision: Number(row.revision), hash: row.hash, shape: row.shape, saved }
    },
    save: async (stream: string, checkpoint: Checkpoint) => {
      await behind.query(
        `insert into ledger.checkpoints (stream, revision, hash, shape, saved)
         values ($1, $2, $3, $4, $5)
         on conflict (stream) do update
         set revision = excluded.revision, hash = excluded.hash,
             shape = excluded.shape, saved = excluded.saved
         where ledger.checkpoints.revision <= excluded.revision
            or ledger.checkpoints.shape <> excluded.shape`,
        [
          stream,
          checkpoint.revision,
          checkpoint.hash,
          checkpoint.shape,
          JSON.stringify(checkpoint.saved),
        ],
      )
    },
  }
}
