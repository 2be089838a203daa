/** Checks every API answer in the tests against the API document. */
import { expect } from "vitest"
import type { ZodType } from "zod"
import type { RequestExample, Route } from "../../src/frame/routes/declare/route.ts"
import { RAW_BODY, CHUNKED_BODY } from "../../src/frame/routes/declare/route.ts"
import type { RouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import { routesIn, isRouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import {
  ERROR_STATUSES,
  publicErrorCode,
  statusOfCode,
} from "../../src/frame/routes/answers/refusal.ts"
import { formatIssue } from "../../src/frame/routes/checks/7-values.ts"
import { codeOfExample } from "../../src/frame/http/documents/document-responses.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import { errorBodySchema } from "../../src/frame/http/documents/named-schemas.ts"
import { PROGRAM } from "../../src/slices.ts"
import { routeNameOf } from "./routes-table.ts"

/** A request without its key. */
export interface ValidRequest {
  /** The path with its parameters filled in, without a query. */
  readonly path: string
  /** The query with its question mark, or empty. */
  readonly query: string
  readonly body?: object
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A valid request to a route, from its example.
 *
 * @param at time of the request, in UTC milliseconds
 * @throws Error if the route's example is missing or invalid
 */
export function validRequest(route: Route, at = Date.now()): ValidRequest {
  const shown = requestExampleOf(route, at)
  const faults = faultsOf(route, shown)
  if (faults.length > 0) throw new Error(missingExampleMessage(route, faults))
  const { params = {}, query = {}, omittedInTests } = shown
  const body = without(shown.body, omittedInTests)
  const sent = new URLSearchParams(query).toString()
  return {
    path: route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
      encodeURIComponent(params[name] ?? ""),
    ),
    query: sent === "" ? "" : `?${sent}`,
    ...(body === undefined ? {} : { body }),
    headers:
      route.permanentIdempotency === undefined ? {} : { "idempotency-key": "a right request" },
  }
}

/** The example request of a route. @param at time of the request, in UTC milliseconds */
export function requestExampleOf({ example = {} }: Route, at = Date.now()): RequestExample {
  return typeof example === "function" ? example(at) : example
}

function missingExampleMessage(route: Route, faults: readonly string[]): string {
  const name = routeNameOf(route, PROGRAM.routes)
  const fault = route.example === undefined ? "has no example" : "has an invalid example"
  return `${name} ${fault}: write \`example: { params, query, body }\` of a valid request in its route({…}). ${faults.join(" ")}`
}

/** The faults of an example by the route's schemas, one sentence each. */
function faultsOf(route: Route, shown: RequestExample): readonly string[] {
  const { params = {}, query = {}, body } = shown
  const named = [...route.url.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)
  const missing = named.filter((name) => (params[name] ?? "") === "")
  const isRaw = route.body === RAW_BODY || route.body === CHUNKED_BODY
  const isBodyMissing = route.method !== "GET" && route.body !== undefined && body === undefined
  return [
    ...missing.map((name) => `params.${name} is missing.`),
    ...(isBodyMissing ? ["body is missing."] : []),
    ...partFaults("params", route.params, params),
    ...partFaults("query", route.query, query),
    ...(isBodyMissing || isRaw || route.method === "GET"
      ? []
      : partFaults("body", route.body, body)),
  ]
}

/** A body without a field. */
function without(body: object | undefined, field: string | undefined): object | undefined {
  if (body === undefined || field === undefined) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))
}

function partFaults(part: string, schema: ZodType | undefined, value: unknown): readonly string[] {
  const issues = schema?.safeParse(value, { error: formatIssue }).error?.issues ?? []
  return issues.map(({ path, message }) => `${[part, ...path].join(".")}: ${message}`)
}

/** The route at a verb and path, or the variants that share them. */
export function entryAt(
  entries: readonly (Route | RouteVariants)[],
  method: string,
  path: string,
): Route | RouteVariants | undefined {
  const fits = (entry: Route | RouteVariants) =>
    new RegExp(`^${entry.url.replaceAll(/:\w+/g, "[^/]+")}$`).test(path)
  const found = entries.filter((entry) => entry.method === method && fits(entry))
  // A literal path comes before one with parameters.
  return found.find(({ url }) => url === path) ?? found[0]
}

/** Valid requests at one verb and path: one per variant. */
export const validRequestsOf = (entry: Route | RouteVariants): readonly ValidRequest[] =>
  routesIn([entry]).map((route) => validRequest(route))

interface RefusalBody {
  readonly error: string
  readonly message: string
  readonly fields?: Readonly<Record<string, string>>
  readonly operation?: string
}

/** The API error in a body; JSON-RPC has it in the `data` of its error. */
export function refusalFromBody(body: unknown): RefusalBody {
  const { error } = body as { readonly error?: unknown }
  const isForm = typeof error === "object" && error !== null && "data" in error
  return (isForm ? error.data : body) as RefusalBody
}

/** Status of each error code: the common codes, then those of single slices. */
export const STATUS_BY_ERROR_CODE: Readonly<Record<string, number>> = {
  ...ERROR_STATUSES,
  ...Object.fromEntries(
    PROGRAM.routes
      .flatMap(({ refusalCodes = [] }) => refusalCodes)
      .map((code) => [publicErrorCode(code), statusOfCode(code)]),
  ),
}

interface Response {
  readonly headers: Readonly<
    Record<string, { readonly required?: boolean; readonly $ref?: string }>
  >
  readonly content?: { readonly "application/json": { readonly examples?: object } }
}

type Document = {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Record<string, Response> }>>>
  >
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>
  }
}

const DOCUMENT = openApi(PROGRAM.entries, PROGRAM.retiredPaths, "http://ledger.test") as Document

/** Headers that the document describes; all others are common HTTP headers. */
const DOCUMENTED_HEADERS = Object.keys(DOCUMENT.components.headers)

/** The documented response; null if the path is not in the document. */
function documentedResponse(method: string, url: string, status: number) {
  const [path = ""] = url.split("?", 1)
  const known = entryAt(PROGRAM.entries, method, path)?.url ?? path
  const item = DOCUMENT.paths[known.replaceAll(/:(\w+)/g, "{$1}")]
  if (item === undefined) return null
  // An unknown verb gets the response of a known one, and retired paths answer every verb.
  const operation = item[method.toLowerCase()] ?? Object.values(item)[0]
  const response = operation?.responses[status]
  const headers = Object.entries(response?.headers ?? {}).map(([name, header]) => {
    const { required = false } = DOCUMENT.components.headers[header.$ref ? name : ""] ?? header
    return { name, required }
  })
  const { examples = {} } = response?.content?.["application/json"] ?? {}
  return {
    isThere: response !== undefined,
    headers,
    codes: Object.keys(examples).map(codeOfExample),
  }
}

/** Replaces every reference in a part of a document by its target; no reference is circular. */
export function inlineReferences<T>(part: T, root: object): T {
  if (Array.isArray(part)) return part.map((one: unknown) => inlineReferences(one, root)) as T
  if (typeof part !== "object" || part === null) return part
  const { $ref, ...rest } = part as { readonly $ref?: string }
  const own = Object.entries(rest).map(
    ([name, one]) => [name, inlineReferences(one, root)] as const,
  )
  if ($ref === undefined) return Object.fromEntries(own) as T
  const steps = $ref.split("/").slice(1)
  const target = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], root)
  return { ...inlineReferences(target as object, root), ...Object.fromEntries(own) } as T
}

/** The parts of an answer that the contract covers. */
interface ReceivedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** Internals that an error body must not contain: stack frames and file names. */
const INTERNALS = /\bat \S+ \(|node_modules|\.[mc]?[jt]s:\d|postgres|kysely|fastify/i

/** The schema library's own messages, which are not for users. */
const SCHEMA_WORDS = /\b(Invalid (input|option|string)|Unrecognized key|Too (big|small))\b/i

/**
 * Checks an answer against its contract. Every answer has a request id and exactly the documented headers. An error has
 * a documented code with its status, a sentence and no internals; a success has exactly the documented fields.
 */
export function expectContract(method: string, url: string, answer: ReceivedAnswer): void {
  const call = `${method} ${url} ${answer.status}`
  expect(answer.headers["x-request-id"], call).toMatch(/^req_[0-9A-Za-z]{22}$/)
  expectHead(call, documentedResponse(method, url, answer.status), answer)
  if (answer.status >= 400) return expectError(call, answer)
  const [path = ""] = url.split("?", 1)
  const entry = entryAt(PROGRAM.entries, method, path)
  if (entry === undefined) return
  if (!isRouteVariants(entry) && entry.bodilessStatuses?.includes(answer.status) === true) {
    return expect([answer.body, answer.headers["content-type"]], call).toEqual(["", undefined])
  }
  const parsed = routesIn([entry]).map(({ reply }) => reply.safeParse(answer.body))
  const match = parsed.find(({ success }) => success) ?? parsed[0]
  expect(match?.error?.issues ?? [], call).toEqual([])
  // The schema drops unknown fields, so equality proves that there are none.
  expect(match?.data, call).toEqual(answer.body)
}

function expectHead(
  call: string,
  promised: ReturnType<typeof documentedResponse>,
  { status, headers, body }: ReceivedAnswer,
): void {
  const carried = DOCUMENTED_HEADERS.filter((name) => headers[name.toLowerCase()] !== undefined)
  if (promised === null) {
    // Other undocumented paths are routes of a test.
    if (status === 404) expect(carried, `${call}: headers`).toEqual(["x-request-id"])
    return
  }
  expect(promised.isThere, `${call}: no such status in the document`).toBe(true)
  const named = promised.headers.map(({ name }) => name)
  expect(named, `${call}: headers`).toEqual(expect.arrayContaining(carried))
  const needed = promised.headers.filter(({ required }) => required).map(({ name }) => name)
  expect(carried, `${call}: headers`).toEqual(expect.arrayContaining(needed))
  if (status < 400) return
  const { error } = refusalFromBody(body)
  expect(promised.codes, `${call}: code`).toContain(error)
  const isRated = error === "rate_limited" || status === 503
  expect(headers["retry-after"] !== undefined, `${call}: Retry-After`).toBe(isRated)
}

function expectError(call: string, { status, body: answered }: ReceivedAnswer): void {
  const body = refusalFromBody(answered)
  const { error, message } = body
  expect(STATUS_BY_ERROR_CODE[error], `${call} ${error}`).toBe(status)
  expect(message, call).toMatch(/^[A-Z].*\.$/s)
  expect(JSON.stringify(body), call).not.toMatch(INTERNALS)
  expect(JSON.stringify(body), call).not.toMatch(SCHEMA_WORDS)
  const parsed = errorBodySchema(Object.keys(STATUS_BY_ERROR_CODE)).safeParse(body)
  expect(parsed.error?.issues ?? [], call).toEqual([])
  expect(deepKeys(parsed.data), call).toEqual(deepKeys(body))
}

/** All field names of a body, to find fields that the schema does not describe. */
function deepKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return null
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, deepKeys(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}
