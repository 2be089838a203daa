/** An installation with its events in an EventStoreDB server and its read models in PostgreSQL. */
import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { runDoctor } from "../../src/bootstrap/doctor/doctor.ts"
import { writeBackup } from "../../src/storage/write-backup.ts"
import { someEvents } from "../contracts/event-store-fixture.ts"
import { EventStoreDbCluster } from "../support/eventstoredb-cluster.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { testDatabase } from "../support/test-database.ts"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { makeCompany, openWorld, setLimit } from "../support/world.ts"
import { storedEventsOf, auditFaultsOf } from "./store-contents.ts"
import { scaledMs } from "../support/scaled-time.ts"

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
  const world = await openWorld("store", options)
  closing.push(() => world.close())
  return world
}

it("decides, shows, waits and audits, even after a restart", async () => {
  const first = await openWorld("store", { url, eventStoreUrl: server.url })
  const { companyId, key } = await makeCompany(first)
  const company = { company: companyId }
  await setLimit(first, { companyId }, { dollars: "0.05" })
  const text = { to: "+14155550123", body: "hello" }
  const paths = ["/api/v1/phone/messages", { body: text }] as const
  expect(await first.call(key, "POST", ...paths)).toMatchObject({ status: 200 })
  const charge = { ...company, class: "ai", dollars: "0.42", item: "chat", id: "run-1" }
  expect(await first.operate("charge", charge)).toMatchObject({ chargeId: "run-1" })
  await first.operate("charge", charge)
  await first.operate("wait")
  expect(await auditFaultsOf(first)).toEqual([])
  const before = await first.operate("company show", company)
  const facts = await storedEventsOf(first.ports.store)
  expect(facts.length).toBeGreaterThan(10)
  await first.close()

  const second = await open({ url, eventStoreUrl: server.url })
  expect(await second.operate("company show", company)).toEqual(before)
  expect((await storedEventsOf(second.ports.store)).slice(0, facts.length)).toEqual(facts)
  await second.operate("funds add", { ...company, dollars: "5" })
  await second.operate("wait")
  expect(await auditFaultsOf(second)).toEqual([])
  expect([...first.warnings, ...second.warnings]).toEqual([])
  expect(await queryRows(url, "select 1 from eventstore.events")).toEqual([])
})

it("holds back only streams that another program wrote to, deleted or truncated", async () => {
  const first = await openWorld("store", { url, eventStoreUrl: server.url })
  const [foreign, deleted, truncated, healthy] = [
    await makeCompany(first),
    await makeCompany(first),
    await makeCompany(first),
    await makeCompany(first),
  ]
  await first.operate("wait")
  const data = Buffer.from("{}")
  const json = { id: randomUUID(), type: "Other", contentType: "application/json", data }
  server.log.append(`ledger-${foreign.companyId}`, "any", [{ ...json, metadata: data }])
  server.log.deleteForGood(`ledger-${deleted.companyId}`)
  server.log.set(`ledger-${truncated.companyId}`, { $maxCount: 1 })
  const paths = ["/api/v1/phone/messages", { body: { to: "+14155550123", body: "hello" } }] as const
  const send = async (world: World, { key }: Company) =>
    (await world.call(key, "POST", ...paths)).status
  expect(await send(first, healthy)).toBe(200)
  await first.operate("wait")
  expect(await send(first, foreign)).toBe(503)
  expect(await send(first, deleted)).toBe(503)
  await first.close()

  const second = await open({ url, eventStoreUrl: server.url })
  const statuses = []
  for (const one of [foreign, deleted, truncated, healthy]) statuses.push(await send(second, one))
  expect(statuses).toEqual([503, 503, 503, 200])
  await second.operate("wait")
  const { body } = await second.app.inject("/readyz")
  for (const { companyId } of [foreign, deleted, truncated]) {
    expect(body).toContain(`ledger-${companyId} from revision`)
  }
  expect(body).not.toContain(healthy.companyId)
  expect(body).toContain("ok read models")
  const { corruptStreams } = await second.operate("projections status")
  expect(corruptStreams).toHaveLength(2)
  expect(await second.operate("projections verify")).toMatchObject({ ok: true })
})

it("rejects another server, an empty one, and its own database's store, each with the fix", async () => {
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  await makeCompany(world)
  await world.close()
  const empty = await startServer()
  await expect(openWorld("store", { url, eventStoreUrl: empty.url })).rejects.toThrow(
    /is empty, .* replaced or lost\. Use the right one, or restore/,
  )
  const foreign = await startServer()
  const database = await testDatabase()
  closing.push(() => database.drop())
  const other = await openWorld("store", { url: database.url, eventStoreUrl: foreign.url })
  await makeCompany(other)
  await other.close()
  await expect(openWorld("store", { url, eventStoreUrl: foreign.url })).rejects.toThrow(
    /holds the events of another installation/,
  )
  await expect(openWorld("start", { url })).rejects.toThrow(
    /Set LEDGER_EVENTSTORE_URL to that server\./,
  )
  await open({ url, eventStoreUrl: server.url })
})

it("rejects a store with events if the database is new, because its keys are missing", async () => {
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  await makeCompany(world)
  await world.close()
  const fresh = await testDatabase()
  closing.push(() => fresh.drop())
  await expect(openWorld("store", { url: fresh.url, eventStoreUrl: server.url })).rejects.toThrow(
    /this database is new, so the keys to read them are missing/,
  )
})

it("continues a first start that was interrupted after it stored the price book", async () => {
  const interrupted = await openWorld("store", { url, eventStoreUrl: server.url })
  await interrupted.close()
  const fresh = await testDatabase()
  closing.push(() => fresh.drop())
  const world = await open({ url: fresh.url, eventStoreUrl: server.url })
  await makeCompany(world)
  expect(await auditFaultsOf(world)).toEqual([])
})

it("rejects a server if the database has events, and says how to migrate them", async () => {
  const world = await openWorld("start", { url })
  await makeCompany(world)
  await world.close()
  await expect(openWorld("store", { url, eventStoreUrl: server.url })).rejects.toThrow(
    /store migrate --to URL/,
  )
  const store = openEventStoreDb({ url: server.url })
  closing.push(() => store.close())
  expect(await storedEventsOf(store)).toEqual([])
})

it("ignores the streams of other programs on the same server, and reports them", async () => {
  const orders = someEvents(3)
  const stranger = openEventStoreDb({ url: server.url })
  closing.push(() => stranger.close())
  await stranger.append("orders-1", orders, NO_STREAM)
  // The names look like ours, but no company has such an id.
  await stranger.append("ledger-eu", someEvents(2), NO_STREAM)
  await stranger.append("prices-old", someEvents(1), NO_STREAM)
  const world = await open({ url, eventStoreUrl: server.url })
  const { companyId, key } = await makeCompany(world)
  const text = { to: "+14155550123", body: "hello" }
  const paths = ["/api/v1/phone/messages", { body: text }] as const
  expect(await world.call(key, "POST", ...paths)).toMatchObject({ status: 200 })
  await stranger.append("orders-1", someEvents(2), 2)
  await world.operate("wait")
  const { ok, foreignStreams, events } = await world.operate("audit verify")
  expect([ok, foreignStreams]).toEqual([
    true,
    { streams: 3, events: 8, byName: { "orders-1": 5, "ledger-eu": 2, "prices-old": 1 } },
  ])
  const ours = await storedEventsOf(world.ports.store)
  expect(ours).toHaveLength(events)
  expect(ours.filter(({ stream }) => /orders|-eu|-old/.test(stream))).toEqual([])
  let backup = ""
  await writeBackup({
    tables: world.ports.backupSet,
    store: world.ports.store,
    send: async (chunk) => void (backup += chunk),
    progress: () => undefined,
    signal: new AbortController().signal,
  })
  expect(backup).toContain(`ledger-${companyId}`)
  expect(backup).not.toMatch(/orders-1|ledger-eu|prices-old/)
  await world.operate("audit export", { company: companyId })
  expect(world.warnings).toEqual([])
  // Foreign events in one of our streams are still a discrepancy.
  const last = ours.findLast(({ stream }) => stream === `ledger-${companyId}`)
  await stranger.append(`ledger-${companyId}`, someEvents(1), last?.revision ?? 0)
  const found = await world.operate("audit verify")
  expect(found.firstBroken).toMatchObject({ stream: `ledger-${companyId}` })
})

it("charges nothing on a ledger that the server's settings truncate", async () => {
  const first = await openWorld("store", { url, eventStoreUrl: server.url })
  const { companyId } = await makeCompany(first)
  const company = { company: companyId }
  await setLimit(first, { companyId }, { dollars: "1" })
  const charge = (id: string, dollars: string) => ({
    ...company,
    class: "general",
    dollars,
    item: "chat",
    id,
  })
  for (const id of ["a", "b", "c"]) await first.operate("charge", charge(id, "0.25"))
  await first.close()
  server.log.set(`ledger-${companyId}`, { $maxCount: 2 })
  await queryRows(url, "delete from ledger.checkpoints")
  const second = await open({ url, eventStoreUrl: server.url })
  // $0.25 of the limit are left, but the events that the server still shows would leave $0.50.
  await expect(second.operate("charge", charge("d", "0.45"))).rejects.toMatchObject({
    name: "CorruptStream",
  })
  const { firstBroken } = await second.operate("audit verify").catch((error: unknown) => ({
    firstBroken: error,
  }))
  expect(firstBroken).toMatchObject({ stream: `ledger-${companyId}`, expected: "revision 0" })
  server.log.set(`ledger-${companyId}`, {})
  await second.close()
  const third = await open({ url, eventStoreUrl: server.url })
  await expect(third.operate("charge", charge("d", "0.45"))).rejects.toMatchObject({
    code: "spend_limit_reached",
  })
})

it("detects that an older copy replaced the server, and so does doctor", async () => {
  const world = await open({ url, eventStoreUrl: server.url, deadlineMs: scaledMs(1_000) })
  const { companyId, key } = await makeCompany(world)
  const position = server.log.records.at(-1)?.commit ?? 0n
  await world.operate("funds add", { company: companyId, dollars: "5" })
  await world.operate("wait")
  server.log.truncate(position)
  server.relay.cut()
  const ready = async () => (await world.app.inject("/readyz")).body
  await expect.poll(ready).toMatch(/fail event store Unavailable/)
  // The state in memory is newer than the copy, and is not used once it is a second old.
  const call = async () => {
    const { status, body } = await world.call(key, "GET", "/api/v1/credits")
    return [status, body.error]
  }
  await expect.poll(call).toEqual([503, "unavailable"])
  await expect.poll(() => world.warnings.join("\n")).toMatch(/EventStoreDB has not answered/)
  const env = { DATABASE_URL: url, LEDGER_EVENTSTORE_URL: server.url, PORT: "0" }
  const findings = await runDoctor(readConfig(env), null)
  expect(findings.find(({ check }) => check === "event store")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(/contains events that this event store does not have/) as string,
  })
  await expect(openWorld("store", { url, eventStoreUrl: server.url })).rejects.toThrow(
    /contains events that this event store does not have/,
  )
})

it("starts at a follower's address, and continues when another node becomes the leader", async () => {
  const nodes = [server, await startServer(), await startServer()] as const
  const cluster = new EventStoreDbCluster(nodes)
  const follower = cluster.followers[0] as EventStoreDbServer
  const world = await open({ url, eventStoreUrl: follower.url })
  const { companyId, key } = await makeCompany(world)
  const text = (body: string) => ({ to: "+14155550123", body })
  const send = (body: string) =>
    world.call(key, "POST", "/api/v1/phone/messages", { body: text(body) })
  expect((await send("one")).status).toBe(200)
  cluster.elect(cluster.followers[1] as EventStoreDbServer)
  expect((await send("two")).status).toBe(200)
  await world.operate("wait")
  expect(await auditFaultsOf(world)).toEqual([])
  expect(cluster.leader.log.stream(`ledger-${companyId}`)?.length).toBeGreaterThan(3)
  expect(world.warnings).toEqual([])
})
