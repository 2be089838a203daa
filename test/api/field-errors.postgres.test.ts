/** The messages about invalid fields of a request, the same on every route. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { formatIssue } from "../../src/frame/routes/checks/7-values.ts"
import { PROGRAM } from "../../src/slices.ts"
import { validRequest } from "../support/api-contract.ts"
import { routeNameOf } from "../support/routes-table.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)

/** The required fields of a part of a request, without the literal that selects a route variant. */
function requiredIn(schema: unknown): readonly string[] {
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape)
    .filter(([, one]) => !(one as z.ZodType).safeParse(undefined).success)
    .filter(([, one]) => !(one instanceof z.ZodLiteral))
    .map(([name]) => name)
}

const partsOf = ({ query, body }: Route) =>
  [
    ["query", requiredIn(query)],
    ["body", requiredIn(body)],
  ] as const

/** Whether only the presence of a field distinguishes a route variant from others at its path. */
function isSelectedBy(route: Route, field: string): boolean {
  const hasVariants = PROGRAM.routes.some(
    (one) => one !== route && one.method === route.method && one.url === route.url,
  )
  return hasVariants && Object.keys(validRequest(route).body ?? {}).join() === field
}

const CASES = PROGRAM.routes.flatMap((route) =>
  partsOf(route).flatMap(([part, fields]) =>
    fields
      .filter((field) => !isSelectedBy(route, field))
      .map((field) => [routeNameOf(route, PROGRAM.routes), part, field, route] as const),
  ),
)
const callerOf = (route: Route, more: object) => {
  const key = route.auth === false ? null : company.key
  return (url: string) => world.call(key, route.method, url, more)
}

describe("a required field", () => {
  it.for(CASES)("is reported if it is missing: %s, %s, %s", async ([, part, field, route]) => {
    const { path, query, body, headers } = validRequest(route)
    const left = new URLSearchParams(query)
    const rest: Record<string, unknown> = { ...body }
    if (part === "query") left.delete(field)
    else Reflect.deleteProperty(rest, field)
    const more = { headers: { ...headers }, ...(body === undefined ? {} : { body: rest }) }
    const answer = await callerOf(route, more)(`${path}?${left.toString()}`)
    expect([answer.status, answer.body.error]).toEqual([400, "validation"])
    expect(answer.body.fields).toEqual({ [field]: "Is required." })
    expect(answer.body.message).toBe(`The request is not valid: ${field}: Is required.`)
  })
})

describe("a duplicate query parameter", () => {
  const given = PROGRAM.routes.flatMap((route) => {
    const { query } = route
    const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
    return names.map((name) => [routeNameOf(route, PROGRAM.routes), name, route] as const)
  })
  it.for(given)("is reported: %s, %s", async ([, name, route]) => {
    const { path, query, body, headers } = validRequest(route)
    const rest = new URLSearchParams(query)
    rest.delete(name)
    const twice = `${path}?${rest.toString()}&${name}=1&${name}=1`
    const more = { headers: { ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await callerOf(route, more)(twice)
    expect(answer.body.fields).toEqual({ [name]: "Must be given once." })
  })
})

it("a message lists several faults in one sentence", async () => {
  const { body } = await world.call(company.key, "POST", "/api/v1/phone/messages", { body: {} })
  expect(body.message).toBe("The request is not valid: to: Is required; body: Is required.")
})

describe("a body that is not an object", () => {
  // Routes with an error format of their own define their bodies themselves.
  it.for(
    PROGRAM.routes.filter(
      ({ body, errorFormat }) => body !== undefined && errorFormat === undefined,
    ),
  )("is rejected by $method $url", async ({ method, url }) => {
    for (const body of ["[]", "[1]", '"text"', "7", "true"]) {
      const headers = { "content-type": "application/json", "idempotency-key": `${url} ${body}` }
      const answer = await world.call(company.key, method, url, { body, headers })
      expect([body, answer.status, answer.body]).toEqual([
        body,
        400,
        {
          error: "validation",
          message: "The request is not valid: body: The body must be an object.",
          fields: { body: "The body must be an object." },
        },
      ])
    }
  })
})

describe("an invalid value", () => {
  const cases: readonly (readonly [z.ZodType, unknown, string])[] = [
    [z.string(), 1, "Must be text."],
    [z.string(), undefined, "Is required."],
    [z.number(), "1", "Must be a number."],
    [z.int(), 1.5, "Must be a whole number."],
    [z.boolean(), null, "Must be true or false."],
    [z.array(z.string()), {}, "Must be a list."],
    [z.object({}), [], "Must be an object."],
    [z.enum(["a", "b"]), "c", "Must be one of a, b."],
    [z.literal("a"), "c", "Must be a."],
    [z.string().max(2), "abc", "Must be at most 2 characters long."],
    [z.string().min(2), "a", "Must be at least 2 characters long."],
    [z.array(z.int()).max(1), [1, 2], "Must be at most 1 entries long."],
    [z.number().positive(), 0, "Must be more than 0."],
    [z.number().lt(3), 3, "Must be less than 3."],
    [z.number().multipleOf(2), 3, "Must be a multiple of 2."],
    [z.strictObject({}), { a: 1, b: 2 }, "Must have no field a, b."],
    [z.string().regex(/a/), "b", "Does not have the required format."],
    [z.union([z.int(), z.null()]), "b", "Does not have the required format."],
    [z.map(z.string(), z.string()), {}, "Must be of another kind."],
  ]

  it.for(cases)("is described in words: %#", ([schema, value, words]) => {
    const parsed = z.object({ field: schema }).safeParse({ field: value }, { error: formatIssue })
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([words])
  })

  it("is described by the schema's own message if there is one", () => {
    const schema = z.object({ field: z.string("Must be a name.") })
    const parsed = schema.safeParse({ field: 1 }, { error: formatIssue })
    expect(parsed.error?.issues[0]?.message).toBe("Must be a name.")
  })
})
