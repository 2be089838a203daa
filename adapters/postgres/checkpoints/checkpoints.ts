import type { Pool } from "pg"
import { isConnectionFault } from "../port.ts"
import { batchCalls } from "../../machine/promises.ts"
import type { AuditedCheckpoints, Checkpoint, Checkpoints } from "./port.ts"

/** Many streams are loaded at once where many recipients are texted. */
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

/** The rows of streams; null where there is none, or where the database cannot be asked just now. */
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
    // A cache that cannot be asked costs its reader time, and nothing else.
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

/** Keeps checkpoints, no two of one stream. Those of a process that stops are thousands. */
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

/** What was saved; undefined where somebody broke it: the audit names it, its readers fold instead. */
function parseState(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Checkpoints in the table `ledger.checkpoints`: callers wait for loads, nobody for what is kept `behind`. */
export function openPostgresCheckpoints(pool: Pool, behind = pool): AuditedCheckpoints {
  const findOne = batchCalls<string, Row | null>(MAX_BATCH, (streams) =>
    findCheckpoints(pool, streams),
  )
  const saveOne = batchCalls<StreamCheckpoint, void>(MAX_BATCH, async (all) => {
    // A stream may be there twice: its last one is what is kept.
    const last = new Map(all.map((one) => [one.stream, one]))
    await saveCheckpoints(behind, [...last.values()])
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

/** Checkpoints in this process's memory, as text, so that nothing is shared with a live state. */
export function openMemoryCheckpoints(): Checkpoints {
  const kept = new Map<string, string>()
  return {
    load: async (stream) => {
      const text = kept.get(stream)
      return text === undefined ? null : (JSON.parse(text) as Checkpoint)
    },
    save: async (stream, checkpoint) => {
      const former = kept.get(stream)
      const { revision, format } =
        former === undefined ? checkpoint : (JSON.parse(former) as Checkpoint)
      if (revision > checkpoint.revision && format === checkpoint.format) return
      kept.set(stream, JSON.stringify(checkpoint))
    },
  }
}
