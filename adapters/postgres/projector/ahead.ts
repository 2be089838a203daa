import type { Pool } from "pg"

import type { EventStore, Position } from "../../eventstore/port.ts"
import { comparePositions } from "../../eventstore/port.ts"
import { storedRows } from "./tables.ts"

/**
 * A read model holds more than the store: what it shows never happened here. The message says what
 * to do.
 */
export class ReadModelAhead extends Error {
  override readonly name = "ReadModelAhead"
}

/**
 * Sees that the store holds what the read models were made from, and writes nothing.
 *
 * @throws ReadModelAhead, Unavailable, AccessDenied
 */
export async function checkReadModels(
  pool: Pick<Pool, "query">,
  store: Pick<EventStore, "head">,
): Promise<void> {
  const rows = await storedRows(pool)
  const head = await store.head()
  for (const { name, position } of rows) refuseAhead(name, position, head)
}

/** Refuses a read model that has seen more than the store holds. @throws ReadModelAhead */
export function refuseAhead(name: string, position: Position, head: Position): void {
  if (comparePositions(position, head) <= 0) return
  throw new ReadModelAhead(
    `The read model ${name} has seen events that this event store does not hold: the store was ` +
      "restored from an older backup, or is another one. Restore both from one backup, or give up " +
      'what is missing: "delete from ledger.projections; delete from ledger.checkpoints" in the ' +
      "database makes all that was made of events anew.",
  )
}
