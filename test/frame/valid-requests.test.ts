/** Examples of routes: each is a right request, and one that is not there is asked for in words. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { PROGRAM } from "../../src/slices.ts"
import { entryAt, validRequest } from "../support/api-contract.ts"
import { routeNameOf } from "../support/routes-table.ts"
import { createRoute, shapedRoute, bytesRoute, paramsRoute } from "./sample-routes.ts"

/** The same route without its example. */
function unshown({ example: _shown, ...rest }: Route): Route {
  return rest
}

describe("every route", () => {
  it.for(PROGRAM.routes.map((one) => [routeNameOf(one, PROGRAM.routes), one] as const))(
    "shows a right request, or needs none: %s",
    ([, one]) => {
      expect(validRequest(one).path).toMatch(/^\/api\/v1\//)
    },
  )
})

describe("an example", () => {
  it("is put where it belongs", () => {
    const params = { thing: "a b", port: "8080" }
    const asked = route({
      ...paramsRoute,
      query: z.object({ since: z.string() }),
      example: { params, query: { since: "1&2" } },
    })
    expect(validRequest(asked)).toEqual({
      path: "/api/v1/pretended/a%20b/ports/8080",
      query: "?since=1%262",
      headers: {},
    })
  })

  it("that only its time makes right is made for its time", () => {
    const timed = route({
      ...createRoute,
      example: (at) => ({ body: { name: new Date(at).toISOString() } }),
    })
    expect(validRequest(timed, 0).body).toEqual({ name: "1970-01-01T00:00:00.000Z" })
  })

  it.for([
    ["a body", unshown(createRoute), "POST /api/v1/pretended has no example: write `example: "],
    ["bytes", bytesRoute, "body is not there."],
    [
      "what stands in a path",
      unshown(paramsRoute),
      "params.thing is not there. params.port is not there.",
    ],
    [
      "what its schema asks for",
      route({ ...createRoute, example: { body: { nam: "a" } } }),
      /^POST \/api\/v1\/pretended has an example that is not right: .* body\.name: /s,
    ],
    [
      "a query",
      route({ ...unshown(paramsRoute), url: "/a", query: z.object({ since: z.string() }) }),
      /^GET \/a has no example: .* query\.since: /s,
    ],
  ] as const)("that lacks %s is asked for in words", ([, one, words]) => {
    expect(() => validRequest(one)).toThrow(words)
  })
})

describe("what is asked at a path", () => {
  const whole = route({ ...paramsRoute, url: "/api/v1/pretended/a/ports/all" })
  const entries = [paramsRoute, whole, shapedRoute]

  it.for([
    ["GET", "/api/v1/pretended/a/ports/8080", paramsRoute],
    ["GET", "/api/v1/pretended/a/ports/all", whole],
    ["POST", shapedRoute.url, shapedRoute],
    ["GET", shapedRoute.url, undefined],
    ["GET", "/api/v1/pretended/a/b/ports/1", undefined],
  ] as const)("%s %s", ([method, path, entry]) => {
    expect(entryAt(entries, method, path)).toBe(entry)
  })
})
