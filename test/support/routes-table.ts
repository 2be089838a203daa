/** The specification's table of routes as data: it matches lines with routes, and makes stub routes from lines. */
import { readFileSync } from "node:fs"
import { z } from "zod"
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import type { RouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import type { RateLimit } from "../../src/frame/routes/checks/rate-limits.ts"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { route as routeOf } from "../../src/frame/routes/declare/route.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import { PROGRAM } from "../../src/slices.ts"

/** A line of the specification's table of routes. */
export interface SpecRoute {
  readonly group: string
  readonly method: string
  readonly path: string
  readonly operation: Operation | null
  readonly also?: readonly Operation[]
  readonly permissions?: readonly Permission[]
  readonly roles?: readonly Role[]
  readonly roleRefusal?: "not_allowed" | "role"
  readonly personKey?: boolean
  readonly counted: boolean
  /** The name of its rate limit. */
  readonly limit?: string
  readonly account?: NonNullable<Route["accountRequirement"]>
  readonly charge?: string
  readonly auth?: false
  readonly chosenVerb?: boolean
  readonly success?: number | readonly number[]
  readonly errors?: readonly string[]
  /** Which of several bodies on one path this line is. */
  readonly body?: string
}

/** The fields that distinguish a body from others on its path; undefined: any value. */
type Marks = Readonly<Record<string, unknown>>

/** Whether a line describes a route. */
export function isSpecOf(spec: SpecRoute, route: Route): boolean {
  if (spec.method !== route.method || spec.path !== route.url) return false
  return spec.body === undefined || isSameBody(marksNamed(spec.body), route)
}

/** The routes that a line describes: one if it is built, otherwise none. */
export const routesOfSpec = (spec: SpecRoute, routes: readonly Route[]): readonly Route[] =>
  routes.filter((route) => isSpecOf(spec, route))

/** The lines that describe a route. */
export const specsOfRoute = (route: Route, lines: readonly SpecRoute[]): readonly SpecRoute[] =>
  lines.filter((spec) => isSpecOf(spec, route))

/** A route's name: verb and path, and its summary if other routes share them. */
export function routeNameOf(route: Route, routes: readonly Route[]): string {
  const name = `${route.method} ${route.url}`
  const alike = routes.filter(({ method, url }) => method === route.method && url === route.url)
  return alike.length <= 1 ? name : `${name} (${route.summary})`
}

/**
 * Parses the body that a line names: `action: add`, `{check: true}` or `{domain}`.
 *
 * @throws Error if it has another form
 */
function marksNamed(body: string): Marks {
  const fields = body.replace(/^\{(.*)\}$/, "$1").split(", ")
  const marks = fields.map((field) => {
    const [, name, value] = /^(\w+)(?:: (\w+))?$/.exec(field) ?? []
    if (name === undefined) throw new Error(`not a description of a body: ${body}`)
    return [name, value === "true" ? true : value] as const
  })
  return Object.fromEntries(marks)
}

/** Whether a route's body matches a line's marks: by its literals, or else by its required fields. */
function isSameBody(named: Marks, { body }: Route): boolean {
  if (!(body instanceof z.ZodObject)) return false
  const fields = Object.entries(body.shape)
  const literals = fields.filter(([, kind]) => kind instanceof z.ZodLiteral)
  const needed = fields.filter(([, kind]) => !kind.safeParse(undefined).success)
  const marks = Object.fromEntries(literals.length > 0 ? literals : needed)
  return Object.entries(named).every(([name, value]) => {
    const kind = marks[name]
    const isLiteral = kind instanceof z.ZodLiteral
    if (kind === undefined || isLiteral !== (value !== undefined)) return false
    return value === undefined || kind.safeParse(value).success
  })
}

/** What both a route and its line declare, in one form. */
interface RouteContract {
  readonly group: string
  readonly operation: string | null
  readonly counted: boolean
  readonly limit: string | undefined
  readonly account: string | undefined
  readonly also: readonly string[] | undefined
  readonly permissions: readonly string[] | undefined
  readonly roles: readonly string[] | undefined
  readonly roleRefusal: string | undefined
  readonly personKey: boolean
  readonly charges: boolean
  readonly isOpen: boolean
  readonly chosenVerb: boolean
  readonly isBeyond: boolean
}

/** The contract that a route declares. */
export function contractOfRoute(route: Route): RouteContract {
  const {
    group,
    operation,
    isCounted,
    accountRequirement,
    additionalOperations,
    permissions,
    roles,
    roleRefusalCode,
  } = route
  return {
    group,
    operation,
    counted: isCounted,
    limit: route.rateLimit?.name,
    account: accountRequirement,
    also: additionalOperations,
    permissions,
    roles,
    roleRefusal: roleRefusalCode,
    personKey: route.isPersonKeyOnly ?? false,
    charges: route.isCharged ?? false,
    isOpen: route.auth === false,
    // Gaps of other kinds do not mention the method.
    chosenVerb: /\bmethod\b/.test(route.specGap ?? ""),
    isBeyond: route.beyondSpec !== undefined,
  }
}

/** The contract that a line describes; `isBeyond` and `personKey` depend on its table. */
export function contractOfSpec(
  spec: SpecRoute,
  { isBeyond, personKey }: Pick<RouteContract, "isBeyond" | "personKey">,
): RouteContract {
  const { group, operation, counted, limit, account, also, permissions, roles, roleRefusal } = spec
  return {
    group,
    operation,
    counted,
    limit,
    account,
    also,
    permissions,
    roles,
    roleRefusal: roleRefusal,
    personKey,
    isBeyond,
    charges: spec.charge !== undefined,
    isOpen: spec.auth === false,
    chosenVerb: spec.chosenVerb ?? false,
  }
}

/** The differences between a table and the existing routes; all empty if they agree. */
interface RouteDifferences {
  /** Lines without a route. */
  readonly missing: readonly SpecRoute[]
  /** Routes without a line. */
  readonly unknown: readonly Route[]
  /** Lines with several routes, and routes with several lines. */
  readonly twice: readonly string[]
}

/** Compares a table of routes with the existing routes. */
export function compareRoutes(
  lines: readonly SpecRoute[],
  routes: readonly Route[],
): RouteDifferences {
  const named = (spec: SpecRoute) =>
    `${spec.method} ${spec.path}${spec.body === undefined ? "" : ` with ${spec.body}`}`
  return {
    missing: lines.filter((spec) => routesOfSpec(spec, routes).length === 0),
    unknown: routes.filter((route) => specsOfRoute(route, lines).length === 0),
    twice: [
      ...lines.filter((spec) => routesOfSpec(spec, routes).length > 1).map(named),
      ...routes
        .filter((route) => specsOfRoute(route, lines).length > 1)
        .map((route) => routeNameOf(route, routes)),
    ],
  }
}

/** The error codes that the document lists for a route. */
export function codesInDocument(route: Route | RouteVariants): readonly string[] {
  const { paths } = openApi([route], [], "https://ledger.example") as {
    readonly paths: Record<
      string,
      Record<string, { readonly responses: Record<string, { readonly description: string }> }>
    >
  }
  const operations = Object.values(paths).flatMap((verbs) => Object.values(verbs))
  const responses = operations.flatMap((operation) => Object.values(operation.responses))
  return responses.flatMap(({ description }) => description.split(", "))
}

function readData(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), "utf8"))
}

/** Every line of the table. */
export const SPEC_ROUTES = readData("routes.json") as readonly SpecRoute[]

/** Routes, operations and limits beyond the specification, in the same form. */
const EXTRA_SPEC = readData("beyond-spec.json") as {
  readonly routes: readonly SpecRoute[]
  readonly operations: Readonly<Record<string, string>>
  readonly limits: Readonly<Record<string, readonly [number, string]>>
}

/** Rate limits beyond the specification: calls per minute, and what they are counted by. */
export const EXTRA_LIMITS = EXTRA_SPEC.limits

export const EXTRA_ROUTES = EXTRA_SPEC.routes

/** Every line of both tables. */
export const ALL_ROUTES: readonly SpecRoute[] = [...SPEC_ROUTES, ...EXTRA_ROUTES]

const OPERATIONS = readData("operations.json") as {
  readonly grantable: Readonly<Record<string, string>>
  readonly withoutRoute: readonly string[]
}

/** The permission that each operation requires, including those beyond the specification. */
export const GRANTABLE_OPERATIONS: Readonly<Record<string, string>> = {
  ...OPERATIONS.grantable,
  ...EXTRA_SPEC.operations,
}

/** The operations that the specification names without a route. */
export const WITHOUT_ROUTE = OPERATIONS.withoutRoute

/** The name of a line. */
export function specRouteNameOf({ method, path, body, operation }: SpecRoute): string {
  if (method === "GIT") return `GIT ${operation}`
  return body === undefined ? `${method} ${path}` : `${method} ${path} with ${body}`
}

/** Whether a line describes a retired path. */
export const isRetired = ({ success }: SpecRoute): boolean => success === 410

/** Whether a line describes a verb that is rejected before the key is checked. */
export const isRejectedVerb = ({ success }: SpecRoute): boolean => success === 405

/** Whether a line's route is built. */
export const isBuilt = (spec: SpecRoute): boolean => routesOfSpec(spec, PROGRAM.routes).length > 0

/** Groups that the app key must not use (docs/decisions/access.md). */
const OWN_KEYS_ONLY = ["boxes", "publishing", "code", "company"]

/** Whether a line's route accepts only a person's own key. */
export const isOwnKeyOnly = ({ personKey, group }: SpecRoute): boolean =>
  personKey === true || OWN_KEYS_ONLY.includes(group)

/** Makes a route with the declarations of a line, at another address, that does nothing. */
export function stubRouteOf(spec: SpecRoute, url: string): Route {
  const { method, group, operation, counted: isCounted, limit, account: accountRequirement } = spec
  const { also: additionalOperations, permissions, roles, roleRefusal: roleRefusalCode } = spec
  return routeOf({
    name: `stub${url.replaceAll(/\W/g, "")}`,
    method: method as Route["method"],
    url,
    group,
    operation,
    isCounted,
    ...(limit === undefined ? {} : { rateLimit: rateNamed(limit) }),
    ...(accountRequirement === undefined ? {} : { accountRequirement }),
    ...(additionalOperations === undefined ? {} : { additionalOperations }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(roles === undefined ? {} : { roles }),
    ...(roleRefusalCode === undefined ? {} : { roleRefusalCode }),
    isPersonKeyOnly: isOwnKeyOnly(spec),
    summary: `Stub of ${specRouteNameOf(spec)}`,
    reply: z.object({ ok: z.literal(true) }),
    handle: async () => ({ ok: true, body: { ok: true as const } }),
  })
}

/** The rate limit of a name. @throws Error if there is none */
function rateNamed(name: string): RateLimit {
  const found = Object.values(RATE_LIMITS).find((limit) => limit.name === name)
  if (found === undefined) throw new Error(`there is no rate limit ${name}`)
  return found
}
