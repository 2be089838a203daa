/** Stores that can be damaged: each with a way to put other events in the place of a stream's. */
import type pg from "pg"

import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import type { LogRecord } from "../support/eventstoredb-server/log.ts"
import { collect } from "./event-store-fixture.ts"

/** What becomes of the events of a stream. */
export type Change = (events: readonly StoredEvent[]) => readonly StoredEvent[]

/** A store that can be damaged. */
export interface DamagingStore {
  readonly store: EventStore
  /**
   * Puts other events in the place of a stream's, as a store does that lost or mixed up some. Answers
   * how that is undone.
   */
  readonly rewrite: (stream: string, change: Change) => Promise<() => Promise<void>>
}

/** An empty one in memory. What is read of all streams stays as it was. */
export function damagingMemory(): DamagingStore {
  const store = openMemoryEventStore()
  return {
    store,
    rewrite: async (stream, change) => {
      const before = await collect(store.read(stream))
      store.rewrite(stream, change)
      return async () => store.rewrite(stream, () => before)
    },
  }
}

/** One on a database, through a connection that may do everything. */
export function damagingPostgres(
  store: EventStore,
  admin: Pick<pg.Client, "query">,
): DamagingStore {
  const put = async (stream: string, events: readonly StoredEvent[]): Promise<void> => {
    await admin.query("delete from eventstore.events where stream = $1", [stream])
    for (const { position, revision, id, type, data, metadata } of events) {
      const values = [position.commit, stream, revision, id, type, data, metadata]
      const insert = "insert into eventstore.events values ($1, $2, $3, $4, $5, $6, $7)"
      await admin.query(insert, values)
    }
  }
  return {
    store,
    rewrite: async (stream, change) => {
      const before = await collect(store.read(stream))
      await put(stream, change(before))
      return () => put(stream, before)
    },
  }
}

/** One on the test server. */
export function damagingEventStoreDb(store: EventStore, server: EventStoreDbServer): DamagingStore {
  return {
    store,
    rewrite: async (stream, change) => {
      const changed = change(await collect(store.read(stream)))
      const before = [...(server.log.stream(stream) ?? [])]
      server.log.rewrite(stream, () => changed.map((event) => recordOf(before, event)))
      return async () => server.log.rewrite(stream, () => before)
    },
  }
}

/** An event as the server keeps it, in the place of the one of its revision. */
function recordOf(records: readonly LogRecord[], event: StoredEvent): LogRecord {
  const { revision, id, type } = event
  const record = records.find((one) => one.revision === revision) as LogRecord
  const [data, metadata] = [Buffer.from(event.data), Buffer.from(event.metadata)]
  return { ...record, id, type, data, metadata }
}
