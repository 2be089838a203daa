/** Route variants of one verb and path, distinguished by their bodies. */
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
] as const)("the body selects the variant: %o", async ([body, answer]) => {
  expect(await post(url, body)).toMatchObject({ status: 200, body: answer })
})

it.for([
  ["matches none", { action: "forget" }, /action: "suggest"/],
  ["is empty", {}, /action: "suggest"/],
  ["matches two", { action: "suggest", input: "a", domain: "c.test" }, /action: "suggest"/],
  [
    "has the field of one variant and an unknown action",
    { action: "forget", domain: "c.test" },
    /only one of these/,
  ],
  ["is a list", ["suggest"], /^The body must be an object\.$/],
] as const)("a call is rejected and counted if its body %s", async ([, body, message]) => {
  const before = await counted()
  const answer = await post(url, body)
  expect(answer).toMatchObject({ status: 400, body: { error: "validation" } })
  expect(answer.body.fields.body).toMatch(message)
  expect(await counted()).toBe(before + 1)
})

it("an error names the invalid field of the selected variant", async () => {
  const answer = await post(url, { action: "suggest" })
  expect(answer).toMatchObject({ status: 400, body: { fields: { input: expect.any(String) } } })
})

it("the key is checked before the body", async () => {
  expect(await post(url, { action: "forget" }, "cpk_none")).toMatchObject({ status: 401 })
})

it("operation and account are checked for the selected variant", async () => {
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

it("the document shows all variants of a path", () => {
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
  // Errors that differ between variants are listed for each; common ones are listed once.
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

it("a field with several allowed values can select a variant", () => {
  const common = {
    group: "pretended",
    summary: "Pretended",
    isCounted: true,
    operation: null,
  } as const
  const at = { ...common, method: "POST", url: "/api/v1/pretended/run" } as const
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

it("variants must agree on everything that is checked before the body is read", () => {
  const { variants } = shapedRoute
  const [first] = variants as readonly [Route]
  const uncounted = route({ ...first, isCounted: false })
  expect(() => routeVariants("askPretended", url, [first, uncounted])).toThrow(RangeError)
  expect(() => routeVariants("askPretended", url, [])).toThrow(RangeError)
})
