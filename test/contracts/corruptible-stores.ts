/** Event stores with a way to corrupt a stream. */
import type pg from "pg"
import { expect } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"

import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import type { LogRecord } from "../support/eventstoredb-server/log.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Discrepancy } from "../../src/audit/findings.ts"
import { openStreams, readSingleStream } from "../../src/audit/single-stream.ts"
import type { ChainEnd } from "../../src/frame/writer/runner/load.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
} from "../writer/runner-fixture.ts"
import { collectEvents } from "./event-store-fixture.ts"

/** A change of a stream's events. */
export type StreamRewrite = (events: readonly StoredEvent[]) => readonly StoredEvent[]

/** A store whose streams a test can corrupt. */
export interface CorruptibleStore {
  readonly store: EventStore
  /**
   * Replaces a stream's events, as a store does that lost or reordered some. Returns a function that
   * undoes it.
   */
  readonly rewrite: (stream: string, change: StreamRewrite) => Promise<() => Promise<void>>
}

/** An empty store in memory. `readAll` still returns the original events. */
export function corruptibleMemoryStore(): CorruptibleStore {
  const store = openMemoryEventStore()
  return {
    store,
    rewrite: async (stream, change) => {
      const before = await collectEvents(store.read(stream))
      store.rewriteStream(stream, change)
      return async () => store.rewriteStream(stream, () => before)
    },
  }
}

/** A store in PostgreSQL, corrupted through a superuser's connection. */
export function corruptiblePostgresStore(
  store: EventStore,
  admin: Pick<pg.Client, "query">,
): CorruptibleStore {
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
      const before = await collectEvents(store.read(stream))
      await put(stream, change(before))
      return () => put(stream, before)
    },
  }
}

/** A store on the test server. */
export function corruptibleEventStoreDb(
  store: EventStore,
  server: EventStoreDbServer,
): CorruptibleStore {
  return {
    store,
    rewrite: async (stream, change) => {
      const changed = change(await collectEvents(store.read(stream)))
      const before = [...(server.log.stream(stream) ?? [])]
      server.log.rewrite(stream, () => changed.map((event) => recordOf(before, event)))
      return async () => server.log.rewrite(stream, () => before)
    },
  }
}

/** The server's record of an event, based on the record with its revision. */
function recordOf(records: readonly LogRecord[], event: StoredEvent): LogRecord {
  const { revision, id, type } = event
  const record = records.find((one) => one.revision === revision) as LogRecord
  const [data, metadata] = [Buffer.from(event.data), Buffer.from(event.metadata)]
  return { ...record, id, type, data, metadata }
}

/** The first discrepancy that an audit of the single stream finds. */
export async function firstStreamFault(
  store: EventStore,
  stream: string,
  end: ChainEnd,
): Promise<Discrepancy | null> {
  const ports = { store, checkpointOf: async () => null }
  const { signal } = new AbortController()
  for await (const opened of openStreams(ports, [stream].values(), signal)) {
    return (await readSingleStream(opened, end, false, () => undefined)).discrepancy
  }
  return null
}

/** Expects that the stream takes no command and is not read. @returns the discrepancy that an audit finds */
export async function expectCorruptRejected(
  store: EventStore,
  end: { readonly revision: number; readonly hash: string },
  shows: number,
): Promise<Discrepancy | null> {
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings)
  const corruption = { stream: TEST_LEDGER_STREAM, revision: shows }
  const fault = { name: "CorruptStream", corruption: expect.objectContaining(corruption) }
  const requests = [
    () => executeOnLedger(runner, pendingChargeCommand("chg_more", 10)),
    () => executeOnLedger(runner, addFundsCommand(1_000)),
    () => runner.read(TEST_LEDGER, accountOf),
    () => runner.readLatest(TEST_LEDGER, accountOf),
    () => runner.readCached(TEST_LEDGER, accountOf),
  ]
  for (const ask of requests) await expect(ask()).rejects.toMatchObject(fault)
  expect(runner.corruptStreams()).toMatchObject([fault])
  // The warning is logged once for all requests.
  expect(warnings).toEqual([
    expect.stringMatching(`stream ${TEST_LEDGER_STREAM} is corrupt: it takes no commands`),
  ])
  return firstStreamFault(store, TEST_LEDGER_STREAM, end)
}
