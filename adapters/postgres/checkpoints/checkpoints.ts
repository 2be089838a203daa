import type { Pool } from "pg"
import { isConnectionFault } from "../port.ts"
import { batchCalls } from "../../machine/promises.ts"
import type { AuditedCheckpoints, Checkpoint, Checkpoints } from "./port.ts"

/** Loads of concurrent requests share a query. */
const MAX_BATCH = 100

interface Row {
  readonly stream: string
  readonly revision: string
  readonly hash: string
  readonly format: number
  readonly state: string
}

const FIND = `
  select stream, revision, hash, format, state from ledger.checkpoints where stream = any($1::text[])`

/** The rows of streams; null for a stream without a row, and for all if the database is unavailable. */
async function findCheckpoints(
  pool: Pool,
  streams: readonly string[],
): Promise<readonly (Row | null)[]> {
  try {
    const { rows } = await pool.query<Row>({
      name: "find-checkpoints",
      text: FIND,
      values: [streams],
    })
    const found = new Map(rows.map((row) => [row.stream, row]))
    return streams.map((stream) => found.get(stream) ?? null)
  } catch (error) {
    // Without a checkpoint, loading only takes longer.
    if (isConnectionFault(error)) return streams.map(() => null)
    throw error
  }
}

const SAVE = `
  insert into ledger.checkpoints (stream, revision, hash, format, state)
  select * from unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::text[])
  on conflict (stream) do update
  set revision = excluded.revision, hash = excluded.hash,
      format = excluded.format, state = excluded.state
  where ledger.checkpoints.revision <= excluded.revision
     or ledger.checkpoints.format <> excluded.format`

interface StreamCheckpoint extends Checkpoint {
  readonly stream: string
}

async function saveCheckpoints(pool: Pool, all: readonly StreamCheckpoint[]): Promise<void> {
  const values = [
    all.map(({ stream }) => stream),
    all.map(({ revision }) => revision),
    all.map(({ hash }) => hash),
    all.map(({ format }) => format),
    all.map(({ state }) => JSON.stringify(state)),
  ]
  await pool.query({ name: "save-checkpoints", text: SAVE, values })
}

/** Parses a saved state; undefined if it is not JSON. The audit reports it; readers fold the events instead. */
function parseState(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Opens checkpoints in the table `ledger.checkpoints`. Saves go through `writeBehindPool`. */
export function openPostgresCheckpoints(pool: Pool, writeBehindPool = pool): AuditedCheckpoints {
  const findOne = batchCalls<string, Row | null>(MAX_BATCH, (streams) =>
    findCheckpoints(pool, streams),
  )
  const saveOne = batchCalls<StreamCheckpoint, void>(MAX_BATCH, async (all) => {
    // A batch may contain a stream twice; its last checkpoint wins.
    const last = new Map(all.map((one) => [one.stream, one]))
    await saveCheckpoints(writeBehindPool, [...last.values()])
    return all.map(() => undefined)
  })
  return {
    load: async (stream) => {
      const row = await findOne(stream)
      if (row === null) return null
      const state = parseState(row.state)
      if (state === undefined) return null
      return { revision: Number(row.revision), hash: row.hash, format: row.format, state }
    },
    loadStored: async (stream) => {
      const row = await findOne(stream)
      if (row === null) return null
      const { hash, format, state: text } = row
      return { revision: Number(row.revision), hash, format, text }
    },
    save: (stream, checkpoint) => saveOne({ stream, ...checkpoint }),
  }
}

/** Opens checkpoints in the memory of this process. They are stored as text, so that no live state is shared. */
export function openMemoryCheckpoints(): Checkpoints {
  const saved = new Map<string, string>()
  return {
    load: async (stream) => {
      const text = saved.get(stream)
      return text === undefined ? null : (JSON.parse(text) as Checkpoint)
    },
    save: async (stream, checkpoint) => {
      const previous = saved.get(stream)
      const { revision, format } =
        previous === undefined ? checkpoint : (JSON.parse(previous) as Checkpoint)
      if (revision > checkpoint.revision && format === checkpoint.format) return
      saved.set(stream, JSON.stringify(checkpoint))
    },
  }
}
