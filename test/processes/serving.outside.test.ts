/** Multiple processes on one machine, as `start --processes` runs them. */
import { readFileSync, statSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { tagOfId } from "../../domain/kernel/ids.ts"
import { homeWorkerOf } from "../../adapters/postgres/home-worker.ts"
import { roundCount, textBodyTo } from "../faults/text-load.ts"
import { makeSender } from "../faults/charge-audit.ts"
import type { Company } from "../support/company.ts"
import { expectExactTexts, makeCompanies, sendRoundRobin } from "../faults/many-companies.ts"
import { isPidAlive } from "../support/embedded-postgres.ts"
import { worldDatabase } from "../support/world-database.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { scaledMs } from "../support/scaled-time.ts"

const PROCESSES = 3
const COMPANIES = roundCount(12, 200)
const FITTING = 2
const WITHIN_MS = 60_000
const TEXTS = "/api/v1/phone/messages"

const place = await makeDataFolder({ RATE_LIMITS: "off", LOG_LEVEL: "info" })
afterAll(() => place.removeFiles(), 60_000)
const server = await place.start("--processes", String(PROCESSES))
await server.untilLogged(/all processes serve/)
const { operate } = place
/** Per process number, a sender whose home is that process. */
const senders = new Map<number, Company>()
for (let i = 0; senders.size < PROCESSES; i++) {
  const sender = await makeSender(place)
  senders.set(homeWorkerOf(tagOfId(sender.companyId), PROCESSES) as number, sender)
}

const senderAt = (number: number): Company => senders.get(number) as Company

/** Sends a request through an agent, whose connection stays open if the server allows it. */
function get(agent: Agent, path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(`${server.url}${path}`, { agent }, (answer) => {
      let body = ""
      answer.setEncoding("utf8").on("data", (part: string) => (body += part))
      answer.once("end", () => resolve({ status: answer.statusCode, body }))
    })
    sending.once("error", reject)
    sending.end()
  })
}

/** The metrics of a process; retried until it serves. */
async function metricsOf(number: number): Promise<string> {
  let metrics = ""
  const ask = async () => {
    try {
      const { status, body } = await get(new Agent(), `/metrics?process=${number}`)
      metrics = body
      return status
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ECONNRESET") return null
      throw error
    }
  }
  await expect.poll(ask, { timeout: WITHIN_MS }).toBe(200)
  return metrics
}

async function textsOf(number: number): Promise<number> {
  const answered = /^ledger_call_seconds_count\{.*route="\/api\/v1\/phone\/messages".*\} (\d+)$/gm
  const found = [...(await metricsOf(number)).matchAll(answered)]
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** The ids of a server's processes, in the order in which they were started. */
function pids({ pid: parent } = server): readonly number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8")
  return children
    .split(" ")
    .filter((pid) => pid.trim() !== "")
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/dist/process.cjs"))
    .map(Number)
}

const fieldsOf = ({ key }: Company) => ({
  authorization: `Bearer ${key}`,
  "content-type": "application/json",
})

/** Sends a text through an agent, whose connection can stay open. */
function textBy(agent: Agent, sender: Company, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: "POST", headers: fieldsOf(sender) }
    const sending = request(`${server.url}${TEXTS}`, options, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode))
    })
    sending.once("error", reject)
    sending.end(body)
  })
}

describe("multiple processes", () => {
  it("print their number and the URLs of their metrics at the start", () => {
    const line = `  processes    ${PROCESSES}: see each at /metrics?process=1 to ${PROCESSES}`
    expect(server.lines).toContain(line)
    expect(pids()).toHaveLength(PROCESSES)
    // The supervisor hands connections over through this socket; no other user may write to it.
    expect((statSync(join(place.dataDir, "p1.sock")).mode & 0o777).toString(8)).toBe("600")
  })

  it("serve a company's calls in its home process", async () => {
    for (const number of [1, 2, 3]) {
      const before = await textsOf(number)
      for (let i = 0; i < 4; i++) {
        const agent = new Agent()
        const body = JSON.stringify(textBodyTo(`+1415555${2_000 + i}`))
        expect(await textBy(agent, senderAt(number), body)).toBe(200)
        agent.destroy()
      }
      expect(await textsOf(number)).toBe(before + 4)
    }
  })

  it("answer correctly on a connection that switches between companies", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const number of [1, 2, 3, 2, 1]) {
      const body = JSON.stringify(textBodyTo(`+1415555${3_000 + number}`))
      expect(await textBy(agent, senderAt(number), body)).toBe(200)
    }
    agent.destroy()
  })

  it("each return only their own metrics, even on a reused connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const body = JSON.stringify(textBodyTo("+14155553777"))
    expect(await textBy(agent, senderAt(1), body)).toBe(200)
    // The agent reuses its connection, which belongs to the first process.
    expect((await get(agent, "/metrics?process=2")).status).toBe(421)
    for (const path of ["/metrics", "/readyz", "/livez"]) {
      for (const number of [2, 3, 1, 2]) {
        expect((await get(agent, `${path}?process=${number}`)).status, path).toBe(200)
      }
      expect((await get(agent, `${path}?process=${PROCESSES + 1}`)).status).toBe(404)
    }
    agent.destroy()
  })

  it("reject a connection that is not HTTP immediately", async () => {
    const socket = connect(Number(new URL(server.url).port))
    socket.write("SSH-2.0-OpenSSH_9.2\r\n")
    const received: Buffer[] = []
    const began = performance.now()
    for await (const chunk of socket) received.push(chunk as Buffer)
    expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 400 /)
    expect(performance.now() - began).toBeLessThan(scaledMs(9_000))
  })

  it.each([1, 7, 64, 1_000])(
    "read all of a call that arrives in chunks of %i bytes",
    async (size) => {
      const sender = senderAt(2)
      const body = JSON.stringify({ ...textBodyTo("+14155553999"), body: "x".repeat(600) })
      const lines = Object.entries(fieldsOf(sender)).map(([name, value]) => `${name}: ${value}`)
      const head = [
        `POST ${TEXTS} HTTP/1.1`,
        "host: any",
        `content-length: ${body.length}`,
        "connection: close",
        ...lines,
      ]
      const bytes = Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`)
      const socket = connect(Number(new URL(server.url).port))
      socket.setNoDelay(true)
      for (let at = 0; at < bytes.length; at += size) {
        await new Promise((sent) => socket.write(bytes.subarray(at, at + size), sent))
      }
      const received: Buffer[] = []
      for await (const chunk of socket) received.push(chunk as Buffer)
      expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 200 [^]*"status":"queued"/)
    },
  )

  it("show the data of all processes to an operator's commands", async () => {
    const charges = [...senders.values()].map(({ companyId }) =>
      operate("charge list", { company: companyId }),
    )
    for (const list of await Promise.all(charges)) expect(list.charges).not.toEqual([])
    expect(await place.runCommand("audit", "verify")).toMatchObject({ ok: true })
  })

  it("exceed no limit and lose nothing but calls in progress while each is killed", async () => {
    const companies = await makeCompanies(place, COMPANIES, FITTING)
    for (let round = 0; round < PROCESSES; round++) {
      const load = sendRoundRobin(server.url, companies, 4)
      await load.sendMore(COMPANIES)
      const pid = pids()[0] as number
      process.kill(pid, "SIGKILL")
      await load.sendMore(COMPANIES)
      await load.end()
      for (const number of [1, 2, 3]) await metricsOf(number)
      expect(pids()).not.toContain(pid)
    }
    await expectExactTexts(place, companies)
    expect(server.log().match(/; restarting it/g)).toHaveLength(PROCESSES)
  }, 240_000)

  it("leave no caller waiting for a process that died with connections in transit", async () => {
    const [, stopped] = pids() as readonly [number, number, number]
    process.kill(stopped, "SIGSTOP")
    const body = JSON.stringify(textBodyTo("+14155555999"))
    // One of the three homes is stopped, and the test does not know which.
    const calls = [1, 2, 3].flatMap((number) =>
      Array.from({ length: 4 }, () => textBy(new Agent(), senderAt(number), body)),
    )
    const ended = Promise.allSettled(calls)
    await Promise.any(calls)
    process.kill(stopped, "SIGKILL")
    const outcomes = await ended
    const answered = outcomes.filter((one) => one.status === "fulfilled")
    for (const { value } of answered) expect(value).toBe(200)
    // The stopped process may have been serving one call; the other processes took the rest.
    expect(answered.length).toBeGreaterThanOrEqual(calls.length - 1)
  }, 60_000)

  it("make a second start fail with one sentence: the port is in use", async () => {
    const taken = await makeDataFolder({ PORT: new URL(server.url).port })
    const { code, stderr } = await taken.tryCommand("start", "--processes", "2")
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Port \d+ on 127\.0\.0\.1 is in use\. .*\n$/)
    await taken.removeFiles()
  }, 60_000)

  it("stop cleanly: calls in progress are answered, and no process is left", async () => {
    const left = pids()
    const body = JSON.stringify(textBodyTo("+14155554999"))
    const inHand = Array.from({ length: 8 }, (_, i) =>
      textBy(new Agent(), senderAt((i % PROCESSES) + 1), body),
    )
    const first = await Promise.race(inHand)
    expect(first).toBe(200)
    const code = await server.endBySignal("SIGTERM")
    expect(server.log()).not.toContain("stopped before all was done")
    expect(code).toBe(0)
    for (const status of await Promise.all(inHand)) expect([200, 503]).toContain(status)
    for (const pid of left) expect(() => process.kill(pid, 0)).toThrow("ESRCH")
  }, 60_000)
})

describe("multiple processes that cannot serve", () => {
  it("end with the error message of the first one", async () => {
    const wrong = await makeDataFolder({ DATABASE_URL: "postgres://unknown@127.0.0.1:1/none" })
    const { code, stderr } = await wrong.tryCommand("start", "--processes", "2")
    expect(code).toBe(1)
    expect(stderr).toMatch(/DATABASE_URL/)
    expect(stderr).not.toMatch(/\n *at /)
    await wrong.removeFiles()
  }, 60_000)

  it("end with their supervisor", async () => {
    const database = await worldDatabase()
    const other = await makeDataFolder({ DATABASE_URL: database.url })
    const parent = await other.start("--processes", "2")
    const left = pids(parent)
    expect(left.length).toBeGreaterThan(0)
    await parent.endBySignal("SIGKILL")
    for (const pid of left) {
      await expect.poll(() => isPidAlive(pid), { timeout: WITHIN_MS }).toBe(false)
    }
    await other.removeFiles()
    await database.drop()
  }, 120_000)
})
