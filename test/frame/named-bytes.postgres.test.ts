/** Charged routes with a body of bytes: an `Idempotency-Key` belongs to one body. */
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

it("a request with the same bytes is replayed, and one with other bytes is a conflict", async () => {
  expect(await upload("first bytes")).toEqual([200, undefined, { text: "first bytes" }])
  expect(await upload("first bytes", "image/png")).toEqual([200, "true", { text: "first bytes" }])
  for (const other of ["quite other bytes", '{"a":1}', ""]) {
    expect(await upload(other)).toMatchObject([409, undefined, { error: "idempotency_conflict" }])
  }
})

it("a charged route cannot have a chunked body", () => {
  const handle = async () => ({ ok: true, body: { text: "" } }) as const
  expect(() => route({ ...base, body: CHUNKED_BODY, handle })).toThrow(RangeError)
})
