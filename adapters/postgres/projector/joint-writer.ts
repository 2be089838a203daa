/**
 * Writes batches of several read models in one transaction. Batches that start in the same turn of
 * the event loop share its statements, which cost more than most of their rows.
 *
 * A read model is left out if its stored position is not the expected one or is locked. If anything
 * fails, nothing is written: each batch is then written alone, and gets its own error.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { Pool, PoolClient } from "pg"
import type {
  Position,
  SeenEvent,
  EventStore,
  ReadFirstEvent,
  StoredEvent,
} from "../../eventstore/port.ts"
import { comparePositions, mayContainEvent } from "../../eventstore/port.ts"
import { LIVE_SCHEMA, inTransaction, formatSeenEvent, readStoredProjections } from "./tables.ts"

/** Skips locked positions, so that one does not delay the others. */
const MOVE_ALL = `
  with batch as (
    select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::text[])
      as batch (name, version, commit_from, prepare_from, commit_to, prepare_to, last)
  ), held as (
    select name from ledger.projections p join batch using (name)
    where p.version = batch.version
      and p.commit_position = commit_from and p.prepare_position = prepare_from
    order by name for update of p skip locked
  )
  update ledger.projections p
  set commit_position = commit_to, prepare_position = prepare_to, fault = null, last_event = last::jsonb
  from batch join held using (name) where p.name = batch.name
  returning p.name`

export interface ReadModelBatch {
  readonly name: string
  readonly version: number
  readonly storedPosition: Position
  readonly lastFact: SeenEvent
  readonly apply: (client: PoolClient) => Promise<void>
}

/** Writes a batch together with others; false if it was not written. */
export type JointWriter = (part: ReadModelBatch) => Promise<boolean>

interface QueuedBatch {
  readonly batch: ReadModelBatch
  readonly resolve: (isWritten: boolean) => void
}

/** Opens a joint writer over a pool. */
export function openJointWriter(pool: Pool): JointWriter {
  let waiting: QueuedBatch[] = []
  const run = async (): Promise<void> => {
    await nextTurn()
    const all = waiting
    waiting = []
    const written = all.length > 1 ? await writeAll(pool, all) : new Set<string>()
    for (const { batch, resolve } of all) resolve(written.has(batch.name))
  }
  return (batch) =>
    new Promise((resolve) => {
      waiting.push({ batch, resolve })
      if (waiting.length === 1) void run()
    })
}

/** Returns the names of the read models that were written. */
async function writeAll(pool: Pool, all: readonly QueuedBatch[]): Promise<ReadonlySet<string>> {
  const parts = all.map(({ batch }) => batch)
  const work = async (client: PoolClient): Promise<ReadonlySet<string>> => {
    const { rows } = await client.query<{ name: string }>({
      name: "projections-move",
      text: MOVE_ALL,
      values: [
        parts.map(({ name }) => name),
        parts.map(({ version }) => version),
        parts.map(({ storedPosition }) => storedPosition.commit),
        parts.map(({ storedPosition }) => storedPosition.prepare),
        parts.map(({ lastFact }) => lastFact.position.commit),
        parts.map(({ lastFact }) => lastFact.position.prepare),
        parts.map(({ lastFact }) => formatSeenEvent(lastFact)),
      ],
    })
    const moved = new Set(rows.map(({ name }) => name))
    for (const part of parts) if (moved.has(part.name)) await part.apply(client)
    return moved
  }
  try {
    return await inTransaction(pool, work, LIVE_SCHEMA)
  } catch {
    // Writing each batch alone shows which one fails.
    return new Set()
  }
}

/**
 * A read model has events that the store lacks, so its rows show facts that do not exist here. The
 * message says what to do.
 */
export class ReadModelAhead extends Error {
  override readonly name = "ReadModelAhead"
}

/**
 * Checks that the store has the events that the read models were built from; writes nothing. If
 * other writers appended to an older copy, its end proves nothing, so the last event of each read
 * model must exist at its position.
 *
 * @throws ReadModelAhead, Unavailable, AccessDenied
 */
export async function checkReadModels(
  pool: Pick<Pool, "query">,
  store: Pick<EventStore, "head" | "read">,
): Promise<void> {
  const rows = await readStoredProjections(pool)
  const head = await store.head()
  const read: ReadFirstEvent = (stream, from) => readFirstEvent(store, stream, from)
  const found = new Map<string, boolean>()
  for (const { name, position, lastEvent } of rows) {
    requireNotAhead(name, position, head)
    if (lastEvent === null) continue
    // Most read models have the same last event.
    const mayExist = found.get(lastEvent.id) ?? (await mayContainEvent(read, lastEvent))
    found.set(lastEvent.id, mayExist)
    if (!mayExist) throw readModelAheadError(name)
  }
}

/** Rejects a read model whose position is after the store's head. @throws ReadModelAhead */
export function requireNotAhead(name: string, position: Position, head: Position): void {
  if (comparePositions(position, head) > 0) throw readModelAheadError(name)
}

function readModelAheadError(name: string): ReadModelAhead {
  return new ReadModelAhead(
    `The read model ${name} contains events that this event store does not have: the store was ` +
      "restored from an older backup, or is another one. Restore both from one backup, or drop the " +
      'missing events: "delete from ledger.projections; delete from ledger.checkpoints" in the ' +
      "database makes the next start rebuild all read models.",
  )
}

async function readFirstEvent(
  store: Pick<EventStore, "read">,
  stream: string,
  from: number,
): Promise<StoredEvent | null> {
  for await (const [first] of store.read(stream, { from, limit: 1 })) if (first) return first
  return null
}
