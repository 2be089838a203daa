/** A whole installation whose events are in a server of EventStoreDB, its read models in PostgreSQL. */
import { afterEach, beforeEach, expect, it } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { query } from "../support/embedded.ts"
import { testDatabase } from "../support/postgres.ts"
import type { World, WorldOptions } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { factsOf, faultsOf } from "./looking.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function startServer(): Promise<EventStoreDbServer> {
  const server = await EventStoreDbServer.start()
  closing.push(() => server.stop())
  return server
}

let server: EventStoreDbServer
let url: string
beforeEach(async () => {
  server = await startServer()
  const database = await testDatabase()
  closing.push(() => database.drop())
  url = database.url
})

async function open(options: WorldOptions): Promise<World> {
  const world = await openWorld(options)
  closing.push(() => world.close())
  return world
}

it("decides, shows, waits, audits and goes on after a restart", async () => {
  const first = await openWorld({ url, eventStoreUrl: server.url })
  const { companyId, key } = await makeCompany(first)
  const company = { company: companyId }
  const limit = { ...company, class: "general", period: "month", dollars: "0.05" }
  await first.operate("limit set", limit)
  const text = { to: "+14155550123", body: "hello" }
  const paths = ["/api/v1/phone/messages", { body: text }] as const
  expect(await first.call(key, "POST", ...paths)).toMatchObject({ status: 200 })
  const charge = { ...company, class: "ai", dollars: "0.42", item: "chat", id: "run-1" }
  expect(await first.operate("charge", charge)).toMatchObject({ chargeId: "run-1" })
  await first.operate("charge", charge)
  await first.operate("wait")
  expect(await faultsOf(first)).toEqual([])
  const before = await first.operate("company show", company)
  const facts = await factsOf(first.ports.store)
  expect(facts.length).toBeGreaterThan(10)
  await first.close()

  const second = await open({ url, eventStoreUrl: server.url })
  expect(await second.operate("company show", company)).toEqual(before)
  expect((await factsOf(second.ports.store)).slice(0, facts.length)).toEqual(facts)
  await second.operate("funds add", { ...company, dollars: "5" })
  await second.operate("wait")
  expect(await faultsOf(second)).toEqual([])
  expect([...first.warnings, ...second.warnings]).toEqual([])
  expect(await query(url, "select 1 from eventstore.events")).toEqual([])
}, 60_000)

it("refuses another server, an empty one, and its own database's store, each with the fix", async () => {
  const world = await openWorld({ url, eventStoreUrl: server.url })
  await makeCompany(world)
  await world.close()
  const empty = await startServer()
  await expect(openWorld({ url, eventStoreUrl: empty.url })).rejects.toThrow(
    /is empty, .* swapped or lost\. Name the right one, or restore/,
  )
  const foreign = await startServer()
  const database = await testDatabase()
  closing.push(() => database.drop())
  const other = await openWorld({ url: database.url, eventStoreUrl: foreign.url })
  await makeCompany(other)
  await other.close()
  await expect(openWorld({ url, eventStoreUrl: foreign.url })).rejects.toThrow(
    /holds the events of another installation/,
  )
  await expect(openWorld({ url })).rejects.toThrow(/set EVENTSTORE_URL to that server/)
  await open({ url, eventStoreUrl: server.url })
}, 60_000)

it("refuses a store with events beside a new database, whose keys are elsewhere", async () => {
  const world = await openWorld({ url, eventStoreUrl: server.url })
  await makeCompany(world)
  await world.close()
  const fresh = await testDatabase()
  closing.push(() => fresh.drop())
  await expect(openWorld({ url: fresh.url, eventStoreUrl: server.url })).rejects.toThrow(
    /this database is new: the keys to read them are elsewhere/,
  )
}, 60_000)

it("goes on where a first start was cut short behind the price book", async () => {
  const cut = await openWorld({ url, eventStoreUrl: server.url })
  await cut.close()
  const fresh = await testDatabase()
  closing.push(() => fresh.drop())
  const world = await open({ url: fresh.url, eventStoreUrl: server.url })
  await makeCompany(world)
  expect(await faultsOf(world)).toEqual([])
}, 60_000)

it("refuses a server beside a database that holds its own events, and says how to move them", async () => {
  const world = await openWorld({ url })
  await makeCompany(world)
  await world.close()
  await expect(openWorld({ url, eventStoreUrl: server.url })).rejects.toThrow(/store copy --to URL/)
  const store = openEventStoreDb({ url: server.url })
  closing.push(() => store.close())
  expect(await factsOf(store)).toEqual([])
}, 60_000)
