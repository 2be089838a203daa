/** Routes for other clients than the API's: their authentication, counting and error format. */
import { afterAll, expect, it } from "vitest"
import { z } from "zod"
import type { QueryVariants } from "../../src/frame/routes/declare/route-variants.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { NonApiClient } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { assemble } from "../../src/frame/slice.ts"
import { unchargedCallsOf, makeCompany, makeKey, sharedWorld } from "../support/world.ts"

const URL = "/pretended/:thing"
let isContinuation = false

const nonApiClient: NonApiClient = {
  realm: "things",
  accessRefusal: async (_ports, _caller, { user, params }) => {
    if (user !== "Töchter") return refusal("invalid_key", "Not yours.")
    return params["thing"] === "none" ? refusal("not_found", "There is none.") : null
  },
  isContinuation: async () => isContinuation,
  formatRefusal: ({ error, status, message }) => ({
    ...(status === 403 ? { status: 200 } : {}),
    mediaType: "text/plain",
    body: `${error}: ${message}`,
  }),
}

const base = {
  method: "GET",
  url: URL,
  group: "pretended",
  summary: "Pretended",
  nonApiClient,
  isCounted: true,
  bodyTimeoutMs: 600_000,
  reply: z.object({ is: z.string() }),
} as const

const byQuery: QueryVariants = {
  method: "GET",
  url: URL,
  parameter: "kind",
  routes: {
    one: route({
      ...base,
      name: "askOne",
      operation: null,
      query: z.object({ kind: z.string() }),
      handle: async () => ({ ok: true, body: { is: "one" } }),
    }),
    two: route({
      ...base,
      name: "askTwo",
      operation: "code.push",
      query: z.object({ kind: z.string() }),
      handle: async () => ({ ok: true, body: { is: "two" } }),
    }),
  },
  unmatchedRefusal: refusal("not_allowed", "There are two kinds."),
}

const world = await sharedWorld()
const { pages, entries, retiredPaths } = assemble([{ name: "things", pages: [byQuery] }])
const app = await buildApp(world.ports, entries, retiredPaths, { rateLimits: "on", pages })
afterAll(() => app.close())
const company = await makeCompany(world)

const basic = (text: string | Buffer) => `Basic ${Buffer.from(text as string).toString("base64")}`
const ask = async (query: string, authorization?: string, thing = "it") => {
  const url = `/pretended/${thing}${query}`
  const headers = authorization === undefined ? {} : { authorization }
  const answer = await app.inject({ method: "GET", url, headers })
  return { ...answer, statusAndBody: [answer.statusCode, answer.body] }
}

it("a client authenticates with a user name and a key", async () => {
  for (const user of ["Töchter"]) {
    expect((await ask("?kind=one", basic(`${user}:${company.key}`))).statusAndBody).toEqual([
      200,
      '{"is":"one"}',
    ])
  }
  for (const wrong of [
    undefined,
    `Bearer ${company.key}`,
    "Basic ?",
    basic(company.key),
    basic(Buffer.from([0xff, 0x3a, 0x41])),
    basic(`:${company.key}`),
    basic(`ad:a:${company.key}`),
  ]) {
    const answer = await ask("?kind=one", wrong)
    expect([answer.statusCode, answer.headers["www-authenticate"]]).toEqual([
      401,
      'Basic realm="things", charset="UTF-8"',
    ])
    expect(answer.body).toMatch(/^invalid_key: /)
    expect(answer.headers["cache-control"]).toBe("no-store")
  }
})

it("the query selects one of several routes", async () => {
  const own = basic(`Töchter:${company.key}`)
  expect((await ask("?kind=two", own)).statusAndBody).toEqual([200, '{"is":"two"}'])
  for (const query of ["", "?kind=three", "?kind=constructor", "?kind=one&kind=two"]) {
    expect((await ask(query)).statusAndBody).toEqual([200, "not_allowed: There are two kinds."])
  }
})

it("a client gets errors in its own format", async () => {
  const own = basic(`Töchter:${company.key}`)
  expect((await ask("?kind=one", own, "none")).statusAndBody).toEqual([
    404,
    "not_found: There is none.",
  ])
  expect((await ask("?kind=one&x=1", own)).statusAndBody).toEqual([
    400,
    expect.stringMatching(/^validation: /),
  ])
  const { key } = await makeKey(world, company, { operations: ["code.pull"] })
  const text = expect.stringMatching(/^operation_not_granted: /) as string
  expect((await ask("?kind=two", basic(`Töchter:${key}`))).statusAndBody).toEqual([200, text])
})

it("a client is counted once for an exchange of several calls", async () => {
  const own = basic(`Töchter:${company.key}`)
  const before = await unchargedCallsOf(world, company)
  await ask("?kind=one", own)
  expect(await unchargedCallsOf(world, company)).toBe(before + 1)
  isContinuation = true
  await ask("?kind=one", own)
  expect(await unchargedCallsOf(world, company)).toBe(before + 1)
  isContinuation = false
})

it("a client has the route's timeout for its body", () => {
  expect(app.server.requestTimeout).toBe(600_000)
})
