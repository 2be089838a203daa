/** A query parameter that a route does not have is 400 on every route, whatever else is asked. */
import { describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { refusalIn } from "../support/refusal-in.ts"
import { rightRequest } from "../support/right-requests.ts"
import { nameOfRoute } from "../support/route-rows.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
const company = await makeCompany(world)

const EACH = PROGRAM.routes.map((route) => [nameOfRoute(route, PROGRAM.routes), route] as const)

describe("an unknown query parameter", () => {
  it.for(EACH)("is 400: %s", async ([, route]) => {
    const { path, query, body, headers } = rightRequest(route)
    const url = `${path}${query === "" ? "?" : `${query}&`}sinse=1`
    const key = route.auth === false ? null : company.key
    const asked = { headers: { ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await world.call(key, route.method, url, asked)
    const { error, fields } = refusalIn(answer.body)
    expect([answer.status, error]).toEqual([400, "validation"])
    expect(fields?.["sinse"]).toMatch(/^Is no query parameter of this route[;,] .*\.$/)
  })

  it("changes nothing of what is retired, and of paths that are not there", async () => {
    for (const url of PROGRAM.retired) {
      expect((await world.call(company.key, "GET", `${url}?sinse=1`)).status).toBe(410)
    }
    expect((await world.call(company.key, "GET", "/api/v1/nothing?sinse=1")).status).toBe(404)
  })
})
