/** Several routes on one verb and path, told apart by what the body has. */
import { afterAll, beforeEach, expect, it } from "vitest"
import { z } from "zod"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { routeVariants } from "../../src/frame/routes/declare/route-variants.ts"
import { variantFor } from "../../src/frame/routes/checks/3-variant.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import type { Company } from "../support/world.ts"
import { callApp, unchargedCallsOf, makeCompany, makeKey, sharedWorld } from "../support/world.ts"
import { shapedRoute } from "./sample-routes.ts"

const world = await sharedWorld()
let company: Company

const app = await buildApp(world.ports, [shapedRoute], [])
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
})

const post = (url: string, body: unknown, key: string | null = company.key) =>
  callApp(app, key, "POST", url, { body })
const counted = () => unchargedCallsOf(world, company)

const url = "/api/v1/pretended/shaped"

it.for([
  [{ action: "suggest", input: "a" }, { suggested: "a" }],
  [{ action: "details", placeId: "b" }, { found: "b" }],
  [{ domain: "c.test", note: "d" }, { attached: "c.test" }],
] as const)("are told apart by the body: %o", async ([body, answered]) => {
  expect(await post(url, body)).toMatchObject({ status: 200, body: answered })
})

it.for([
  ["has none", { action: "forget" }, /action: "suggest"/],
  ["has none and is empty", {}, /action: "suggest"/],
  ["has two", { action: "suggest", input: "a", domain: "c.test" }, /action: "suggest"/],
  [
    "says by a field that it is another",
    { action: "forget", domain: "c.test" },
    /only one of these/,
  ],
  ["is no object", ["suggest"], /^The body must be an object\.$/],
] as const)("are refused, and counted, where the body %s", async ([, body, says]) => {
  const before = await counted()
  const answer = await post(url, body)
  expect(answer).toMatchObject({ status: 400, body: { error: "validation" } })
  expect(answer.body.fields.body).toMatch(says)
  expect(await counted()).toBe(before + 1)
})

it("name what is wrong with the one that was meant", async () => {
  const answer = await post(url, { action: "suggest" })
  expect(answer).toMatchObject({ status: 400, body: { fields: { input: expect.any(String) } } })
})

it("look at the key before the body", async () => {
  expect(await post(url, { action: "forget" }, "cpk_none")).toMatchObject({ status: 401 })
})

it("ask the operation, and what its account must have, of the one that is meant", async () => {
  const { key } = await makeKey(world, company, {
    operations: ["lookup.address.suggest", "lookup.address.details"],
  })
  await world.operate("card remove", { company: company.companyId })
  expect(await post(url, { action: "suggest", input: "a" }, key)).toMatchObject({ status: 200 })
  expect(await post(url, { domain: "c.test" }, key)).toMatchObject({
    status: 403,
    body: { error: "operation_not_granted", operation: "dns.domains.attach" },
  })
  expect(await post(url, { action: "details", placeId: "b" }, key)).toMatchObject({
    status: 402,
    body: { error: "needs_managed_plan" },
  })
})

it("stand side by side in the document", () => {
  interface Operation {
    requestBody: {
      content: { "application/json": { schema: { oneOf: object[] }; examples: object } }
    }
    responses: Record<
      string,
      { content: { "application/json": { schema: object; examples: object } } }
    >
  }
  const { paths } = openApi([shapedRoute], [], "http://ledger.test") as {
    paths: Record<string, Record<string, Operation>>
  }
  const operation = paths[url]?.["post"]
  if (operation === undefined) throw new Error(`the document has no POST ${url}`)
  const { schema, examples } = operation.requestBody.content["application/json"]
  expect(schema.oneOf).toHaveLength(3)
  expect(examples).toEqual({
    Suggest: { value: { action: "suggest", input: "1 Main St" } },
    Details: { value: { action: "details", placeId: "b" } },
    Attach: { value: { domain: "c.test" } },
  })
  // What each shape says of its own operation; what all say alike is there once.
  const refused = operation.responses["403"]?.content["application/json"].examples
  expect(refused).toMatchObject({
    operation_not_granted: { value: { operation: "lookup.address.suggest" } },
    "operation_not_granted: Details": { value: { operation: "lookup.address.details" } },
    "operation_not_granted: Attach": { value: { operation: "dns.domains.attach" } },
  })
  expect(Object.keys(refused ?? {}).filter((name) => name.startsWith("not_allowed"))).toHaveLength(
    1,
  )
  expect(operation.responses["200"]?.content["application/json"].schema).toMatchObject({
    anyOf: [expect.anything(), expect.anything(), expect.anything()],
  })
  expect(operation.responses).toHaveProperty("402")
  expect(operation.responses).toHaveProperty("429")
})

it("are told apart by a field that has one of several values as by any that must be there", () => {
  const said = {
    group: "pretended",
    summary: "Pretended",
    isCounted: true,
    operation: null,
  } as const
  const at = { ...said, method: "POST", url: "/api/v1/pretended/run" } as const
  const nothing = z.object({})
  const handle = async () => ({ ok: true as const, body: {} })
  const action = z.literal(["start", "stop"])
  const run = route({ ...at, name: "runIt", body: z.object({ action }), reply: nothing, handle })
  const named = route({
    ...at,
    name: "nameIt",
    body: z.object({ name: z.string() }),
    reply: nothing,
    handle,
  })
  const both = routeVariants("run", at.url, [run, named])
  expect(variantFor(both, { action: "stop" })).toEqual({ route: run })
  expect(variantFor(both, { name: "a" })).toEqual({ route: named })
})

it("share what is checked before the body is read, or are no such route", () => {
  const { variants } = shapedRoute
  const [first] = variants as readonly [Route]
  const uncounted = route({ ...first, isCounted: false })
  expect(() => routeVariants("askPretended", url, [first, uncounted])).toThrow(RangeError)
  expect(() => routeVariants("askPretended", url, [])).toThrow(RangeError)
})
