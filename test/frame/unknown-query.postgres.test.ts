/** Unknown query parameters, tested with sample routes. */
import { afterAll, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { callApp, unchargedCallsOf, makeCompany, sharedWorld } from "../support/world.ts"
import { queryRoute, paramsRoute } from "./sample-routes.ts"

const world = await sharedWorld()
const company = await makeCompany(world)
const app = await buildApp(world.ports, [paramsRoute, queryRoute], [])
afterAll(() => app.close())

const bearer = () => ({ authorization: `Bearer ${company.key}` })
const get = (url: string, key: string | null = company.key) => callApp(app, key, "GET", url)
const LIST = "/api/v1/pretended/list"

it("an unknown query parameter is rejected on a route without any, and the call is counted", async () => {
  const before = await unchargedCallsOf(world, company)
  const answer = await get("/api/v1/pretended/a/ports/1?prot=1")
  const words = "Is not a query parameter of this route, which takes none."
  expect(answer).toMatchObject({ status: 400, body: { error: "validation" } })
  expect(answer.body.fields).toEqual({ prot: words })
  expect(answer.body.message).toBe(`The request is not valid: prot: ${words}`)
  expect(await unchargedCallsOf(world, company)).toBe(before + 1)
})

it.for([
  ["sinse=2026-11-01", "sinse", "since"],
  ["Limit=3", "Limit", "limit"],
  ["since=a&curser=b", "curser", "cursor"],
] as const)("the error has the nearest name: %s", async ([query, name, nearest]) => {
  const answer = await get(`${LIST}?${query}`)
  const words = `Is not a query parameter of this route; the nearest is ${nearest}.`
  expect([answer.status, answer.body.fields]).toEqual([400, { [name]: words }])
})

it.for(["constructor", "toString", "limt"])(
  "the error lists all names if none is near: %s",
  async (name) => {
    const answer = await get(`/api/v1/pretended/list?${name}=1`)
    expect(answer.status).toBe(400)
    expect(answer.body.fields[name]).toMatch(
      /^Is not a query parameter of this route(, which takes since, cursor, limit\.|; the nearest is limit\.)$/,
    )
  },
)

it.for(["", "__proto__", "%3Cscript%3E", "x".repeat(9_000)])(
  "the error does not repeat an invalid name: %s",
  async (name) => {
    const answer = await get(`${LIST}?${name}=1`)
    const words = expect.stringMatching(
      /^Has a parameter that this route does not have, which takes since, cursor, limit\.$/,
    )
    expect([answer.status, answer.body.fields]).toEqual([400, { query: words }])
  },
)

it("query parameters are checked for HEAD like for GET, after the key", async () => {
  const url = `${LIST}?nope=1`
  const head = await app.inject({ method: "HEAD", url, headers: bearer() })
  expect([head.statusCode, head.payload]).toEqual([400, ""])
  expect((await get(url, null)).status).toBe(401)
})
