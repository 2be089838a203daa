/** What is charged and takes bytes: an `Idempotency-Key` stands for these bytes alone. */
import { z } from "zod"
import { afterAll, expect, it } from "vitest"
import { RAW_BODY, CHUNKED_BODY, route } from "../../src/frame/routes/declare/route.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const URL = "/api/v1/pretended/uploads"
const base = {
  method: "POST",
  url: URL,
  group: "pretended",
  summary: "Take bytes",
  name: "upload",
  operation: "code.push",
  isCounted: true,
  isCharged: true,
  reply: z.object({ text: z.string() }),
} as const

const world = await sharedWorld()
const company = await makeCompany(world)
const uploads = route({
  ...base,
  body: RAW_BODY,
  handle: async (_ports, _caller, { body }) => ({
    ok: true,
    body: { text: Buffer.from(body).toString() },
  }),
})
const app = await buildApp(world.ports, [uploads], [])
afterAll(() => app.close())

const upload = async (payload: string, type = "application/octet-stream") => {
  const headers = {
    authorization: `Bearer ${company.key}`,
    "idempotency-key": "one",
    "content-type": type,
  }
  const answer = await app.inject({ method: "POST", url: URL, headers, payload })
  return [answer.statusCode, answer.headers["idempotency-replayed"], answer.json()]
}

it("is the same request with the same bytes, and another with others", async () => {
  expect(await upload("first bytes")).toEqual([200, undefined, { text: "first bytes" }])
  expect(await upload("first bytes", "image/png")).toEqual([200, "true", { text: "first bytes" }])
  for (const other of ["quite other bytes", '{"a":1}', ""]) {
    expect(await upload(other)).toMatchObject([409, undefined, { error: "idempotency_conflict" }])
  }
})

it("is not taken piece by piece", () => {
  const handle = async () => ({ ok: true, body: { text: "" } }) as const
  expect(() => route({ ...base, body: CHUNKED_BODY, handle })).toThrow(RangeError)
})
