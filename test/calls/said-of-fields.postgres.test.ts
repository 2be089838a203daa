/** What is said of the fields of a request that are not right, alike on every route. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { PROGRAM } from "../../src/slices.ts"
import type { Route } from "../../src/frame/calls/route.ts"
import { rightRequest } from "../support/right-requests.ts"
import { nameOfRoute } from "../support/route-rows.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
const company = await makeCompany(world)

/** The fields that a part of a request must have, apart from what tells shapes apart. */
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

/** Whether a shape is told from others at its path by nothing but a field that is there. */
function isToldBy(route: Route, field: string): boolean {
  const isOneOfSeveral = PROGRAM.routes.some(
    (one) => one !== route && one.method === route.method && one.url === route.url,
  )
  return isOneOfSeveral && Object.keys(rightRequest(route).body ?? {}).join() === field
}

const CASES = PROGRAM.routes.flatMap((route) =>
  partsOf(route).flatMap(([part, fields]) =>
    fields
      .filter((field) => !isToldBy(route, field))
      .map((field) => [nameOfRoute(route, PROGRAM.routes), part, field, route] as const),
  ),
)
const asked = (route: Route, more: object) => {
  const key = route.auth === false ? null : company.key
  return (url: string) => world.call(key, route.method, url, more)
}

describe("a field that must be there", () => {
  it.for(CASES)("is told of as missing: %s, %s, %s", async ([, part, field, route]) => {
    const { path, query, body, headers } = rightRequest(route)
    const left = new URLSearchParams(query)
    const rest: Record<string, unknown> = { ...(body as object | undefined) }
    if (part === "query") left.delete(field)
    else Reflect.deleteProperty(rest, field)
    const more = { headers: { ...headers }, ...(body === undefined ? {} : { body: rest }) }
    const answer = await asked(route, more)(`${path}?${left.toString()}`)
    expect([answer.status, answer.body.error]).toEqual([400, "validation"])
    expect(answer.body.fields).toEqual({ [field]: "Is required." })
    expect(answer.body.message).toBe(`The request is not valid: ${field}: Is required.`)
  })
})

describe("a parameter that is given twice", () => {
  const given = PROGRAM.routes.flatMap((route) => {
    const { query } = route
    const names = query instanceof z.ZodObject ? Object.keys(query.shape) : []
    return names.map((name) => [nameOfRoute(route, PROGRAM.routes), name, route] as const)
  })
  it.for(given)("is told of as that: %s, %s", async ([, name, route]) => {
    const { path, query, body, headers } = rightRequest(route)
    const rest = new URLSearchParams(query)
    rest.delete(name)
    const twice = `${path}?${rest.toString()}&${name}=1&${name}=1`
    const more = { headers: { ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await asked(route, more)(twice)
    expect(answer.body.fields).toEqual({ [name]: "Must be given once." })
  })
})

it("says several faults in one sentence", async () => {
  const { body } = await world.call(company.key, "POST", "/api/v1/phone/messages", { body: {} })
  expect(body.message).toBe("The request is not valid: to: Is required; body: Is required.")
})
