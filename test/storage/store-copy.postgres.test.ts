/** Migration of an installation's events to another event store. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { lockInstallation } from "../../adapters/postgres/leases/postgres.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import type { MigrationResult } from "../../src/storage/operate/store-commands.ts"
import { migrateStore } from "../../src/bootstrap/maintenance/store-migration.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { executeSql, testDatabase } from "../support/test-database.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { storedEventsOf, auditFaultsOf } from "./store-contents.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

let server: EventStoreDbServer
let url: string
let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "ledger-move-"))
  closing.push(() => rm(dataDir, { recursive: true, force: true }))
  const database = await testDatabase()
  closing.push(() => database.drop())
  url = database.url
  server = await EventStoreDbServer.start()
  closing.push(() => server.stop())
})

const SILENT = { info: () => undefined, warn: () => undefined }

function copy(to: string, from?: string, signal?: AbortSignal): Promise<MigrationResult> {
  const settings = { DATABASE_URL: url, LEDGER_DATA_DIR: dataDir, LEDGER_CLOCK: "test" }
  const config = readConfig({ ...settings, LEDGER_EVENTSTORE_URL: from })
  const talk = { progress: () => undefined, signal: signal ?? new AbortController().signal }
  return migrateStore(config, to, SILENT, talk)
}

/** Makes an installation with events in the database. @returns its company */
async function makeInstallation(): Promise<string> {
  const world = await openWorld("start", { url })
  const { companyId, key } = await makeCompany(world)
  for (const last of [1, 2, 3]) {
    const body = { to: `+1415555010${last}`, body: "hello" }
    await world.call(key, "POST", "/api/v1/phone/messages", { body })
  }
  const charge = { company: companyId, class: "ai", dollars: "0.42", item: "chat", id: "run-1" }
  await world.operate("charge", charge)
  await world.operate("wait")
  await world.close()
  return companyId
}

const TEXTS = "/api/v1/phone/messages"

/** Makes an installation in the database. @returns a key and the `Ledger-Position` of its last write */
async function makeInstallationWithPosition() {
  const world = await openWorld("start", { url })
  const { key } = await makeCompany(world)
  const position = await sendOne(world, key)
  await world.close()
  return { key, position }
}

/** Sends the same text each time. @returns the answer's `Ledger-Position` */
async function sendOne({ call }: World, key: string, idempotencyKey = "once"): Promise<string> {
  const headers = { "idempotency-key": idempotencyKey }
  const text = { body: { to: "+14155550123", body: "hello" }, headers }
  const { status, headers: found } = await call(key, "POST", TEXTS, text)
  expect(status).toBe(200)
  return String(found["ledger-position"])
}

/** Reads with a former position, and with that of a replayed answer. @returns the position of a new write */
async function readAndWriteAt(world: World, key: string, position: string): Promise<string> {
  for (const requested of [position, await sendOne(world, key)]) {
    const headers = { "ledger-position": requested }
    const { status, body, headers: found } = await world.call(key, "GET", TEXTS, { headers })
    expect([status, found["ledger-stale"]]).toEqual([200, undefined])
    expect(body.messages.length).toBeGreaterThan(0)
  }
  return sendOne(world, key, `new ${position}`)
}

/** Jobs and simulated records, which would exist twice if copied facts were handled as new ones. */
async function consequencesOfFacts(): Promise<unknown> {
  const jobs = "select kind, name, due_at, attempts from ledger.jobs order by 1, 2"
  const texts = "select * from ledger.simulated_records order by record_id"
  return [await queryRows(url, jobs), await queryRows(url, texts)]
}

async function factsInServer() {
  const store = openEventStoreDb({ url: server.url })
  const facts = await storedEventsOf(store)
  await store.close()
  return facts
}

async function factsInDatabase() {
  return queryRows(
    url,
    "select stream, revision, id, data from eventstore.events order by position",
  )
}

it("copies all events unchanged, rebuilds the read models, and passes the audit", async () => {
  const companyId = await makeInstallation()
  const before = await factsInDatabase()
  const consequencesBefore = await consequencesOfFacts()
  const copied = await copy(server.url)
  expect(copied).toMatchObject({ ok: true, to: server.url, alreadyThere: 0 })
  expect(copied.events).toBe(before.length)
  expect(copied.streams).toBe(new Set(before.map((row) => (row as { stream: string }).stream)).size)
  const facts = await factsInServer()
  expect(facts.map(({ stream, revision, id, data }) => ({ stream, revision, id, data }))).toEqual(
    before,
  )
  expect(await consequencesOfFacts()).toEqual(consequencesBefore)

  await expect(openWorld("start", { url })).rejects.toThrow(
    /Set LEDGER_EVENTSTORE_URL to that server\./,
  )
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  closing.push(() => world.close())
  expect(await world.operate("company show", { company: companyId })).toMatchObject({
    balanceMicros: 50_000_000 - 420_000 - 3 * 9_000,
  })
  await world.operate("funds add", { company: companyId, dollars: "5" })
  expect(await auditFaultsOf(world)).toEqual([])
  expect(world.warnings).toEqual([])
  expect(await factsInDatabase()).toEqual(before)
})

it("accepts positions of the former store, and does not wait for them", async () => {
  const { key, position } = await makeInstallationWithPosition()
  expect(position).toMatch(/^[0-9a-z]+$/)
  await copy(server.url)
  const there = await openWorld("store", { url, eventStoreUrl: server.url })
  const moved = await readAndWriteAt(there, key, position)
  expect(moved).toMatch(/^1-[0-9a-z.]+$/)
  await there.close()
  await copy("database", server.url)
  const back = await openWorld("start", { url })
  closing.push(() => back.close())
  await readAndWriteAt(back, key, position)
  expect(await readAndWriteAt(back, key, moved)).toMatch(/^2-[0-9a-z]+$/)
  const beyond = { "ledger-position": "2-zzzzzz" }
  expect((await back.call(key, "GET", TEXTS, { headers: beyond })).status).toBe(400)
})

it("continues after an interruption, and switches the store only at the end", async () => {
  await makeInstallation()
  const stopping = new AbortController()
  const reason = new Error("interrupted")
  let appends = 0
  server.faultOf = () => {
    appends += 1
    if (appends === 5) stopping.abort(reason)
    return "none"
  }
  await expect(copy(server.url, undefined, stopping.signal)).rejects.toBe(reason)
  const half = (await factsInServer()).length
  expect(half).toBeGreaterThan(0)
  const world = await openWorld("start", { url })
  await makeCompany(world)
  await world.close()
  const total = (await factsInDatabase()).length
  expect(half).toBeLessThan(total)
  const copied = await copy(server.url)
  expect(copied).toMatchObject({ ok: true, events: total, alreadyThere: half })
})

it("migrates back to the database by adding the newer events", async () => {
  const companyId = await makeInstallation()
  const { events } = await copy(server.url)
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  await world.operate("funds add", { company: companyId, dollars: "7" })
  await world.operate("wait")
  await world.close()
  const back = await copy("database", server.url)
  expect(back).toMatchObject({ ok: true, to: "database", alreadyThere: events })
  expect(back.events).toBeGreaterThan(events)
  await expect(openWorld("store", { url, eventStoreUrl: server.url })).rejects.toThrow(
    /store migrate --to URL/,
  )
  const home = await openWorld("start", { url })
  closing.push(() => home.close())
  expect(await home.operate("company show", { company: companyId })).toMatchObject({
    balanceMicros: 57_000_000 - 420_000 - 3 * 9_000,
  })
})

it("leaves out the unproven events of a corrupt stream, reports them, and holds the stream back", async () => {
  const companyId = await makeInstallation()
  const stream = `ledger-${companyId}`
  const all = (await factsInDatabase()).length
  const statement = `update eventstore.events set data = replace(data, '"50000000"', '"90000000"')
    where stream = '${stream}'`
  await executeSql(url, statement)
  const copied = await copy(server.url)
  const [left] = copied.leftOut
  expect(left).toEqual({
    stream,
    revision: 1,
    reason: expect.stringMatching(/^expected the hash/) as string,
    events: expect.any(Number) as number,
  })
  expect(copied).toMatchObject({ ok: false, leftOut: [left], events: all - (left?.events ?? 0) })
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  closing.push(() => world.close())
  const funds = { company: companyId, dollars: "7" }
  await expect(world.operate("funds add", funds)).rejects.toThrow(`${stream} revision 1`)
  const other = await makeCompany(world)
  expect(await sendOne(world, other.key)).toBeTruthy()
})

it("rejects a store with other events, and one that is unreachable", async () => {
  await makeInstallation()
  const other = await testDatabase()
  closing.push(() => other.drop())
  const stranger = await openWorld("store", { url: other.url, eventStoreUrl: server.url })
  await makeCompany(stranger)
  await stranger.close()
  const before = await factsInServer()
  await expect(copy(server.url)).rejects.toMatchObject({
    code: "not_a_copy",
    message: expect.stringMatching(/Use an empty store/) as string,
  })
  expect(await factsInServer()).toEqual(before)
  await server.stop()
  await expect(copy(server.url)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/Run the same command again/) as string,
  })
})

it("rejects a migration while another process may write, and one with nothing to copy", async () => {
  await expect(copy(server.url)).rejects.toThrow(/has no events yet/)
  await makeInstallation()
  const world = await openWorld("start", { url })
  await expect(copy(server.url)).rejects.toThrow(
    /Other company-ledger processes .* Stop all of them/,
  )
  await world.close()
  await expect(copy("database")).rejects.toThrow(/already in the database/)
  expect(await factsInServer()).toEqual([])
})

it("lets no process start during a migration", async () => {
  await makeInstallation()
  const lock = await lockInstallation(url)
  expect(await lockInstallation(url)).toBeNull()
  await expect(openWorld("start", { url })).rejects.toThrow(/Wait until it has ended/)
  await lock?.release()
  const world = await openWorld("start", { url })
  expect(await lockInstallation(url)).toBeNull()
  await world.close()
})
