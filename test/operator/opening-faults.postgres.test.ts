/** What an operator is told of a database that cannot be opened when the server starts. */
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

/** What a driver's real error becomes. */
async function openingOf(connectionString: string): Promise<unknown> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 300 })
  const error: unknown = await client.connect().catch((thrown: unknown) => thrown)
  return explainStartupFault(error, CONFIG)
}

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `postgres://ledger@127.0.0.1:${(server.address() as AddressInfo).port}/ledger`
}

function expectSaid(fault: unknown, words: RegExp): void {
  expect(fault).toBeInstanceOf(StartupFault)
  expect(String(fault)).toMatch(
    /The database of DATABASE_URL cannot be opened \(.+\)\. Start it, or correct the address\.$/,
  )
  expect(String(fault)).toMatch(words)
}

describe("a database that cannot be opened is named, with what mends it, where it", () => {
  it("takes connections and says nothing", async () => {
    const server = createServer()
    onTestFinished(() => void server.close())
    expectSaid(await openingOf(await listening(server)), /timeout/)
  })

  it("hangs up", async () => {
    const server = createServer((socket) => socket.destroy())
    onTestFinished(() => void server.close())
    expectSaid(await openingOf(await listening(server)), /ECONNRESET|terminated/)
  })

  it("is not there", async () => {
    const server = createServer()
    const url = await listening(server)
    server.close()
    await once(server, "close")
    expectSaid(await openingOf(url), /ECONNREFUSED/)
  })

  it("has another name, or another server's", async () => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const url = new URL(database.url)
    url.pathname = "/no_such_database"
    expectSaid(await openingOf(url.href), /no_such_database/)
    expectSaid(await openingOf("postgres://a@no-such-host.invalid/ledger"), /ENOTFOUND|EAI_AGAIN/)
  })

  it("has no TLS, or a certificate that nobody vouches for", async () => {
    const database = await testDatabase()
    onTestFinished(() => database.drop())
    const fault = await openingOf(`${database.url}?sslmode=verify-full`)
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

  it("has no room for one more", () => {
    const full = Object.assign(new Error("sorry, too many clients already"), { code: "53300" })
    expectSaid(explainStartupFault(full, CONFIG), /too many clients/)
  })
})

it("names the server of events where that is silent", () => {
  const silent = new Unavailable("timeout expired")
  const said = explainStartupFault(silent, { eventStoreUrl: "esdb://events.test:2113" })
  expect(String(said)).toContain(
    "The server of LEDGER_EVENTSTORE_URL cannot be used (timeout expired)",
  )
})

it("leaves what is no database's fault as it is", () => {
  const missing = Object.assign(new Error("ENOENT: no such file"), {
    code: "ENOENT",
    syscall: "open",
  })
  expect(explainStartupFault(missing, CONFIG)).toBe(missing)
  const fault = new TypeError("x is not a function")
  expect(explainStartupFault(fault, CONFIG)).toBe(fault)
})

/** A database in which a company was made, and then a time of the clock's. */
async function livedUntil(move: (world: World) => Promise<unknown>): Promise<string> {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const world = await openWorld("start", { url: database.url })
  await makeCompany(world)
  await move(world)
  await world.close()
  return database.url
}

describe("an installation whose test clock was moved, opened by the machine's clock,", () => {
  it("is refused while that is ahead, and goes on by the test clock", async () => {
    const url = await livedUntil((world) => world.operate("clock advance", { duration: "30d" }))
    const refused = await openWorld("start", { url, clock: "system" }).catch(
      (error: unknown) => error,
    )
    const said = explainStartupFault(refused, { eventStoreUrl: null })
    expect(said).toBeInstanceOf(StartupFault)
    expect(String(said)).toMatch(
      /test clock .* is at 20\d\d-.*Z, .*\. Set LEDGER_CLOCK=test, or use another/,
    )
    const again = await openWorld("start", { url, clock: "test" })
    onTestFinished(() => again.close())
    await again.operate("clock advance", { duration: "1d" })
  })

  it("goes on by the machine's where the test clock stood still", async () => {
    const url = await livedUntil((world) => world.operate("clock show"))
    const again = await openWorld("start", { url, clock: "system" })
    onTestFinished(() => again.close())
    await again.operate("wait")
    expect(again.warnings).toEqual([])
  })
})
