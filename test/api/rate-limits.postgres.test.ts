/** The rate limits of the specification: one-minute windows in a process's memory. */
import { PROGRAM } from "../../src/slices.ts"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { listSettings, readConfig } from "../../src/bootstrap/settings/config.ts"
import { MESSAGES_PATH, newPhoneNumber } from "../phone/text-requests.ts"
import { SPEC_ROUTES, isBuilt, stubRouteOf } from "../support/routes-table.ts"
import type { ApiAnswer, Company } from "../support/world.ts"
import { callApp, makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"

/** Stubs for the routes of each limit that are not built yet. */
const STUBS = SPEC_ROUTES.filter((spec) => spec.limit !== undefined && !isBuilt(spec)).map(
  (spec, i) => stubRouteOf({ ...spec, method: "GET" }, `/api/v1/stubs/${i}`),
)
const urlsOf = (limit: string) =>
  STUBS.filter((one) => one.rateLimit?.name === limit).map(({ url }) => url)
const PAID = [...urlsOf("paid"), "/api/v1/publish", "/api/v1/sandboxes"]
const SEARCH = "/api/v1/phone/search"

const world = await ownWorld("time")
let company: Company
/** The process's own time. */
let elapsedMs = 0
const app = await buildApp(
  { ...world.ports, pacer: { ...world.ports.pacer, elapsedMs: () => elapsedMs } },
  [...PROGRAM.entries, ...STUBS],
  PROGRAM.retiredPaths,
)
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
})
afterEach(() => {
  // Start the next window.
  elapsedMs = (Math.floor(elapsedMs / 60_000) + 1) * 60_000
})

const read = (key: string, url: string | undefined) => callApp(app, key, "GET", url ?? "")

/** Sends concurrent paid calls, distributed over all paid routes. */
async function pay(key: string, calls: number): Promise<readonly ApiAnswer[]> {
  const routes = [...PAID, MESSAGES_PATH]
  return Promise.all(
    Array.from({ length: calls }, (_, i) => {
      const url = routes[i % routes.length]
      if (url !== MESSAGES_PATH) return read(key, url)
      return callApp(app, key, "POST", MESSAGES_PATH, {
        body: { to: newPhoneNumber(), body: "Hello" },
      })
    }),
  )
}

const limited = (answers: readonly ApiAnswer[]) => answers.filter(({ status }) => status === 429)

async function callCounts(): Promise<readonly number[]> {
  const { counts } = await world.operate("calls list", { company: company.companyId })
  return counts.map(({ calls }: { calls: number }) => calls)
}

describe("paid calls", () => {
  it("share one limit over all paid routes: one of 121 is rejected, and 121 are counted", async () => {
    expect([...PAID, MESSAGES_PATH].length).toBeGreaterThan(2)
    const answers = await pay(company.key, 121)
    expect(limited(answers)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(120)
    const [refused] = limited(answers)
    expect(refused?.headers["retry-after"]).toBe("60")
    expect(refused?.body).toEqual({
      error: "rate_limited",
      message: "Limit of 120 paid calls by this key per minute exceeded. Try again in a minute.",
    })
    expect(await callCounts()).toEqual([121])
  })

  it("are limited per key; other routes are not affected", async () => {
    await pay(company.key, 120)
    expect(limited(await pay(company.key, 3))).toHaveLength(3)
    const { key } = await makeKey(world, company)
    expect(limited(await pay(key, 120))).toHaveLength(0)
    expect((await read(company.key, MESSAGES_PATH)).status).toBe(200)
    expect((await read(company.key, "/api/v1/people")).status).toBe(200)
  })

  it("count if a later check rejects them, but not if an earlier one does", async () => {
    const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
    const refused = await Promise.all(
      Array.from({ length: 121 }, (_, i) => read(key, PAID[i % PAID.length])),
    )
    expect(limited(refused)).toHaveLength(1)
    expect(refused.filter(({ status }) => status === 403)).toHaveLength(120)
    await world.operate("company lock", { company: company.companyId })
    await pay(company.key, 121)
    await world.operate("company unlock", { company: company.companyId })
    expect(limited(await pay(company.key, 120))).toHaveLength(0)
  })

  it("do not count again if they are replayed", async () => {
    const options = {
      body: { to: newPhoneNumber(), body: "Hi" },
      headers: { "idempotency-key": "one" },
    }
    const send = () => callApp(app, company.key, "POST", MESSAGES_PATH, options)
    expect((await send()).status).toBe(200)
    expect(limited(await pay(company.key, 119))).toHaveLength(0)
    const replayed = await send()
    expect([replayed.status, replayed.headers["idempotency-replayed"]]).toEqual([200, "true"])
    expect(limited(await pay(company.key, 1))).toHaveLength(1)
  })
})

describe("a rate limit's window", () => {
  it("is sixty fixed seconds of the process's own time, not of the ledger's clock", async () => {
    const begin = elapsedMs
    elapsedMs = begin + 59_999
    expect(limited(await pay(company.key, 121))).toHaveLength(1)
    await world.operate("clock advance", { duration: "1h" })
    expect(limited(await pay(company.key, 1))).toHaveLength(1)
    elapsedMs = begin + 60_000
    expect(limited(await pay(company.key, 120))).toHaveLength(0)
    elapsedMs = begin + 119_999
    expect(limited(await pay(company.key, 1))).toHaveLength(1)
  })
})

describe("a company's searches for numbers", () => {
  it("are limited to ten a minute for all its keys together", async () => {
    const url = SEARCH
    const keys = [company.key, (await makeKey(world, company)).key]
    const answers = []
    for (let i = 0; i < 11; i += 1) answers.push(await read(keys[i % 2] ?? "", url))
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(200), 429])
    expect((await read((await makeCompany(world)).key, url)).status).toBe(200)
    expect(limited(await pay(company.key, 1))).toHaveLength(0)
  })
})

it("a fault of the limiter lets the calls pass and is logged", async () => {
  const warnings: string[] = []
  const log = { ...world.ports.log, warn: (message: string) => void warnings.push(message) }
  const elapsed = () => {
    throw new RangeError("no time is known")
  }
  const pacer = { ...world.ports.pacer, elapsedMs: elapsed }
  const faulty = await buildApp(
    { ...world.ports, pacer, log },
    [...PROGRAM.entries, ...STUBS],
    PROGRAM.retiredPaths,
  )
  const statuses = []
  for (let i = 0; i < 12; i += 1) {
    statuses.push((await callApp(faulty, company.key, "GET", SEARCH)).status)
  }
  await faulty.close()
  expect(statuses).toEqual(Array<number>(12).fill(200))
  expect(warnings).toEqual(
    Array<string>(12).fill("a call could not be counted towards its rate limit"),
  )
})

it("no other 429 has Retry-After", async () => {
  await setLimit(world, company, { dollars: "0" })
  const [refused] = await pay(company.key, 1)
  expect([refused?.status, refused?.body.error]).toEqual([429, "spend_limit_reached"])
  expect(refused?.headers["retry-after"]).toBeUndefined()
})

describe("RATE_LIMITS", () => {
  it("=off lets every call pass", async () => {
    const settings = readConfig({ RATE_LIMITS: "off" })
    const routes = [...PROGRAM.entries, ...STUBS]
    const open = await buildApp(world.ports, routes, PROGRAM.retiredPaths, settings)
    const calls = Array.from({ length: 130 }, () => callApp(open, company.key, "GET", SEARCH))
    const answers = await Promise.all(calls)
    await open.close()
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await callCounts()).toEqual([130])
  })

  it("is on by default and listed with its source", () => {
    expect(readConfig({}).rateLimits).toBe("on")
    const shown = (env: Record<string, string>) =>
      listSettings(env).find(({ name }) => name === "RATE_LIMITS")
    expect(shown({})).toEqual({ name: "RATE_LIMITS", value: "on", source: "default" })
    const off = { name: "RATE_LIMITS", value: "off", source: "environment" }
    expect(shown({ RATE_LIMITS: "off" })).toEqual(off)
  })

  it("rejects other values, and off together with a real card processor", () => {
    expect(() => readConfig({ RATE_LIMITS: "no" })).toThrow("RATE_LIMITS must be on or off")
    const real = { CARDS_STRIPE_KEY: "sk_live_x", LEDGER_SIMULATED: "all" }
    expect(readConfig({ ...real, RATE_LIMITS: "on" }).rateLimits).toBe("on")
    expect(() => readConfig({ ...real, RATE_LIMITS: "off" })).toThrow(
      "RATE_LIMITS cannot be off while CARDS_STRIPE_KEY is set.",
    )
  })
})
