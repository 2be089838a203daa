/** Every event store, as its contract is held against it. */
import { afterAll, beforeAll } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { PostgresUnderTest } from "./event-store-postgres-fixture.ts"

/** A connection string of a server of EventStoreDB that is real; whatever it holds may stay. */
export const REAL_EVENTSTOREDB_URL = process.env["EVENTSTORE_TEST_URL"]

/**
 * What is called in a `describe` and answers how a store is opened, perhaps one that holds events of others; a
 * test closes it.
 */
type Open = () => () => Promise<EventStore>

/** Opens stores on the test server of a version, each case in a corner of its own. */
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

/** All of them, by their names. */
export const EVENT_STORES: readonly (readonly [name: string, open: Open])[] = [
  ["memory event store", () => async () => openMemoryEventStore()],
  [
    "PostgreSQL event store",
    () => {
      const postgres = new PostgresUnderTest()
      return async () => postgres.open()
    },
  ],
  ["EventStoreDB 24.2, as the test server is", onTestServer("24.2")],
  ...(REAL_EVENTSTOREDB_URL === undefined
    ? []
    : ([
        [
          "EventStoreDB, a real server",
          () => async () => openEventStoreDb({ url: REAL_EVENTSTOREDB_URL }),
        ],
      ] as const)),
]

/** The same, and the older version of EventStoreDB, which has other ways with slow subscribers. */
export const SUBSCRIBED_STORES: typeof EVENT_STORES = [
  ...EVENT_STORES,
  ["EventStoreDB 23.10, as the test server is", onTestServer("23.10")],
]
