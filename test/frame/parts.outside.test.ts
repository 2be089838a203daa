/** The parts that a slice can contribute in addition to paid routes, tested with a sample slice. */
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { sql } from "kysely"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { listBackupTables } from "../../adapters/postgres/installation/postgres.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import { catalogueOf } from "../../src/frame/operator/catalogue.ts"
import { startDaemons } from "../../src/frame/daemon.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import type { SamplePartsState } from "./sample-parts.ts"
import { samplePartsSlice, signatureOf } from "./sample-parts.ts"

const parts: SamplePartsState = { actions: [], isHealthy: true }
const slice = samplePartsSlice(parts)
const program = assemble([...SLICES, slice])
let world: World
let company: Company
beforeAll(async () => {
  const settings = { ECHO_PREFIX: "re: ", ECHO_SECRET: "quiet" }
  world = await openWorld("settings", { program, settings })
  company = await makeCompany(world)
})
afterAll(() => world.close())
beforeEach(() => {
  parts.isHealthy = true
  parts.actions.length = 0
})

const get = async (url: string, headers: Record<string, string> = {}) =>
  world.app.inject({ method: "GET", url, headers })
const notes = async () => {
  await world.operate("wait")
  const { key } = company
  return (await world.call(key, "GET", "/api/v1/pretended/notes")).body.notes
}

describe("a stream", () => {
  it("is written by an operation, read by a read model and shown by a route", async () => {
    await world.operate("note take", { company: company.companyId, name: "by hand" })
    expect(await notes()).toContainEqual({ name: "by hand", text: "by hand" })
  })

  it("belongs to the program and is audited", async () => {
    const { ok, streams } = await world.operate("audit verify", { company: company.companyId })
    expect([ok, program.streams.isOwn(`notes-${company.companyId}`)]).toEqual([true, true])
    expect(streams).toBeGreaterThan(0)
  })
})

describe("a webhook", () => {
  const URL = "/hooks/pretended"
  const send = async (raw: string, signature = signatureOf(raw)) => {
    const headers = { "x-signature": signature, "content-type": "application/json" }
    const answer = await world.app.inject({ method: "POST", url: URL, headers, payload: raw })
    return { status: answer.statusCode, body: answer.json() }
  }
  const payloadOf = (at: number, ...events: readonly (readonly [id: string, name: string])[]) =>
    JSON.stringify({
      at,
      events: events.map(([id, name]) => ({ id, account: company.companyId, name })),
    })

  it("executes a command for each event, once by the provider's id", async () => {
    const raw = payloadOf(world.ports.clock.now(), ["evt_1", "first"], ["evt_2", "second"])
    expect(await send(raw)).toEqual({ status: 200, body: { taken: 2, known: 0 } })
    expect(await send(raw)).toEqual({ status: 200, body: { taken: 0, known: 2 } })
    const more = payloadOf(world.ports.clock.now(), ["evt_2", "another"], ["evt_3", "third"])
    expect(await send(more)).toEqual({ status: 200, body: { taken: 1, known: 1 } })
    const names = (await notes()).map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(["first", "second", "third"]))
    expect(names).not.toContain("another")
  })

  it.for([
    ["with another key", 0, "0".repeat(64)],
    ["too long ago", -301_000, undefined],
    ["in the future", 301_000, undefined],
  ] as const)("signed %s changes nothing", async ([, late, signature]) => {
    const raw = payloadOf(world.ports.clock.now() + late, ["evt_x", "strange"])
    expect(await send(raw, signature)).toMatchObject({ status: 401, body: { error: "not_signed" } })
    expect(JSON.stringify(await notes())).not.toContain("strange")
  })

  it("that failed is executed when it is sent again", async () => {
    const raw = payloadOf(world.ports.clock.now(), ["evt_4", "fourth"], ["evt_5", "broken"])
    expect((await send(raw)).status).toBe(500)
    expect((await send(raw)).status).toBe(500)
    const rest = payloadOf(world.ports.clock.now(), ["evt_4", "fourth"])
    expect(await send(rest)).toEqual({ status: 200, body: { taken: 0, known: 1 } })
    expect(JSON.stringify(await notes())).toContain("fourth")
  })

  it("for an unknown company is accepted and ignored", async () => {
    const at = world.ports.clock.now()
    const raw = JSON.stringify({ at, events: [{ id: "evt_6", account: "unknown", name: "x" }] })
    expect(await send(raw)).toEqual({ status: 200, body: { taken: 0, known: 1 } })
  })

  it("is not in the API's document", () => {
    expect(JSON.stringify(openApi(program.entries, program.retiredPaths, ""))).not.toContain(URL)
  })
})

describe("a provider", () => {
  const echo = (phrase: string) =>
    world.app.inject({
      method: "POST",
      url: "/api/v1/pretended/echoes",
      payload: { text: phrase },
      headers: { authorization: `Bearer ${company.key}` },
    })

  it("is opened with its settings, and its simulator follows `simulator set`", async () => {
    expect((await echo("a")).json()).toEqual({ heard: "re: a" })
    await world.operate("simulator set", { name: "echo", outcome: "loud", times: 1 })
    expect((await echo("a")).json()).toEqual({ heard: "RE: A" })
    expect((await echo("a")).json()).toEqual({ heard: "re: a" })
    const { simulators } = await world.operate("simulator list")
    expect(simulators).toContainEqual(
      expect.objectContaining({
        name: "echo",
        outcome: "ok",
        outcomes: expect.arrayContaining(["loud"]),
      }),
    )
    const wrong = world.operate("simulator set", { name: "echo", outcome: "explode" })
    await expect(wrong).rejects.toThrow(
      'echo has no outcome \\"explode\\"; use ok, unavailable, silent, slow, loud',
    )
  })

  it("rejects calls with its slice's own error code, which is in the document", async () => {
    const answer = await echo("")
    expect([answer.statusCode, answer.json()]).toEqual([
      409,
      { error: "no_echo", message: "Nothing comes back from there.", from: "a wall" },
    ])
    const document = JSON.stringify(openApi(program.entries, program.retiredPaths, ""))
    expect(document).toContain('"no_echo":{"value":{"error":"no_echo"')
  })

  it("reports settings that are invalid together", () => {
    const [own] = slice.settings ?? []
    expect(own?.faults?.({ ECHO_PREFIX: "a" })).toEqual([
      "ECHO_PREFIX is nothing without ECHO_SECRET: set both.",
    ])
    expect(own?.schema.safeParse({ ECHO_SECRET: "a" }).success).toBe(false)
  })
})

describe("a blob", () => {
  it("is written from a chunked body and sent in ranges", async () => {
    const headers = { authorization: `Bearer ${company.key}` }
    const url = "/api/v1/pretended/tapes/one"
    const payload = Buffer.alloc(100_000, "0123456789")
    const put = await world.app.inject({ method: "PUT", url, headers, payload })
    expect([put.statusCode, put.json()]).toEqual([201, { bytes: 100_000 }])
    const part = await get(url, { ...headers, range: "bytes=65530-65541" })
    expect([part.statusCode, part.body]).toEqual([206, "012345678901"])
    expect((await get(url, { ...headers, range: "bytes=100000-" })).statusCode).toBe(416)
    expect((await get("/api/v1/pretended/tapes/two", headers)).statusCode).toBe(404)
  })
})

describe("a slice outside the API", () => {
  it("can have a host route, which answers requests and upgrades", async () => {
    expect((await get("/x", { host: "a.echo.test" })).body).toBe("re: host route")
    await world.app.listen({ port: 0, host: "127.0.0.1" })
    const { port } = world.app.server.address() as AddressInfo
    const socket = connect(port, "127.0.0.1")
    await once(socket, "connect")
    socket.end(
      "GET / HTTP/1.1\r\nhost: a.echo.test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello",
    )
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 101 .*\r\n\r\nhello$/s)
  })

  it("can have a probe in /readyz and a metric in /metrics", async () => {
    expect((await get("/metrics")).body).toContain('ledger_echoes{loudness="low"} 3')
    expect((await get("/readyz")).body).toContain("ok echo\n")
  })

  it("can have daemons; if one fails to start, those before it are stopped", async () => {
    const closers: { readonly close: () => Promise<void> }[] = []
    const broken = {
      displayName: "the broken daemon",
      start: () => Promise.reject(new Error("port 53 is taken")),
    }
    const daemons = [...(slice.daemons ?? []), broken]
    const starting = startDaemons(daemons, world.ports, (closer) => closers.push(closer))
    await expect(starting).rejects.toThrow("port 53 is taken")
    for (const { close } of closers) await close()
    expect(parts.actions).toEqual(["started", "stopped"])
  })

  it("can have a daemon that reports its listening address", async () => {
    const listeningAddress = { name: "echo", address: "127.0.0.1:7" }
    const daemon = {
      displayName: "a daemon",
      start: async () => ({ stop: async () => undefined, listeningAddress }),
    }
    const silent = { displayName: "another", start: async () => ({ stop: async () => undefined }) }
    const addresses = await startDaemons([daemon, silent], world.ports, () => undefined)
    expect(addresses).toEqual([listeningAddress])
  })

  it("can have doctor checks and commands", async () => {
    const settings = settingsReader({ ECHO_PREFIX: "x" })
    const examined = { settings, dataDir: "/nowhere", stored: null, pacer: machinePacer }
    const found = await Promise.all(program.doctorChecks.map((check) => check(examined)))
    expect(found.flat()).toContainEqual(
      expect.objectContaining({ check: "echo", says: 'prefix "x"' }),
    )
    const { commands, topics } = catalogueOf(program)
    expect(commands.map(({ name }) => name)).toContain("note take")
    expect(topics["note"]).toBe("notes")
  })
})

describe("a table", () => {
  const labels = async () => {
    const found = await sql<{ label: string }>`
      select label from ledger.labels where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    return found.rows.map(({ label }) => label)
  }

  it("is created by its migration and included in backups", async () => {
    await sql`insert into ledger.labels (company_id, label) values (${company.companyId}, 'red')`.execute(
      world.ports.readAll,
    )
    const backedUp: string[] = []
    for await (const { name, json } of world.ports.backupSet.read("after")) {
      if (name === "labels") backedUp.push(json)
    }
    expect(backedUp.join("")).toContain('"label":"red"')
    expect(listBackupTables(program.tables).map(({ table }) => table)).toContain("labels")
    const backup = await world.ports.backupSet.migrationNames()
    expect(backup).toContain("parts-0001-labels")
  })

  it("loses an erased company's rows, and the slice's erase and sweep hooks run", async () => {
    expect(await labels()).toEqual(["red"])
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    expect(await labels()).toEqual([])
    expect(parts.actions).toContain(`erased ${company.companyId}`)
    await world.ports.runHousekeeping()
    expect(parts.actions).toContain("swept")
  })

  it("has a migration whose name begins with its slice's name", () => {
    const strange = { name: "a", migrations: { "0001-labels": { up: async () => undefined } } }
    expect(() => assemble([strange])).toThrow(
      "the migration 0001-labels must have a name that begins with a-",
    )
  })
})
