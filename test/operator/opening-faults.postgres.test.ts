/** Messages for a store that cannot be opened when the server starts. */
import { once } from "node:events"
import { type AddressInfo, type Server, createServer } from "node:net"
import pg from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { StartupFault } from "../../adapters/machine/startup/port.ts"
import { explainStartupFault } from "../../src/bootstrap/open/startup-faults.ts"
import { testDatabase } from "../support/test-database.ts"
import { type World, makeCompany, openWorld } from "../support/world.ts"

const CONFIG = { eventStoreUrl: null }

/** The startup fault for a driver's real error. */
async function faultOf(connectionString: string): Promise<unknown> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 300 })
  const error: unknown = await client.connect().catch((thrown: unknown) => thrown)
  return explainStartupFault(error, CONFIG)
}

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `postgres://ledger@127.0.0.1:${(server.address() as AddressInfo).port}/ledger`
}

function expectFault(fault: unknown, words: RegExp): void {
  expect(fault).toBeInstanceOf(StartupFault)
  expect(String(fault)).toMatch(
    /The database of DATABASE_URL cannot be opened \(.+\)\. Start it, or correct the address\.$/,
  )
  expect(String(fault)).toMatch(words)
}

describe("a database that cannot be opened is named, with the fix, if it", () => {
  it("accepts connections and does not answer", async () => {
    const server = createServer()
    onTestFinished(() => void server.close())
    expectFault(await faultOf(await listening(server)), /timeout/)
  })

  it("hangs up", async () => {
    const server = createServer((socket) => socket.destroy())
    onTestFinished(() => void server.close())
    expectFault(await faultOf(await listening(server)), /ECONNRESET|terminated/)
  })

  it("does not listen", async () => {
    const server = createServer()
    const url = await listening(server)
    server.close()
    await once(server, "close")
    expectFault(await faultOf(url), /ECONNREFUSED/)
  })

  it("does not exist, or its host name does not", async () => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const url = new URL(database.url)
    url.pathname = "/no_such_database"
    expectFault(await faultOf(url.href), /no_such_database/)
    expectFault(await faultOf("postgres://a@no-such-host.invalid/ledger"), /ENOTFOUND|EAI_AGAIN/)
  })

  it("has no TLS, or a certificate of an unknown issuer", async () => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const fault = await faultOf(`${database.url}?sslmode=verify-full`)
    expect(fault).toBeInstanceOf(StartupFault)
    expect(String(fault)).toMatch(
      /with TLS \(.*does not support SSL.*\)\. Name the issuer.*sslrootcert=FILE/,
    )
    const signed = Object.assign(new Error("self-signed certificate in certificate chain"), {
      code: "SELF_SIGNED_CERT_IN_CHAIN",
    })
    expect(String(explainStartupFault(signed, CONFIG))).toContain(
      "with TLS (self-signed certificate",
    )
  })

  it("has no connection left", () => {
    const full = Object.assign(new Error("sorry, too many clients already"), { code: "53300" })
    expectFault(explainStartupFault(full, CONFIG), /too many clients/)
  })
})

it("explainStartupFault names an event store that does not answer", () => {
  const silent = new Unavailable("timeout expired")
  const fault = explainStartupFault(silent, { eventStoreUrl: "esdb://events.test:2113" })
  expect(String(fault)).toContain(
    "The server of LEDGER_EVENTSTORE_URL cannot be used (timeout expired)",
  )
})

it("explainStartupFault returns other errors unchanged", () => {
  const missing = Object.assign(new Error("ENOENT: no such file"), {
    code: "ENOENT",
    syscall: "open",
  })
  expect(explainStartupFault(missing, CONFIG)).toBe(missing)
  const fault = new TypeError("x is not a function")
  expect(explainStartupFault(fault, CONFIG)).toBe(fault)
})

/** A database with a company, after these steps on its clock. */
async function databaseAfter(move: (world: World) => Promise<unknown>): Promise<string> {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const world = await openWorld("start", { url: database.url })
  await makeCompany(world)
  await move(world)
  await world.close()
  return database.url
}

describe("an installation with a test clock, opened with the machine's clock,", () => {
  it("is rejected while the test clock is ahead, and opens with the test clock", async () => {
    const url = await databaseAfter((world) => world.operate("clock advance", { duration: "30d" }))
    const refused = await openWorld("start", { url, clock: "system" }).catch(
      (error: unknown) => error,
    )
    const fault = explainStartupFault(refused, { eventStoreUrl: null })
    expect(fault).toBeInstanceOf(StartupFault)
    expect(String(fault)).toMatch(
      /test clock .* is at 20\d\d-.*Z, .*\. Set LEDGER_CLOCK=test, or use another/,
    )
    const again = await openWorld("start", { url, clock: "test" })
    onTestFinished(() => again.close())
    await again.operate("clock advance", { duration: "1d" })
  })

  it("opens if the test clock was never moved", async () => {
    const url = await databaseAfter((world) => world.operate("clock show"))
    const again = await openWorld("start", { url, clock: "system" })
    onTestFinished(() => again.close())
    await again.operate("wait")
    expect(again.warnings).toEqual([])
  })
})
