/** EventStoreDB is killed under load and comes back; the program goes on by itself. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { query } from "../support/embedded.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { BACK_WITHIN_MS, newNames, overHttp, startLoad } from "./callers.ts"
import type { Sender } from "./company.ts"
import { makeSender } from "./company.ts"
import type { EventStoreDbProcess } from "./eventstoredb-process.ts"
import { startEventStoreDb } from "./eventstoredb-process.ts"
import { reckon } from "./reckoning.ts"
import { newChance, roundsOf } from "./rounds.ts"
import type { Supervised } from "./supervised.ts"
import { supervise } from "./supervised.ts"
import { within } from "../support/within.ts"

const ROUNDS = roundsOf(2, 20)
const TEXTS = 100

let eventStore: EventStoreDbProcess
let database: TestDatabase
let place: Place
let server: Supervised
let sender: Sender
const acknowledged = new Map<string, string>()

beforeAll(async () => {
  eventStore = await startEventStoreDb()
  database = await worldDatabase()
  const stores = { DATABASE_URL: database.url, LEDGER_EVENTSTORE_URL: eventStore.url }
  place = await makePlace({ ...stores, LEDGER_CLOCK: "test", RATE_LIMITS: "off" })
  server = await supervise(place)
  sender = await makeSender(server.operate, "killed")
})
afterAll(async () => {
  await place.clear()
  await eventStore.clear()
  await database.drop()
})

const { seed, between } = newChance()

it.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  `loses nothing and charges nothing twice over kill -9 of EventStoreDB (seed ${seed}, round %i)`,
  async () => {
    const load = startLoad(newNames(TEXTS), overHttp(server.address, sender.key))
    await load.reached(between(5, TEXTS - 40))
    const before = new Map(load.acknowledged)
    const killedAt = performance.now()
    await eventStore.killAndStart()
    await load.done
    expect(before.size).toBeLessThan(TEXTS)
    expect(load.backAfterMs(killedAt)).toBeLessThan(within(BACK_WITHIN_MS))
    for (const [name, id] of load.acknowledged) acknowledged.set(name, id)
    for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
    await server.operate("clock advance", { duration: "2h" })
    await server.operate("wait")
    await reckon(server.operate, { ...sender, acknowledged }, true)
  },
  180_000,
)

it("has gone on in the same process, with all events in that store, and stops in order", async () => {
  expect(server.starts()).toBe(1)
  const count = "select count(*)::int as count from eventstore.events"
  expect(await query(database.url, count)).toEqual([{ count: 0 }])
  expect(await server.stop()).toBe(0)
})
