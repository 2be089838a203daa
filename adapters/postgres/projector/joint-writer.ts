/**
 * Batches of several read models in one transaction: those that are written in the same turn of the event
 * loop share its statements, which cost both sides more than most rows in them.
 *
 * A read model whose stored position is another than was thought, or is held by somebody, takes no part.
 * Where anything goes wrong, nothing is written: then each writes alone, and the fault is its own.
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

/** Whoever holds one of the positions holds up none of the others. */
const MOVE_ALL = `
  with given as (
    select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::text[])
      as given (name, version, commit_from, prepare_from, commit_to, prepare_to, last)
  ), held as (
    select name from ledger.projections p join given using (name)
    where p.version = given.version
      and p.commit_position = commit_from and p.prepare_position = prepare_from
    order by name for update of p skip locked
  )
  update ledger.projections p
  set commit_position = commit_to, prepare_position = prepare_to, fault = null, last_event = last::jsonb
  from given join held using (name) where p.name = given.name
  returning p.name`

/** A batch of a read model. */
export interface ReadModelBatch {
  readonly name: string
  readonly version: number
  /** The position that is stored, as far as its writer knows. */
  readonly storedPosition: Position
  /** The batch's last fact. */
  readonly lastFact: SeenEvent
  /** Writes its rows. */
  readonly apply: (client: PoolClient) => Promise<void>
}

/** Writes a batch with others; false where it is not written, for whatever reason. */
export type JointWriter = (part: ReadModelBatch) => Promise<boolean>

interface QueuedBatch {
  readonly batch: ReadModelBatch
  readonly resolve: (isWritten: boolean) => void
}

/** Opens it over a pool. */
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

/** The names of those that were written. */
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
    // Whose fault it is shows where each is written alone, onto the position that it was to be written onto.
    return new Set()
  }
}

/**
 * A read model has seen what the store does not hold: what it shows never happened here. The message
 * says what to do.
 */
export class ReadModelAhead extends Error {
  override readonly name = "ReadModelAhead"
}

/**
 * Sees that the store holds what the read models were made from, and writes nothing. Where others have
 * appended to an older copy its end tells nothing: so the last event that each read model has seen must
 * be there, at its place.
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
    // Most of them have seen the same one last.
    const isThere = found.get(lastEvent.id) ?? (await mayContainEvent(read, lastEvent))
    found.set(lastEvent.id, isThere)
    if (!isThere) throw readModelAheadError(name)
  }
}

/** Refuses a read model that has seen more than the store holds. @throws ReadModelAhead */
export function requireNotAhead(name: string, position: Position, head: Position): void {
  if (comparePositions(position, head) > 0) throw readModelAheadError(name)
}

function readModelAheadError(name: string): ReadModelAhead {
  return new ReadModelAhead(
    `The read model ${name} has seen events that this event store does not hold: the store was ` +
      "restored from an older backup, or is another one. Restore both from one backup, or give up " +
      'what is missing: "delete from ledger.projections; delete from ledger.checkpoints" in the ' +
      "database makes all that was made of events anew.",
  )
}

/** The first event that a stream shows from a revision on; null where it shows none. */
async function readFirstEvent(
  store: Pick<EventStore, "read">,
  stream: string,
  from: number,
): Promise<StoredEvent | null> {
  for await (const [first] of store.read(stream, { from, limit: 1 })) if (first) return first
  return null
}
