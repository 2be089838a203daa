/** What every answer of the API must be, whatever a test asks it for, by the API's own document. */
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

/** What is sent, beside the key. */
export interface ValidRequest {
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

/** What a route itself shows of a right request. @param at when it is asked, UTC milliseconds */
export function requestExampleOf({ example = {} }: Route, at = Date.now()): RequestExample {
  return typeof example === "function" ? example(at) : example
}

function missingExampleMessage(route: Route, faults: readonly string[]): string {
  const name = routeNameOf(route, PROGRAM.routes)
  const what = route.example === undefined ? "has no example" : "has an example that is not right"
  return `${name} ${what}: write \`example: { params, query, body }\` in its route({…}), with what a right request needs. ${faults.join(" ")}`
}

/** What its schemas say against an example, a sentence each. */
function faultsOf(route: Route, shown: RequestExample): readonly string[] {
  const { params = {}, query = {}, body } = shown
  const named = [...route.url.matchAll(/:(\w+)/g)].map(([, name = ""]) => name)
  const missing = named.filter((name) => (params[name] ?? "") === "")
  const isRaw = route.body === RAW_BODY || route.body === CHUNKED_BODY
  const isBodyMissing = route.method !== "GET" && route.body !== undefined && body === undefined
  return [
    ...missing.map((name) => `params.${name} is not there.`),
    ...(isBodyMissing ? ["body is not there."] : []),
    ...partFaults("params", route.params, params),
    ...partFaults("query", route.query, query),
    ...(isBodyMissing || isRaw || route.method === "GET"
      ? []
      : partFaults("body", route.body, body)),
  ]
}

/** A body without the field that is left out. */
function without(body: object | undefined, field: string | undefined): object | undefined {
  if (body === undefined || field === undefined) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field))
}

function partFaults(part: string, schema: ZodType | undefined, value: unknown): readonly string[] {
  const issues = schema?.safeParse(value, { error: formatIssue }).error?.issues ?? []
  return issues.map(({ path, message }) => `${[part, ...path].join(".")}: ${message}`)
}

/** What a path of a request is asked of: a route, or several that share its verb and path. */
export function entryAt(
  entries: readonly (Route | RouteVariants)[],
  method: string,
  path: string,
): Route | RouteVariants | undefined {
  const fits = (entry: Route | RouteVariants) =>
    new RegExp(`^${entry.url.replaceAll(/:\w+/g, "[^/]+")}$`).test(path)
  const found = entries.filter((entry) => entry.method === method && fits(entry))
  // What a path says in full comes before what stands at a name.
  return found.find(({ url }) => url === path) ?? found[0]
}

/** The right requests to what is asked at one verb and path: one a shape. */
export const validRequestsOf = (entry: Route | RouteVariants): readonly ValidRequest[] =>
  routesIn([entry]).map((route) => validRequest(route))

/** A refusal as the API says it. */
interface RefusalBody {
  readonly error: string
  readonly message: string
  readonly fields?: Readonly<Record<string, string>>
  readonly operation?: string
}

/** What is refused by a body: JSON-RPC has it among the data of its error. */
export function refusalFromBody(body: unknown): RefusalBody {
  const { error } = body as { readonly error?: unknown }
  const isForm = typeof error === "object" && error !== null && "data" in error
  return (isForm ? error.data : body) as RefusalBody
}

/** The codes of all routes, behind them those of slices alone. */
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

/** Headers that say something of an answer; all others are those of any HTTP server. */
const DOCUMENTED_HEADERS = Object.keys(DOCUMENT.components.headers)

/** What is promised of an answer; null where the path is none of the document's. */
function documentedResponse(method: string, url: string, status: number) {
  const [path = ""] = url.split("?", 1)
  const known = entryAt(PROGRAM.entries, method, path)?.url ?? path
  const item = DOCUMENT.paths[known.replaceAll(/:(\w+)/g, "{$1}")]
  if (item === undefined) return null
  // A verb that is not there is described where there is one, and retired paths answer every verb.
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

/** A part of a document in which every reference has become what it leads to; none leads to itself. */
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

/** An answer, as far as the contract looks at it. */
interface ReceivedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** What an error body never shows: frames of a stack, files of this program or of its packages. */
const INSIDE = /\bat \S+ \(|node_modules|\.[mc]?[jt]s:\d|postgres|kysely|fastify/i

/** What a schema says by itself, which is no sentence for a person. */
const SCHEMA_WORDS = /\b(Invalid (input|option|string)|Unrecognized key|Too (big|small))\b/i

/**
 * Holds an answer against its contract: a name for the request; where it is an error, its code with
 * the status of that code, a sentence, the fields that the document describes, and nothing of the
 * inside; where it is none, exactly the fields that the route promises. Its head carries what the
 * document names for it, and nothing else that says something of the answer.
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
  const right = parsed.find(({ success }) => success) ?? parsed[0]
  expect(right?.error?.issues ?? [], call).toEqual([])
  // What the schema does not name, it leaves out: so nothing else may have been there.
  expect(right?.data, call).toEqual(answer.body)
}

function expectHead(
  call: string,
  promised: ReturnType<typeof documentedResponse>,
  { status, headers, body }: ReceivedAnswer,
): void {
  const carried = DOCUMENTED_HEADERS.filter((name) => headers[name.toLowerCase()] !== undefined)
  if (promised === null) {
    // What else is outside of the document is a test's own route.
    if (status === 404) expect(carried, `${call}: its head`).toEqual(["x-request-id"])
    return
  }
  expect(promised.isThere, `${call}: no such status in the document`).toBe(true)
  const named = promised.headers.map(({ name }) => name)
  expect(named, `${call}: its head`).toEqual(expect.arrayContaining(carried))
  const needed = promised.headers.filter(({ required }) => required).map(({ name }) => name)
  expect(carried, `${call}: its head`).toEqual(expect.arrayContaining(needed))
  if (status < 400) return
  const { error } = refusalFromBody(body)
  expect(promised.codes, `${call}: its code`).toContain(error)
  const isRated = error === "rate_limited" || status === 503
  expect(headers["retry-after"] !== undefined, `${call}: Retry-After`).toBe(isRated)
}

function expectError(call: string, { status, body: answered }: ReceivedAnswer): void {
  const body = refusalFromBody(answered)
  const { error, message } = body
  expect(STATUS_BY_ERROR_CODE[error], `${call} ${error}`).toBe(status)
  expect(message, call).toMatch(/^[A-Z].*\.$/s)
  expect(JSON.stringify(body), call).not.toMatch(INSIDE)
  expect(JSON.stringify(body), call).not.toMatch(SCHEMA_WORDS)
  const parsed = errorBodySchema(Object.keys(STATUS_BY_ERROR_CODE)).safeParse(body)
  expect(parsed.error?.issues ?? [], call).toEqual([])
  expect(deepKeys(parsed.data), call).toEqual(deepKeys(body))
}

/** The names of everything in a body, so that nothing is there that its schema does not name. */
function deepKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return null
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, deepKeys(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}
