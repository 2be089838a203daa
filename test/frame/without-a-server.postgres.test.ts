/** Calls without a web server, such as those of a session. */
import { beforeEach, expect, it } from "vitest"
import type { ApiCall, PersonIdentity } from "../../src/frame/routes/api-call.ts"
import { bodyFromBytes } from "../../src/frame/routes/api-call.ts"
import { handleCall } from "../../src/frame/routes/handle-call.ts"
import { openRateLimits } from "../../src/frame/routes/checks/rate-limits.ts"
import { openLastWrites } from "../../src/frame/routes/checks/6-position.ts"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import type { RouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import type { Company } from "../support/world.ts"
import {
  addPerson,
  unchargedCallsOf,
  makeCompany,
  setLimit,
  sharedWorld,
} from "../support/world.ts"
import { createRoute, whoAmIRoute } from "./sample-routes.ts"

const world = await sharedWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const counted = () => unchargedCallsOf(world, company)

const call = (
  entry: Route | RouteVariants,
  who: PersonIdentity | null,
  body: unknown = null,
): Promise<unknown> => {
  const { signal } = new AbortController()
  const given: ApiCall = {
    route: entry,
    requestId: "req_1",
    params: {},
    query: {},
    target: entry.url,
    headers: { "content-type": ["application/json"] },
    body: bodyFromBytes(body === null ? null : Buffer.from(JSON.stringify(body))),
    address: "127.0.0.1",
    callerGone: signal,
    stopping: signal,
    identify: who === null ? null : async () => who,
  }
  const { ports } = world
  const calls = { ports, rateLimits: openRateLimits(ports), lastWrites: openLastWrites() }
  return handleCall(calls, given)
}
const owner = (): PersonIdentity => ({ companyId: company.companyId, personId: company.ownerId })

it("a call can be made by a person without a key, with their permissions", async () => {
  expect(await call(whoAmIRoute, owner())).toMatchObject({
    status: 200,
    body: JSON.stringify({ personId: company.ownerId, byKey: false }),
  })
  const { personId } = await addPerson(world, company, { role: "developer" })
  const refused = await call(whoAmIRoute, { companyId: company.companyId, personId })
  expect(refused).toMatchObject({ status: 403, error: "not_allowed" })
})

it("a call is not counted, but is rejected at the company's limit", async () => {
  const before = await counted()
  expect(await call(createRoute, owner(), { name: "a" })).toMatchObject({ status: 201 })
  expect(await counted()).toBe(before)
  await setLimit(world, company, { dollars: "0" })
  expect(await call(createRoute, owner(), { name: "a" })).toMatchObject({
    status: 429,
    error: "spend_limit_reached",
  })
})

it("a call by a person of no company, or by no person, is rejected", async () => {
  const stranger = { companyId: company.companyId, personId: "per_unknown" } as const
  expect(await call(whoAmIRoute, stranger)).toMatchObject({ status: 401, error: "invalid_key" })
  expect(await call(whoAmIRoute, null)).toMatchObject({ status: 401, error: "invalid_key" })
})

it("a call's body has the usual size limit", async () => {
  const large = { name: "a".repeat(1_100_000) }
  expect(await call(createRoute, owner(), large)).toMatchObject({ status: 413, error: "too_large" })
})
