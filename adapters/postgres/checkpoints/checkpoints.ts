import type { Pool } from "pg"
import { isConnectionFault } from "../port.ts"
import { together } from "../../machine/promises.ts"
import type { AuditedCheckpoints, Checkpoint, Checkpoints } from "./port.ts"

/** Many streams are loaded at once where many recipients are texted. */
const MOST_AT_ONCE = 100

interface Row {
  readonly stream: string
  readonly revision: string
  readonly hash: string
  readonly shape: number
  readonly saved: string
}

const FIND = `
  select stream, revision, hash, format as shape, state as saved from ledger.checkpoints where stream = any($1::text[])`

/** The rows of streams; null where there is none, or where the database cannot be asked just now. */
async function find(pool: Pool, streams: readonly string[]): Promise<readonly (Row | null)[]> {
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

interface Saved extends Checkpoint {
  readonly stream: string
}

/** Keeps checkpoints, no two of one stream. Those of a process that stops are thousands. */
async function save(pool: Pool, all: readonly Saved[]): Promise<void> {
  const values = [
    all.map(({ stream }) => stream),
    all.map(({ revision }) => revision),
    all.map(({ hash }) => hash),
    all.map(({ shape }) => shape),
    all.map(({ saved }) => JSON.stringify(saved)),
  ]
  await pool.query({ name: "save-checkpoints", text: SAVE, values })
}

/** What was saved; undefined where somebody broke it: the audit names it, its readers fold instead. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Checkpoints in the table `ledger.checkpoints`: callers wait for loads, nobody for what is kept `behind`. */
export function openPostgresCheckpoints(pool: Pool, behind = pool): AuditedCheckpoints {
  const findOne = together<string, Row | null>(MOST_AT_ONCE, (streams) => find(pool, streams))
  const saveOne = together<Saved, void>(MOST_AT_ONCE, async (all) => {
    // A stream may be there twice: its last one is what is kept.
    const last = new Map(all.map((one) => [one.stream, one]))
    await save(behind, [...last.values()])
    return all.map(() => undefined)
  })
  return {
    load: async (stream) => {
      const row = await findOne(stream)
      if (row === null) return null
      const saved = parsed(row.saved)
      if (saved === undefined) return null
      return { revision: Number(row.revision), hash: row.hash, shape: row.shape, saved }
    },
    stored: async (stream) => {
      const row = await findOne(stream)
      if (row === null) return null
      const { hash, shape, saved: text } = row
      return { revision: Number(row.revision), hash, shape, text }
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
      const { revision, shape } =
        former === undefined ? checkpoint : (JSON.parse(former) as Checkpoint)
      if (revision > checkpoint.revision && shape === checkpoint.shape) return
      kept.set(stream, JSON.stringify(checkpoint))
    },
  }
}
