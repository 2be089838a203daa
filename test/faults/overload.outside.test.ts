/** Four times as many callers as a process always admits, each calling again immediately. */
import { readFileSync } from "node:fs"
import type { Agent } from "node:http"
import { Agent as HttpAgent, request } from "node:http"
import process from "node:process"
import { text } from "node:stream/consumers"
import { expect, it } from "vitest"
import { ownDatabase } from "../support/world-database.ts"
import { ownDataFolder } from "../support/server-process.ts"
import { PRICE_MICROS, roundCount, textBodyTo } from "./text-load.ts"
import { SENDER_FUNDS_MICROS, expectCleanAudit, makeSender } from "./charge-audit.ts"
import { startSupervised } from "./supervised-server.ts"

const CALLERS = 4_000
const LOAD_MS = roundCount(3_000, 60_000)
/** The load continues until this many calls were rejected, however slow the machine is. */
const MIN_REFUSALS = 1_000
const NORMAL_WITHIN_MS = 5_000
/** The longest normal call on a busy machine. */
const NORMAL_MS = 1_000
/** An idle process takes 200 MB; the rest is for calls in progress and garbage. */
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024

const folder = await ownDataFolder({ DATABASE_URL: await ownDatabase(), RATE_LIMITS: "off" })
const server = await startSupervised(folder)
const sender = await makeSender(server)

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly error: string | undefined
}

async function send(agent: Agent, to: number): Promise<Answer> {
  const url = `${String(server.address())}/api/v1/phone/messages`
  const headers = { authorization: `Bearer ${sender.key}`, "content-type": "application/json" }
  const sending = request(url, { method: "POST", agent, headers })
  const answered = new Promise<Answer>((resolve, reject) => {
    // The kernel resets connections that exceed its queue.
    sending.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET") reject(error)
      else resolve({ status: 0, error: "no answer", retryAfter: undefined })
    })
    sending.once("response", (answer) => {
      text(answer).then((body) => {
        const { error } = JSON.parse(body) as { error?: string }
        const retryAfter = answer.headers["retry-after"]
        resolve({ status: answer.statusCode ?? 0, retryAfter, error })
      }, reject)
    })
  })
  sending.end(JSON.stringify(textBodyTo(`+1415555${String(1_000 + (to % 9_000))}`)))
  return answered
}

function memoryOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) * 1024
}

it("rejects excess calls with 503, stays within its memory limit, and recovers within 5 s", async () => {
  const agent = new HttpAgent({ keepAlive: true })
  const until = performance.now() + LOAD_MS
  const counts = new Map<string, number>()
  let [mostBytes, refusals] = [0, 0]
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    const continues = () => performance.now() < until || refusals < MIN_REFUSALS
    for (let calls = 0; continues(); calls += 1) {
      const { status, error = "", retryAfter } = await send(agent, i + calls * CALLERS)
      const key = `${status} ${error} ${retryAfter === undefined ? "" : "retry-after"}`.trim()
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (status !== 200) refusals += 1
      if (process.platform === "linux" && calls % 10 === 0) {
        mostBytes = Math.max(mostBytes, memoryOf(server.pid()))
      }
    }
  })
  await Promise.all(callers)
  agent.destroy()

  const fresh = new HttpAgent()
  let servedAfter = 0
  await expect
    .poll(
      async () => {
        const askedAt = performance.now()
        const { status } = await send(fresh, 1)
        if (status === 200) servedAfter += 1
        return status === 200 && performance.now() - askedAt < NORMAL_MS
      },
      { timeout: NORMAL_WITHIN_MS, interval: 100 },
    )
    .toBe(true)
  const answers = [...counts.keys()].filter((key) => key !== "0 no answer")
  // An admitted call that waits too long is answered with an unknown outcome.
  const known = ["200", "503 overloaded retry-after", "503 unavailable retry-after"]
  expect(answers.filter((key) => !known.includes(key))).toEqual([])
  expect(answers).toContain("503 overloaded retry-after")
  expect(mostBytes).toBeLessThan(MAX_MEMORY_BYTES)

  const shown = await server.operate("company show", { company: sender.companyId })
  const charged = (SENDER_FUNDS_MICROS - shown.balanceMicros) / PRICE_MICROS
  const acknowledged = (counts.get("200") ?? 0) + servedAfter
  const inDoubt = [...counts].filter(([key]) => /no answer|unavailable/.test(key))
  expect(charged).toBeGreaterThanOrEqual(acknowledged)
  expect(charged).toBeLessThanOrEqual(inDoubt.reduce((sum, [, count]) => sum + count, acknowledged))
  // The audit of this many events is slow, so only long runs do it.
  if (roundCount(1, 2) === 2) await expectCleanAudit(server)
}, 240_000)
