/** The OpenAPI 3.1 document, made from the routes, and the page that shows it without a network. */
import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyInstance } from "fastify"
import type { ZodType } from "zod"
import { z } from "zod"
import { exampleOf } from "./pipeline/examples.ts"
import { RATE_LIMITS } from "./pipeline/rate-limits.ts"
import type { ErrorCode } from "./pipeline/refusal.ts"
import { STATUS_OF } from "./pipeline/refusal.ts"
import type { Route } from "./pipeline/route.ts"

/** Where the document and its page are. */
const DOCUMENT_URL = "/openapi.json"
/** The page that people read. */
export const DOCS_URL = "/docs"

/** The page loads its own files, and calls its own server, also over plain HTTP. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Codes that the checks of every route can refuse with. */
const CODES_OF_CHECKS: readonly ErrorCode[] = [
  "validation",
  "invalid_key",
  "operation_not_granted",
  "not_allowed",
  "method_not_allowed",
  "too_large",
  "internal",
  "overloaded",
  "unavailable",
]

/** Those that say something of the caller. */
const CODES_OF_CALLERS: readonly ErrorCode[] = [
  "invalid_key",
  "operation_not_granted",
  "not_allowed",
]

/** Adds `/openapi.json` and `/docs`. */
export async function addDocuments(
  app: FastifyInstance,
  routes: readonly Route[],
  retired: readonly string[],
  baseUrl: () => string,
): Promise<void> {
  const document = () => openApi(routes, retired, baseUrl())
  await app.register(swagger, {
    mode: "static",
    specification: { document: document() as never },
  })
  await app.register(swaggerUi, {
    routePrefix: DOCS_URL,
    staticCSP: PAGE_POLICY,
    // The page must not ask another host whether the document is valid.
    uiConfig: { validatorUrl: null },
    transformSpecificationClone: false,
    transformSpecification: () => document(),
  })
  app.get(DOCUMENT_URL, async () => document())
}

type Json = Record<string, unknown>

/** The whole document. */
export function openApi(
  routes: readonly Route[],
  retired: readonly string[],
  baseUrl: string,
): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, "{$1}")
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  for (const url of retired) paths[url] = { get: retiredOperation() }
  return {
    openapi: "3.1.0",
    info: {
      title: "Company Platform API",
      version: "1.0.0",
      description:
        "Everything a company's API keys can do. Every charge is checked against the funds and " +
        "each spending limit in the same write that records it.",
    },
    servers: [{ url: baseUrl }],
    security: [{ key: [] }],
    components: {
      securitySchemes: {
        key: {
          ...{ type: "http", scheme: "bearer", bearerFormat: "cpk_…" },
          description: KEY_DESCRIPTION,
        },
      },
      schemas: { Error: ERROR_SCHEMA },
      examples: Object.fromEntries(ERROR_CODES.map((code) => [code, { value: exampleOf(code) }])),
    },
    paths,
  }
}

/** What a key is, and how the app's shared key says who is signed in. */
const KEY_DESCRIPTION =
  "An API key of the company. A call through the app's shared key can carry a person's sign-in: " +
  "`X-Person-Id`, `X-Person-Time` (ISO 8601, within 60 seconds) and `X-Person-Signature`, the " +
  "HMAC-SHA-256 in hexadecimal, keyed with the app's secret, over five texts joined by line feeds: " +
  "the verb, the path with its query as it is sent, the SHA-256 of the body in hexadecimal, the " +
  "time, the person's id. The call is then checked and weighed as that person's."

const ERROR_CODES = Object.keys(STATUS_OF) as ErrorCode[]

const ERROR_SCHEMA: Json = {
  type: "object",
  required: ["error", "message"],
  properties: {
    error: { type: "string", enum: ERROR_CODES },
    message: { type: "string" },
  },
  additionalProperties: true,
}

function operationOf(route: Route): Json {
  const parameters = parametersOf(route)
  return {
    tags: [route.group],
    summary: route.summary,
    operationId: `${route.method.toLowerCase()}${route.url.replaceAll(/\W+(\w)/g, (_all, c: string) => c.toUpperCase())}`,
    description: needsOf(route),
    ...(route.auth === false ? { security: [] } : {}),
    ...(route.specGap === undefined ? {} : { "x-spec-gap": route.specGap }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined || route.method === "GET"
      ? {}
      : {
          requestBody: {
            required: route.method !== "DELETE",
            content: { "application/json": { schema: schemaOf(route.body, "input") } },
          },
        }),
    responses: { ...successOf(route), ...refusalsOf(route) },
  }
}

function needsOf(route: Route): string {
  const { operation, also = [], permissions = [], roles = [], auth, counted, limit } = route
  const key = auth === false ? "Needs no key." : "Needs no operation of its own."
  const quoted = [operation, ...also].map((name) => `\`${name}\``).join(", also ")
  const rate = limit === undefined ? null : RATE_LIMITS[limit]
  return [
    operation === null ? key : `Operation ${quoted}.`,
    route.personKey === true ? "Takes a person's own key, never the app's shared one." : "",
    roles.length === 0 ? "" : `For an ${roles.join(" or ")} only.`,
    permissions.length === 0 ? "" : `The person needs ${permissions.join(", ")}.`,
    counted ? "Counted as an API call." : "",
    rate === null ? "" : `At most ${rate.most} ${rate.calls} in a minute.`,
  ]
    .filter((sentence) => sentence !== "")
    .join(" ")
}

function schemaOf(schema: ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
  })
  return rest as Json
}

function parametersOf(route: Route): Json[] {
  const parameters: Json[] = []
  if (route.query !== undefined) {
    const { properties = {}, required = [] } = schemaOf(route.query, "input") as {
      properties?: Record<string, Json>
      required?: string[]
    }
    for (const [name, schema] of Object.entries(properties)) {
      parameters.push({ name, in: "query", required: required.includes(name), schema })
    }
  }
  if (route.charged === true || route.once !== undefined) {
    const required = route.once !== undefined
    const schema = { type: "string", minLength: 1, maxLength: 255 }
    const howLong = required ? "for ever" : "for 30 days"
    const description = `The same key and body give the same answer, once, ${howLong}.`
    parameters.push({ name: "Idempotency-Key", in: "header", required, schema, description })
  }
  if (route.reads !== undefined || route.looks !== undefined) {
    const schema = { type: "string" }
    const description = "Waits up to 2 s until the answer shows what was written at this position."
    parameters.push({ name: "Ledger-Position", in: "header", required: false, schema, description })
  }
  return parameters
}

function successOf(route: Route): Record<string, Json> {
  const schema = schemaOf(route.reply, "output")
  const statuses = route.success ?? [200]
  return Object.fromEntries(
    statuses.map((status) => {
      const description = status === 202 ? "Begun" : "Done"
      return [status, { description, content: { "application/json": { schema } } }]
    }),
  )
}

const RETRY_AFTER: Json = {
  "Retry-After": {
    description: "So many seconds later it is worth another try.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
}

/** The refusals by status, each with the codes it can carry and one example a code. */
function refusalsOf(route: Route): Record<string, Json> {
  const codes = new Set<ErrorCode>([...CODES_OF_CHECKS, ...(route.refuses ?? [])])
  if (route.auth === false) for (const code of CODES_OF_CALLERS) codes.delete(code)
  if (route.limit !== undefined) codes.add("rate_limited")
  if (route.counted)
    for (const code of ["payment_required", "spend_limit_reached"] as const) codes.add(code)
  if (route.roleRefusal !== undefined) codes.add(route.roleRefusal)
  if (route.account !== undefined) {
    codes.add(route.account === "managed" ? "needs_managed_plan" : "card_required")
  }
  if (route.charged === true)
    for (const code of ["conflict", "idempotency_conflict"] as const) codes.add(code)
  if (route.once !== undefined)
    for (const code of ["idempotency_key_required", "idempotency_conflict"] as const)
      codes.add(code)
  if (route.body !== undefined) codes.add("unsupported_media_type")
  const byStatus: Record<string, Json> = {}
  for (const code of codes) {
    const status = String(STATUS_OF[code])
    const former = byStatus[status]
    const names = former === undefined ? code : `${String(former["description"])}, ${code}`
    const examples = {
      ...((former?.["content"] as never)?.["application/json"]?.["examples"] as Json | undefined),
      [code]: { $ref: `#/components/examples/${code}` },
    }
    const schema = { $ref: "#/components/schemas/Error" }
    byStatus[status] = {
      description: names,
      ...(STATUS_OF[code] === 503 ? { headers: RETRY_AFTER } : {}),
      content: { "application/json": { schema, examples } },
    }
  }
  return byStatus
}

function retiredOperation(): Json {
  const schema = { $ref: "#/components/schemas/Error" }
  const examples = { gone: { $ref: "#/components/examples/gone" } }
  return {
    tags: ["retired"],
    summary: "Retired: answers 410 to every verb",
    security: [],
    responses: {
      410: { description: "gone", content: { "application/json": { schema, examples } } },
    },
  }
}
