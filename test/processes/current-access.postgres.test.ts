/** Immediately after one process changes access, another process lets callers in or rejects them accordingly. */
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it, onTestFinished, afterEach } from "vitest"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { testDatabase } from "../support/test-database.ts"
import { type Company, type World, makeCompany, openWorld } from "../support/world.ts"

/** Where the events are: in the database, or in a server that sends its subscribers nothing. */
const STORES = ["PostgreSQL", "EventStoreDB without notifications"] as const

/** On EventStoreDB each change takes one second: the time for which a process may answer from memory. */
const ROUNDS = { [STORES[0]]: 5, [STORES[1]]: 1 }

/** Breaks the connection of the process that connected last. */
const KILL_NEWEST = `
  select pg_terminate_backend(pid, 5000) from (
    select pid from pg_stat_activity
    where application_name = 'company-ledger process' and datname = current_database()
    order by backend_start desc limit 1) newest`

describe.each(STORES)("two processes on %s", (kind) => {
  const closing: (() => Promise<unknown>)[] = []
  let here: World
  let there: World
  let company: Company
  let databaseUrl: string

  beforeAll(async () => {
    const database = await testDatabase()
    databaseUrl = database.url
    closing.push(() => database.drop())
    const server = kind === "PostgreSQL" ? null : await EventStoreDbServer.start()
    if (server !== null) closing.push(() => server.stop())
    const options = { url: database.url, rateLimits: "off" as const }
    const stores = server === null ? options : { ...options, eventStoreUrl: server.url }
    here = await openWorld("store", stores)
    there = await openWorld("store", stores)
    closing.push(
      () => here.close(),
      () => there.close(),
    )
    company = await makeCompany(here)
    await read()
    // From here on the other process learns of facts only by reading the store.
    if (server !== null) server.isMute = true
  })
  afterAll(async () => {
    for (const close of closing.toReversed()) await close()
  })

  /** The other process's status for a read; a 503 is retried. */
  const read = async (): Promise<number> => {
    for (;;) {
      const { status } = await there.call(company.key, "GET", "/api/v1/phone/messages")
      if (status !== 503) return status
    }
  }

  const companyField = () => ({ company: company.companyId })
  const limit = () => ({ ...companyField(), class: "general", period: "month" })
  const keyLimit = () => ({ ...companyField(), key: company.keyId, period: "day" })

  it.each<[string, number, [string, () => object], [string, () => object]]>([
    [
      "a limit of $0",
      429,
      ["limit set", () => ({ ...limit(), dollars: "0" })],
      ["limit remove", limit],
    ],
    [
      "a key's limit of $0",
      401,
      ["limit set", () => ({ ...keyLimit(), dollars: "0" })],
      ["limit remove", keyLimit],
    ],
    ["a locked company", 402, ["company lock", companyField], ["company unlock", companyField]],
    [
      "a paused key",
      401,
      ["key pause", () => ({ keyId: company.keyId })],
      ["key resume", () => ({ keyId: company.keyId })],
    ],
    ["a deleted company", 401, ["company delete", companyField], ["company restore", companyField]],
  ])(
    "%s applies in the other process immediately",
    async (_, refused, [set, setting], [unset, unsetting]) => {
      for (let round = 0; round < ROUNDS[kind]; round += 1) {
        expect(await read()).toBe(200)
        await here.operate(set, setting())
        expect(await read(), `after ${set}`).toBe(refused)
        await here.operate(unset, unsetting())
        expect(await read(), `after ${unset}`).toBe(200)
      }
    },
  )

  it("a lock applies in a process that has just lost its registered connection", async () => {
    const line = new pg.Client({ connectionString: databaseUrl })
    onTestFinished(() => line.end())
    await line.connect()
    for (let round = 0; round < ROUNDS[kind]; round += 1) {
      expect(await read()).toBe(200)
      expect((await line.query(KILL_NEWEST)).rowCount).toBe(1)
      await here.operate("company lock", companyField())
      expect(await read()).toBe(402)
      await here.operate("company unlock", companyField())
    }
  })

  it("wait for no process that has ended", async () => {
    await there.close()
    closing.pop()
    const before = here.warnings.length
    await here.ports.waitForOtherProcesses(await here.ports.store.head())
    await here.operate("company lock", companyField())
    expect((await here.call(company.key, "GET", "/api/v1/phone/messages")).status).toBe(402)
    expect(here.warnings.slice(before)).toEqual([])
  })
})

const ending: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of ending.splice(0).toReversed()) await close()
})

async function open(url: string): Promise<World> {
  const world = await openWorld("start", { url })
  ending.push(() => world.close())
  return world
}

it("four processes that start concurrently on an empty database make one installation", async () => {
  const database = await testDatabase({ migrated: false })
  ending.push(() => database.drop())
  const worlds = await Promise.all(Array.from({ length: 4 }, () => open(database.url)))
  const [first, second] = worlds as [World, World]
  const { companyId } = await makeCompany(first)
  expect(await second.operate("company show", { company: companyId })).toMatchObject({
    companyId,
    balanceMicros: 50_000_000,
  })
  const statuses = await Promise.all(worlds.map((world) => world.operate("projections status")))
  const here = statuses.flatMap(({ projections }) =>
    projections
      .filter((one: { here: boolean }) => one.here)
      .map(({ name }: { name: string }) => name),
  )
  const names = statuses[0].projections.map(({ name }: { name: string }) => name)
  expect(here.toSorted()).toEqual(names.toSorted())
  expect(await first.operate("audit show", { stream: "prices" })).toMatchObject({
    events: [{ revision: 0 }],
  })
  for (const world of worlds) expect(world.warnings).toEqual([])
})

it("a later process reads the facts of the others, and continues after they have stopped", async () => {
  const database = await testDatabase()
  ending.push(() => database.drop())
  const first = await openWorld("start", { url: database.url })
  const { companyId, key } = await makeCompany(first)
  const second = await open(database.url)
  expect((await second.call(key, "GET", "/api/v1/people")).status).toBe(200)
  await first.close()
  await second.operate("funds add", { company: companyId, dollars: "5" })
  await second.operate("wait")
  const { projections } = await second.operate("projections status")
  expect(projections.every((one: { here: boolean }) => one.here)).toBe(true)
  const audit = await second.operate("audit verify")
  expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  expect(second.warnings).toEqual([])
})
