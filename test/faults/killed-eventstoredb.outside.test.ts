/** EventStoreDB is killed under load and comes back; the program goes on by itself. */
import { afterAll, expect, it } from "vitest"
import { query } from "../support/embedded.ts"
import { ownDatabase } from "../support/world-database.ts"
import { ownPlace } from "../support/server-process.ts"
import { BACK_WITHIN_MS, newNames, overHttp, startLoad } from "./callers.ts"
import { makeSender } from "./company.ts"
import { startEventStoreDb } from "./eventstoredb-process.ts"
import { reckon } from "./reckoning.ts"
import { newChance, roundsOf } from "./rounds.ts"
import { supervise } from "./supervised.ts"
import { within } from "../support/within.ts"

const ROUNDS = roundsOf(2, 20)
const TEXTS = 100

const eventStore = await startEventStoreDb()
afterAll(() => eventStore.clear())
const databaseUrl = await ownDatabase()
const place = await ownPlace({
  DATABASE_URL: databaseUrl,
  LEDGER_EVENTSTORE_URL: eventStore.url,
  LEDGER_CLOCK: "test",
  RATE_LIMITS: "off",
})
const server = await supervise(place)
const sender = await makeSender(server.operate, "killed")
const acknowledged = new Map<string, string>()

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
  expect(await query(databaseUrl, count)).toEqual([{ count: 0 }])
  expect(await server.stop()).toBe(0)
})
