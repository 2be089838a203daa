/** The specification's table of routes, as data, and routes that are made from its lines. */
import { PROGRAM } from "../../src/slices.ts"
import { readFileSync } from "node:fs"
import { z } from "zod"
import type { RateLimit } from "../../src/frame/calls/rate-limits.ts"
import { RATE_LIMITS } from "../../src/frame/calls/rate-limits.ts"
import type { Route } from "../../src/frame/calls/route.ts"
import { route } from "../../src/frame/calls/route.ts"
import type { SpecRoute } from "./route-rows.ts"
import { routesOf } from "./route-rows.ts"

/** Reads a file of test data. */
function readData(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), "utf8"))
}

/** Every line of the table. */
export const SPEC_ROUTES = readData("routes.json") as readonly SpecRoute[]

/** What is built beyond the specification, in the same form. */
const BEYOND = readData("beyond-spec.json") as {
  readonly routes: readonly SpecRoute[]
  readonly operations: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, readonly [number, string]>>
}

/** Rate limits beyond the specification: how many calls a minute, and of whom. */
export const BEYOND_LIMITS = BEYOND.limits

/** Routes beyond the specification. */
export const BEYOND_ROUTES = BEYOND.routes

/** Every line of both tables. */
export const ALL_ROUTES: readonly SpecRoute[] = [...SPEC_ROUTES, ...BEYOND_ROUTES]

const OPERATIONS = readData("operations.json") as {
  readonly grantable: Readonly<Record<string, string>>
  readonly withoutRoute: readonly string[]
}

/** What each operation asks of a person, those beyond the specification among them. */
export const GRANTABLE: Readonly<Record<string, string>> = {
  ...OPERATIONS.grantable,
  ...BEYOND.operations,
}

/** The operations that the specification names without a route. */
export const WITHOUT_ROUTE = OPERATIONS.withoutRoute

/** How a line of the table is called. */
export function nameOf({ method, path, body, operation }: SpecRoute): string {
  if (method === "GIT") return `GIT ${operation}`
  return body === undefined ? `${method} ${path}` : `${method} ${path} with ${body}`
}

/** Whether a line is of a path that is over. */
export const isRetired = ({ success }: SpecRoute): boolean => success === 410

/** Whether a line is of a verb that is refused before a key is looked at. */
export const isOtherVerb = ({ success }: SpecRoute): boolean => success === 405

/** Whether there is a route for a line. */
export const isBuilt = (spec: SpecRoute): boolean => routesOf(spec, PROGRAM.routes).length > 0

/** Whole groups that the app's shared key never uses (decisions.md §2). */
const OWN_KEYS_ONLY = ["boxes", "publishing", "code", "company"]

/** Whether a line takes a person's own key alone. */
export const takesOwnKey = ({ personKey, group }: SpecRoute): boolean =>
  personKey === true || OWN_KEYS_ONLY.includes(group)

/** A route that says what a line of the table says, at an address of its own, and does nothing. */
export function standInOf(spec: SpecRoute, url: string): Route {
  const { method, group, operation, counted, limit, account } = spec
  const { also, permissions, roles, roleRefusal } = spec
  return route({
    name: `standIn${url.replaceAll(/\W/g, "")}`,
    method: method as Route["method"],
    url,
    group,
    operation,
    counted,
    ...(limit === undefined ? {} : { limit: rateNamed(limit) }),
    ...(account === undefined ? {} : { account }),
    ...(also === undefined ? {} : { also }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(roles === undefined ? {} : { roles }),
    ...(roleRefusal === undefined ? {} : { roleRefusal }),
    personKey: takesOwnKey(spec),
    summary: `Stands in for ${nameOf(spec)}`,
    reply: z.object({ ok: z.literal(true) }),
    handle: async () => ({ ok: true, body: { ok: true as const } }),
  })
}

/** The rate limit of this name. @throws Error where there is none */
function rateNamed(name: string): RateLimit {
  const found = Object.values(RATE_LIMITS).find((limit) => limit.name === name)
  if (found === undefined) throw new Error(`there is no rate limit ${name}`)
  return found
}
