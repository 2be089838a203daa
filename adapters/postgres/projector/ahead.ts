import type { Pool } from "pg"

import type { EventStore, FirstFrom, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions, mayHold } from "../../eventstore/port.ts"
import { storedRows } from "./tables.ts"

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
  const rows = await storedRows(pool)
  const head = await store.head()
  const read: FirstFrom = (stream, from) => firstFrom(store, stream, from)
  const found = new Map<string, boolean>()
  for (const { name, position, lastEvent } of rows) {
    refuseAhead(name, position, head)
    if (lastEvent === null) continue
    // Most of them have seen the same one last.
    const isThere = found.get(lastEvent.id) ?? (await mayHold(read, lastEvent))
    found.set(lastEvent.id, isThere)
    if (!isThere) throw aheadBy(name)
  }
}

/** Refuses a read model that has seen more than the store holds. @throws ReadModelAhead */
export function refuseAhead(name: string, position: Position, head: Position): void {
  if (comparePositions(position, head) > 0) throw aheadBy(name)
}

function aheadBy(name: string): ReadModelAhead {
  return new ReadModelAhead(
    `The read model ${name} has seen events that this event store does not hold: the store was ` +
      "restored from an older backup, or is another one. Restore both from one backup, or give up " +
      'what is missing: "delete from ledger.projections; delete from ledger.checkpoints" in the ' +
      "database makes all that was made of events anew.",
  )
}

/** The first event that a stream shows from a revision on; null where it shows none. */
async function firstFrom(
  store: Pick<EventStore, "read">,
  stream: string,
  from: number,
): Promise<StoredEvent | null> {
  for await (const [first] of store.read(stream, { from, limit: 1 })) if (first) return first
  return null
}
