/** Examples of routes are valid requests, and a missing one causes a helpful error. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { PROGRAM } from "../../src/slices.ts"
import { entryAt, validRequest } from "../support/api-contract.ts"
import { routeNameOf } from "../support/routes-table.ts"
import { createRoute, shapedRoute, bytesRoute, paramsRoute } from "./sample-routes.ts"

/** The same route without its example. */
function withoutExample({ example: _shown, ...rest }: Route): Route {
  return rest
}

describe("every route", () => {
  it.for(PROGRAM.routes.map((one) => [routeNameOf(one, PROGRAM.routes), one] as const))(
    "has a valid example or needs none: %s",
    ([, one]) => {
      expect(validRequest(one).path).toMatch(/^\/api\/v1\//)
    },
  )
})

describe("an example", () => {
  it("is placed in path and query", () => {
    const params = { thing: "a b", port: "8080" }
    const example = route({
      ...paramsRoute,
      query: z.object({ since: z.string() }),
      example: { params, query: { since: "1&2" } },
    })
    expect(validRequest(example)).toEqual({
      path: "/api/v1/pretended/a%20b/ports/8080",
      query: "?since=1%262",
      headers: {},
    })
  })

  it("can depend on the time", () => {
    const timed = route({
      ...createRoute,
      example: (at) => ({ body: { name: new Date(at).toISOString() } }),
    })
    expect(validRequest(timed, 0).body).toEqual({ name: "1970-01-01T00:00:00.000Z" })
  })

  it.for([
    [
      "a body",
      withoutExample(createRoute),
      "POST /api/v1/pretended has no example: write `example: ",
    ],
    ["bytes", bytesRoute, "body is missing."],
    [
      "path parameters",
      withoutExample(paramsRoute),
      "params.thing is missing. params.port is missing.",
    ],
    [
      "a required field",
      route({ ...createRoute, example: { body: { nam: "a" } } }),
      /^POST \/api\/v1\/pretended has an invalid example: .* body\.name: /s,
    ],
    [
      "a query",
      route({ ...withoutExample(paramsRoute), url: "/a", query: z.object({ since: z.string() }) }),
      /^GET \/a has no example: .* query\.since: /s,
    ],
  ] as const)("that lacks %s causes a helpful error", ([, one, words]) => {
    expect(() => validRequest(one)).toThrow(words)
  })
})

describe("the route at a path", () => {
  const literal = route({ ...paramsRoute, url: "/api/v1/pretended/a/ports/all" })
  const entries = [paramsRoute, literal, shapedRoute]

  it.for([
    ["GET", "/api/v1/pretended/a/ports/8080", paramsRoute],
    ["GET", "/api/v1/pretended/a/ports/all", literal],
    ["POST", shapedRoute.url, shapedRoute],
    ["GET", shapedRoute.url, undefined],
    ["GET", "/api/v1/pretended/a/b/ports/1", undefined],
  ] as const)("is found: %s %s", ([method, path, entry]) => {
    expect(entryAt(entries, method, path)).toBe(entry)
  })
})
