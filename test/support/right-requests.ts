/** A right request to every route, as the route's own example shows it, for tests that go over all routes. */
import type { ZodType } from "zod"
import type { Example } from "../../src/frame/calls/example.ts"
import type { Route } from "../../src/frame/calls/route.ts"
import type { OneOf } from "../../src/frame/calls/one-of.ts"
import { BYTES, PIECES } from "../../src/frame/calls/route.ts"
import { routesIn } from "../../src/frame/calls/one-of.ts"
import { inWords } from "../../src/frame/calls/schema-words.ts"
import { PROGRAM } from "../../src/slices.ts"
import { nameOfRoute } from "./routes-table.ts"

/** What is sent, beside the key. */
export interface RightRequest {
  /** With what stands at the path's names, and without a query. */
  readonly path: string
  /** Empty, or with its question mark. */
  readonly query: string
  readonly body?: object
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A right request to a route.
 *
 * @param at when it is asked, UTC milliseconds
 * @throws Error where the route's example is not there, or is not right
 */
export function rightRequest(route: Route, at = Date.now()): RightRequest {
  const shown = exampleOf(route, at)
  const faults = faultsOf(route, shown)
  if (faults.length > 0) throw new Error(asked(route, faults))
  const { params = {}, query = {}, leavesOut } = shown
  const body = without(shown.body, leavesOut)
  const sent = new URLSearchParams(query).toString()
  return {
    path: route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
      encodeURIComponent(params[name] ?? ""),
    ),
    query: sent === "" ? "" : `?${sent}`,
    ...(body === undefined ? {} : { body }),
    headers: route.once === undefined ? {} : { "idempotency-key": "a right request" },
  }
}

/** What a route itself shows of a right request. @param at when it is asked, UTC milliseconds */
export function exampleOf({ example = {} }: Route, at = Date.now()): Example {
  return typeof example === "function" ? example(at) : example
}

function asked(route: Route, faults: readonly string[]): string {
  const name = nameOfRoute(route, PROGRAM.routes)
  const what = route.example === undefined ? "has no example" : "has an example that is not right"
  return `${name} ${what}: write \`example: { params, query, body }\` in its route({…}), with what a right request needs. ${faults.join(" ")}`
}

/** What its schemas say against an example, a sentence each. */
function faultsOf(route: Route, shown: Example): readonly string[] {
  const { params = {}, query = {}, body } = shown
  const named = [...route.url.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)
  const missing = named.filter((name) => (params[name] ?? "") === "")
  const isRaw = route.body === BYTES || route.body === PIECES
  const isBodyMissing = route.method !== "GET" && route.body !== undefined && body === undefined
  return [
    ...missing.map((name) => `params.${name} is not there.`),
    ...(isBodyMissing ? ["body is not there."] : []),
    ...said("params", route.params, params),
    ...said("query", route.query, query),
    ...(isBodyMissing || isRaw || route.method === "GET" ? [] : said("body", route.body, body)),
  ]
}

/** A body without the field that is left out. */
function without(body: object | undefined, field: string | undefined): object | undefined {
  if (body === undefined || field === undefined) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))
}

function said(part: string, schema: ZodType | undefined, value: unknown): readonly string[] {
  const issues = schema?.safeParse(value, { error: inWords }).error?.issues ?? []
  return issues.map(({ path, message }) => `${[part, ...path].join(".")}: ${message}`)
}

/** What a path of a request is asked of: a route, or several that share its verb and path. */
export function entryAt(
  entries: readonly (Route | OneOf)[],
  method: string,
  path: string,
): Route | OneOf | undefined {
  const fits = (entry: Route | OneOf) =>
    new RegExp(`^${entry.url.replaceAll(/:\w+/g, "[^/]+")}$`).test(path)
  const found = entries.filter((entry) => entry.method === method && fits(entry))
  // What a path says in full comes before what stands at a name.
  return found.find(({ url }) => url === path) ?? found[0]
}

/** The right requests to what is asked at one verb and path: one a shape. */
export const rightRequests = (entry: Route | OneOf): readonly RightRequest[] =>
  routesIn([entry]).map((route) => rightRequest(route))
