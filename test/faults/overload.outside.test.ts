/** Four times as many callers as a process always takes in hand, each calling again at once. */
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
/** However slow the machine is, it is gone on until so many were refused. */
const MIN_REFUSALS = 1_000
const NORMAL_WITHIN_MS = 5_000
/** What a call takes where nothing is the matter, on a machine that has much else to do. */
const NORMAL_MS = 1_000
/** It takes 200 MB where it idles; the rest is for what it has in hand, and for garbage. */
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024

const place = await ownDataFolder({ DATABASE_URL: await ownDatabase(), RATE_LIMITS: "off" })
const server = await startSupervised(place)
const sender = await makeSender(server)

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly error: string | undefined
}

async function send(agent: Agent, to: number): Promise<Answer> {
  const url = `${String(server.address())}/api/v1/phone/messages`
  const headers = { authorization: `Bearer ${sender.key}`, "content-type": "application/json" }
  const asked = request(url, { method: "POST", agent, headers })
  const answered = new Promise<Answer>((resolve, reject) => {
    // The kernel takes no more connections than it has room for, either.
    asked.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET") reject(error)
      else resolve({ status: 0, error: "no answer", retryAfter: undefined })
    })
    asked.once("response", (answer) => {
      text(answer).then((body) => {
        const { error } = JSON.parse(body) as { error?: string }
        const retryAfter = answer.headers["retry-after"]
        resolve({ status: answer.statusCode ?? 0, retryAfter, error })
      }, reject)
    })
  })
  asked.end(JSON.stringify(textBodyTo(`+1415555${String(1_000 + (to % 9_000))}`)))
  return answered
}

function memoryOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) * 1024
}

it("refuses what it cannot bear with 503, stays small, and is as before within 5 s", async () => {
  const agent = new HttpAgent({ keepAlive: true })
  const until = performance.now() + LOAD_MS
  const counts = new Map<string, number>()
  let [mostBytes, refusals] = [0, 0]
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    const goesOn = () => performance.now() < until || refusals < MIN_REFUSALS
    for (let calls = 0; goesOn(); calls += 1) {
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
  // Who was let in and then waited too long after all is told that it is in doubt.
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
  // There is much to look at by now: only the long runs take the time.
  if (roundCount(1, 2) === 2) await expectCleanAudit(server)
}, 240_000)
