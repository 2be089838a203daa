/** Real processes on one database; the clocks of some become wrong by ten minutes. Also a server's sockets. */
import { once } from "node:events"
import { connect } from "node:net"
import process from "node:process"
import { text } from "node:stream/consumers"
import { afterAll, expect, it, describe } from "vitest"
import { queryRows } from "../support/embedded-postgres.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder, ownDataFolder } from "../support/server-process.ts"
import { ownDatabase } from "../support/world-database.ts"
import { newTextKeys, senderOverHttp } from "./text-load.ts"
import { expectCleanAudit, makeSender } from "./charge-audit.ts"

/** A clock is measured every ten seconds, and sooner if it is unsure. */
const SURE_WITHIN_MS = 15_000

const FAULTS = ["leap=600000", "leap=-600000", "leap=600000,unmeasured", "leap=-600000,unmeasured"]

const databaseUrl = await ownDatabase()
const right = await ownDataFolder({ DATABASE_URL: databaseUrl, RATE_LIMITS: "off" })
const rightServer = await right.start()
const sender = await makeSender(right)
const sendRight = senderOverHttp(() => rightServer.url, sender.key)
const wrong: ServerDataFolder[] = []
afterAll(async () => {
  for (const folder of wrong) await folder.removeFiles()
})

async function startWrong(fault: string): Promise<ServerProcess> {
  const folder = await makeDataFolder({
    DATABASE_URL: databaseUrl,
    RATE_LIMITS: "off",
    NODE_ENV: "test",
    LEDGER_CLOCK_FAULT: fault,
    DATABASE_CONNECTIONS: "16",
  })
  wrong.push(folder)
  return folder.start()
}

async function databaseNow(): Promise<number> {
  const [row] = await queryRows<{ now: Date }>(databaseUrl, "select clock_timestamp() as now")
  return Number(row?.now)
}

/** The times of the company's facts, by the writer's clock. */
async function factTimes(): Promise<readonly number[]> {
  const stream = `ledger-${sender.companyId}`
  const { events } = await right.operate("audit show", { stream })
  return events.map(({ at }: { at: string }) => Date.parse(at))
}

it.each(FAULTS)(
  "reports that the time is unknown, and recovers: %s",
  async (fault) => {
    const server = await startWrong(fault)
    const send = senderOverHttp(() => server.url, sender.key)
    const [first, unsure, meanwhile, last] = newTextKeys(4) as [string, string, string, string]
    const begunAt = await databaseNow()
    expect(await send(first, "+14155550101")).toMatchObject({ status: 200 })

    process.kill(server.pid, "SIGUSR2")
    const unavailable = {
      status: 503,
      body: { error: "unavailable", message: expect.stringContaining("the ledger's time") },
    }
    const isMeasured = !fault.includes("unmeasured")
    if (isMeasured) {
      // The clock is unsure for only half a second, which a slow call can miss, but the log always has it.
      const logAfterCall = async () => {
        await send(first, "+14155550101")
        return server.log()
      }
      await expect.poll(logAfterCall).toContain("the ledger's clock jumped")
    } else {
      // Until the signal arrives, the first answer is replayed.
      await expect.poll(() => send(first, "+14155550101")).toMatchObject(unavailable)
      expect(await send(unsure, "+14155550101")).toMatchObject(unavailable)
    }
    expect(await sendRight(meanwhile, "+14155550101")).toMatchObject({ status: 200 })

    if (isMeasured) {
      await expect
        .poll(() => send(last, "+14155550101"), { timeout: SURE_WITHIN_MS })
        .toMatchObject({ status: 200 })
    } else {
      expect(await send(last, "+14155550101")).toMatchObject(unavailable)
      expect(await sendRight(last, "+14155550101")).toMatchObject({ status: 200 })
    }
    const endedAt = await databaseNow()
    const times = (await factTimes()).filter((at) => at > begunAt - 60_000)
    expect(Math.max(...times)).toBeLessThanOrEqual(endedAt + 1_000)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    await server.endBySignal("SIGKILL")
  },
  180_000,
)

it("leaves a clean audit", async () => {
  await right.operate("wait")
  await expectCleanAudit(right)
})

const folder = await ownDataFolder({ DATABASE_URL: await ownDatabase(), HOST: "localhost" })

async function sendLines(url: string, ...lines: readonly string[]) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname.replace(/^\[(.*)\]$/, "$1"))
  await once(socket, "connect")
  socket.write(lines.join("\r\n"))
  return socket
}

describe("a server", () => {
  it("listens on one address of localhost, and answers 400 to bytes that are not a request", async () => {
    const server = await folder.start()
    const { hostname, port } = new URL(server.url)
    expect(["127.0.0.1", "[::1]"]).toContain(hostname)
    const other = connect(Number(port), hostname === "127.0.0.1" ? "::1" : "127.0.0.1")
    // The connection is refused, or this machine has no such address.
    const [error] = (await once(other, "error")) as [NodeJS.ErrnoException]
    expect(["ECONNREFUSED", "EADDRNOTAVAIL"]).toContain(error.code)
    const answer = await text(await sendLines(server.url, "no request at all", "", ""))
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"error":"validation"/)
    expect(await server.endBySignal("SIGTERM")).toBe(0)
  })

  it("stops even if callers never finish their requests", async () => {
    const server = await folder.start()
    const { key } = await makeSender(folder)
    const head = ["POST /api/v1/phone/messages HTTP/1.1", "host: ledger.test"]
    const anonymous = [...head, "content-type: application/json"]
    const authenticated = [...anonymous, `authorization: Bearer ${key}`]
    const bodies = [anonymous, authenticated].flatMap((sent) => [
      [...sent, "content-length: 100", "", '{"to":'],
      [...sent, "transfer-encoding: chunked", "", "6", '{"to":', ""],
    ])
    const sockets = await Promise.all(bodies.map((lines) => sendLines(server.url, ...lines)))
    // The answer to a later request shows that the server has received these.
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404)
    const ended = Promise.all(sockets.map((socket) => text(socket).catch(() => "")))
    // The exit code would be 1 if the stop had waited for them as for calls in progress.
    expect(await server.endBySignal("SIGTERM")).toBe(0)
    await ended
    expect(server.log()).toBe("")
  })
})
