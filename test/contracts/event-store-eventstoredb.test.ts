import { afterAll, beforeEach, describe, expect, it } from "vitest"

import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { comparePositions, START } from "../../adapters/eventstore/port.ts"
import { eventStoreContract } from "./event-store-contract.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { type Corner, cornerOf } from "./event-store-fixture.ts"
import { followingContract } from "./event-store-reading-contract.ts"

const eventStoreDb = new EventStoreDbUnderTest()
// Each case has a corner of its own in the store.
const server = await EventStoreDbServer.start()
afterAll(() => server.stop())

eventStoreContract("EventStoreDB 24.2, as the test server is", async () =>
  eventStoreDb.open(server),
)

describe("EventStoreDB 23.10, as the test server is", () => {
  let corner: Corner
  beforeEach(async () => {
    corner = await cornerOf(eventStoreDb.open(await eventStoreDb.start({ version: "23.10" })))
  })
  followingContract(() => corner)
})

/** A connection string of a server that is real; whatever it holds may stay. */
const url = process.env["EVENTSTORE_TEST_URL"]

describe("EventStoreDB, a real server", () => {
  it("answers", async (ctx) => {
    if (url === undefined) ctx.skip("EVENTSTORE_TEST_URL names no server of EventStoreDB")
    const store = openEventStoreDb({ url: url ?? "" })
    expect(comparePositions(await store.head(), START)).toBeGreaterThanOrEqual(0)
    await store.close()
  })
  if (url !== undefined)
    eventStoreContract("holds the contract", async () => openEventStoreDb({ url }))
})
