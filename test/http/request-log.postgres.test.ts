/** The log line of each request. */
import type { FastifyInstance } from "fastify"
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import { signInHeaders } from "../access/sign-in-headers.ts"
import { MESSAGES_PATH } from "../phone/text-requests.ts"
import type { Company } from "../support/world.ts"
import { callApp, makeCompany, makeKey, sharedWorld } from "../support/world.ts"

type Line = Readonly<Record<string, unknown>>

const world = await sharedWorld()
let company: Company
const lines: Line[] = []

const app = await appOf(1)
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
  lines.length = 0
})

/** An app that logs this share of successful requests. */
async function appOf(logSampleRate: number): Promise<FastifyInstance> {
  const info = (message: string, details?: object) => void lines.push({ message, ...details })
  const ports = { ...world.ports, log: { ...world.ports.log, info } }
  const made = await buildApp(ports, PROGRAM.entries, PROGRAM.retiredPaths, {
    rateLimits: "off",
    logSampleRate,
  })
  await made.ready()
  return made
}

describe("a request", () => {
  it("has one line with its route, key and charge id", async () => {
    const body = { to: "+14155550123", body: "a secret" }
    const answer = await callApp(app, company.key, "POST", MESSAGES_PATH, { body })
    expect(answer.status).toBe(200)
    const stream = `ledger-${company.companyId}`
    const { events } = await world.operate("audit show", { stream, type: "Charged" })
    expect(lines).toEqual([
      {
        message: `POST ${MESSAGES_PATH} 200`,
        requestId: answer.headers["x-request-id"],
        method: "POST",
        route: MESSAGES_PATH,
        status: 200,
        company: company.companyId,
        key: company.keyId,
        chargeId: events[0].data.chargeId,
        ms: expect.any(Number) as number,
      },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/secret|4155550123/)
  })

  it("that is rejected has its error code, and company and key if they are known", async () => {
    await callApp(app, "cpk_unknown", "GET", "/api/v1/credits")
    await callApp(app, company.key, "POST", MESSAGES_PATH, { body: { to: "1", body: "x" } })
    await callApp(app, company.key, "GET", "/api/v1/nothing/+14155550123?name=Ada")
    const caller = { company: company.companyId, key: company.keyId }
    expect(lines).toMatchObject([
      { message: "GET /api/v1/credits 401", error: "invalid_key" },
      { message: `POST ${MESSAGES_PATH} 400`, error: "bad_number", ...caller },
      { message: "GET (unknown) 404", error: "not_found" },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/Ada|4155550123|cpk_/)
  })

  it("whose charge was refused has the charge id, so that the refusal can be found", async () => {
    const poor = await makeCompany(world, { funds: "0" })
    await callApp(app, poor.key, "POST", MESSAGES_PATH, { body: { to: "+14155550123", body: "x" } })
    await world.operate("wait")
    const { refusals } = await world.operate("refusals list", { company: poor.companyId })
    expect(lines).toMatchObject([
      {
        message: `POST ${MESSAGES_PATH} 402`,
        error: "payment_required",
        chargeId: refusals[0].chargeId,
      },
    ])
  })

  it("to a health endpoint has no line", async () => {
    for (const url of ["/livez", "/readyz", "/metrics"]) await app.inject(url)
    expect(lines).toEqual([])
  })

  it("that succeeds is sampled; a rejected one always has a line", async () => {
    const sampling = await appOf(0.25)
    const silent = await appOf(0)
    onTestFinished(async () => {
      await sampling.close()
      await silent.close()
    })
    for (const one of [sampling, silent]) {
      for (let i = 0; i < 8; i += 1) await callApp(one, company.key, "GET", "/api/v1/credits")
      await callApp(one, null, "GET", "/api/v1/credits")
    }
    expect(lines.map(({ status }) => status)).toEqual([200, 200, 401, 401])
  })
})

it("a rejected sign-in has a line of its own, with the key but not the person", async () => {
  const { key, keyId, appSecret } = await makeKey(world, company, { app: true })
  const signed = { method: "GET" as const, url: "/api/v1/credits", personId: company.ownerId }
  const time = new Date(world.ports.clock.now() - 61_000).toISOString()
  const headers = signInHeaders(appSecret, { ...signed, time })
  const { status } = await callApp(app, key, "GET", signed.url, { headers })
  expect(status).toBe(401)
  expect(lines).toMatchObject([
    {
      message: "a sign-in was rejected",
      company: company.companyId,
      key: keyId,
      why: expect.stringContaining("X-Person-Time") as string,
    },
    { message: "GET /api/v1/credits 401" },
  ])
  expect(JSON.stringify(lines)).not.toContain(company.ownerId)
})
