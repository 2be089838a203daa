/** The event stores that the contract is tested on. */
import { afterAll, beforeAll } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { PostgresUnderTest } from "./event-store-postgres-fixture.ts"

/** The connection string of a real EventStoreDB server; its existing events do not matter. */
export const REAL_EVENTSTOREDB_URL = process.env["EVENTSTORE_TEST_URL"]

/**
 * Called in a `describe`, it returns a function that opens a store, which may have other events. The test
 * closes the store.
 */
type Open = () => () => Promise<EventStore>

/** Opens stores on a shared test server of a version. */
const onTestServer =
  (version: "23.10" | "24.2"): Open =>
  () => {
    const eventStoreDb = new EventStoreDbUnderTest()
    let server: EventStoreDbServer
    beforeAll(async () => {
      server = await EventStoreDbServer.start({ version })
    })
    afterAll(() => server.stop())
    return async () => eventStoreDb.open(server)
  }

/** All event stores by name. */
export const EVENT_STORES: readonly (readonly [name: string, open: Open])[] = [
  ["memory event store", () => async () => openMemoryEventStore()],
  [
    "PostgreSQL event store",
    () => {
      const postgres = new PostgresUnderTest()
      return async () => postgres.open()
    },
  ],
  ["EventStoreDB 24.2 on the test server", onTestServer("24.2")],
  ...(REAL_EVENTSTOREDB_URL === undefined
    ? []
    : ([
        [
          "EventStoreDB on a real server",
          () => async () => openEventStoreDb({ url: REAL_EVENTSTOREDB_URL }),
        ],
      ] as const)),
]

/** The same and an older version of EventStoreDB, which treats slow subscribers differently. */
export const SUBSCRIBED_STORES: typeof EVENT_STORES = [
  ...EVENT_STORES,
  ["EventStoreDB 23.10 on the test server", onTestServer("23.10")],
]
