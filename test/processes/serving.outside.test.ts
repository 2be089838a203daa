/** Several processes of one machine, as `start --processes` runs them. */
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
/** The sender whose calls are at home in the process of a number. */
const senders = new Map<number, Company>()
for (let i = 0; senders.size < PROCESSES; i++) {
  const sender = await makeSender(place)
  senders.set(homeWorkerOf(tagOfId(sender.companyId), PROCESSES) as number, sender)
}

const senderAt = (number: number): Company => senders.get(number) as Company

/** Asks by an agent of Node's own, whose connection stays open where the server lets it. */
function get(agent: Agent, path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}${path}`, { agent }, (answer) => {
      let body = ""
      answer.setEncoding("utf8").on("data", (part: string) => (body += part))
      answer.once("end", () => resolve({ status: answer.statusCode, body }))
    })
    asked.once("error", reject)
    asked.end()
  })
}

/** What a process tells of itself; asked for until it serves. */
async function metricsOf(number: number): Promise<string> {
  let told = ""
  const ask = async () => {
    try {
      const { status, body } = await get(new Agent(), `/metrics?process=${number}`)
      told = body
      return status
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ECONNRESET") return null
      throw error
    }
  }
  await expect.poll(ask, { timeout: WITHIN_MS }).toBe(200)
  return told
}

/** How many texts a process answered. */
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

/** Sends a text by an agent of Node's own, whose connection stays open. */
function textBy(agent: Agent, sender: Company, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: "POST", headers: fieldsOf(sender) }
    const asked = request(`${server.url}${TEXTS}`, options, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode))
    })
    asked.once("error", reject)
    asked.end(body)
  })
}

describe("several processes", () => {
  it("say how many they are, and where each tells of itself", () => {
    const line = `  processes    ${PROCESSES}: see each at /metrics?process=1 to ${PROCESSES}`
    expect(server.lines).toContain(line)
    expect(pids()).toHaveLength(PROCESSES)
    // What hands connections over comes in there, and nobody else's user may.
    expect((statSync(join(place.dataDir, "p1.sock")).mode & 0o777).toString(8)).toBe("600")
  })

  it("take the calls of a company in its home", async () => {
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

  it("answer rightly on a connection that changes company", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const number of [1, 2, 3, 2, 1]) {
      const body = JSON.stringify(textBodyTo(`+1415555${3_000 + number}`))
      expect(await textBy(agent, senderAt(number), body)).toBe(200)
    }
    agent.destroy()
  })

  it("tell each of itself alone, also by a client that keeps connections", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const body = JSON.stringify(textBodyTo("+14155553777"))
    expect(await textBy(agent, senderAt(1), body)).toBe(200)
    // It asks on the connection that it has, which is the first process's.
    expect((await get(agent, "/metrics?process=2")).status).toBe(421)
    for (const path of ["/metrics", "/readyz", "/livez"]) {
      for (const number of [2, 3, 1, 2]) {
        expect((await get(agent, `${path}?process=${number}`)).status, path).toBe(200)
      }
      expect((await get(agent, `${path}?process=${PROCESSES + 1}`)).status).toBe(404)
    }
    agent.destroy()
  })

  it("refuse at once what is no HTTP", async () => {
    const socket = connect(Number(new URL(server.url).port))
    socket.write("SSH-2.0-OpenSSH_9.2\r\n")
    const said: Buffer[] = []
    const began = performance.now()
    for await (const bytes of socket) said.push(bytes as Buffer)
    expect(Buffer.concat(said).toString()).toMatch(/^HTTP\/1\.1 400 /)
    expect(performance.now() - began).toBeLessThan(scaledMs(9_000))
  })

  it.each([1, 7, 64, 1_000])("read a call that comes by %i bytes, whole", async (size) => {
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
    const whole = Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`)
    const socket = connect(Number(new URL(server.url).port))
    socket.setNoDelay(true)
    for (let at = 0; at < whole.length; at += size) {
      await new Promise((sent) => socket.write(whole.subarray(at, at + size), sent))
    }
    const said: Buffer[] = []
    for await (const bytes of socket) said.push(bytes as Buffer)
    expect(Buffer.concat(said).toString()).toMatch(/^HTTP\/1\.1 200 [^]*"status":"queued"/)
  })

  it("let an operator's commands see all of them", async () => {
    const charges = [...senders.values()].map(({ companyId }) =>
      operate("charge list", { company: companyId }),
    )
    for (const told of await Promise.all(charges)) expect(told.charges).not.toEqual([])
    expect(await place.runCommand("audit", "verify")).toMatchObject({ ok: true })
  })

  it("pass no limit and lose nothing but calls in hand while each is killed", async () => {
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
    expect(server.log().match(/is restarted/g)).toHaveLength(PROCESSES)
  }, 240_000)

  it("leave nobody waiting for one that died with connections on their way to it", async () => {
    const [, stopped] = pids() as readonly [number, number, number]
    process.kill(stopped, "SIGSTOP")
    const body = JSON.stringify(textBodyTo("+14155555999"))
    // Whichever of them it is: one of the three homes is away.
    const calls = [1, 2, 3].flatMap((number) =>
      Array.from({ length: 4 }, () => textBy(new Agent(), senderAt(number), body)),
    )
    const ended = Promise.allSettled(calls)
    await Promise.any(calls)
    process.kill(stopped, "SIGKILL")
    const told = await ended
    const answered = told.filter((one) => one.status === "fulfilled")
    for (const { value } of answered) expect(value).toBe(200)
    // One may have been in its hands; the others were taken by who was there.
    expect(answered.length).toBeGreaterThanOrEqual(calls.length - 1)
  }, 60_000)

  it("leave a second crew one sentence: the port is taken", async () => {
    const taken = await makeDataFolder({ PORT: new URL(server.url).port })
    const { code, stderr } = await taken.tryCommand("start", "--processes", "2")
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Port \d+ on 127\.0\.0\.1 is in use\. .*\n$/)
    await taken.removeFiles()
  }, 60_000)

  it("stop in order: calls in hand are answered, and nobody is left", async () => {
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

describe("several processes that cannot serve", () => {
  it("end with the sentence of the first that cannot", async () => {
    const wrong = await makeDataFolder({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" })
    const { code, stderr } = await wrong.tryCommand("start", "--processes", "2")
    expect(code).toBe(1)
    expect(stderr).toMatch(/DATABASE_URL/)
    expect(stderr).not.toMatch(/\n *at /)
    await wrong.removeFiles()
  }, 60_000)

  it("end with their parent", async () => {
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
