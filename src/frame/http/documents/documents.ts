/** The OpenAPI 3.1 document, made from the routes, and the page that shows it without a network. */
import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyInstance } from "fastify"
import type { Json } from "./document-answers.ts"
import { HEADERS, responsesOf, retiredResponses, schemaOf } from "./document-answers.ts"
import { ErrorBody } from "./error-body.ts"
import { exampleOf } from "./examples.ts"
import { sendRefusal } from "../../calls/index.ts"
import { RATE_LIMITS } from "../../calls/rate-limits.ts"
import type { ErrorCode } from "../../calls/refusal.ts"
import { STATUS_OF } from "../../calls/refusal.ts"
import type { Route } from "../../calls/route.ts"
import { unknownPath } from "../router-refusals.ts"

/** Where the document and its page are. */
const DOCUMENT_URL = "/openapi.json"
/** The page that people read. */
export const DOCS_URL = "/docs"

/** The page loads its own files, and calls its own server, also over plain HTTP. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Adds `/openapi.json` and `/docs`; the paths that are there now, each with GET and HEAD. */
export async function addDocuments(
  app: FastifyInstance,
  routes: readonly Route[],
  retired: readonly string[],
  baseUrl: () => string,
): Promise<readonly string[]> {
  const document = () => openApi(routes, retired, baseUrl())
  await app.register(swagger, {
    mode: "static",
    specification: { document: document() as never },
  })
  const urls = new Set([DOCUMENT_URL, `${DOCS_URL}/`])
  await app.register(async (page) => {
    page.addHook("onRoute", (route) => {
      urls.add(route.url)
      // The package knows GET alone; whatever is read can be asked for its head.
      if (route.method === "GET") route.method = ["GET", "HEAD"]
    })
    page.setErrorHandler((error: Error, request, reply) => {
      // A path that leads out of the page's own files is a path where nothing is.
      if (!isForbiddenPath(error)) throw error
      sendRefusal(reply, unknownPath(request.url))
    })
    await page.register(swaggerUi, {
      routePrefix: DOCS_URL,
      staticCSP: PAGE_POLICY,
      // The page must not ask another host whether the document is valid.
      uiConfig: { validatorUrl: null },
      transformSpecificationClone: false,
      transformSpecification: () => document(),
    })
  })
  app.route({ method: ["GET", "HEAD"], url: DOCUMENT_URL, handler: async () => document() })
  return [...urls]
}

function isForbiddenPath(error: Error): boolean {
  return "code" in error && error.code === "FST_STATIC_FORBIDDEN_PATH"
}

/** The whole document. */
export function openApi(
  routes: readonly Route[],
  retired: readonly string[],
  baseUrl: string,
): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, "{$1}")
    const verbs = routes.filter(({ url }) => url === route.url).map(({ method }) => method)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, verbs) }
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
      schemas: { Error: schemaOf(ErrorBody, "input") },
      headers: HEADERS,
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
  "the verb, the path with its query as it is sent, the SHA-256 of the body's bytes in hexadecimal " +
  "(of no bytes where there is no body), the time, the person's id. The call is then checked and weighed as that person's."

const ERROR_CODES = Object.keys(STATUS_OF) as ErrorCode[]

function operationOf(route: Route, verbs: readonly string[]): Json {
  const parameters = parametersOf(route)
  return {
    tags: [route.group],
    summary: route.summary,
    operationId: `${route.method.toLowerCase()}${route.url.replaceAll(/\W+(\w)/g, (_all, c: string) => c.toUpperCase())}`,
    description: needsOf(route),
    ...(route.auth === false ? { security: [] } : {}),
    ...(route.specGap === undefined ? {} : { "x-spec-gap": route.specGap }),
    ...(route.beyondSpec === undefined ? {} : { "x-beyond-spec": route.beyondSpec }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined || route.method === "GET"
      ? {}
      : {
          requestBody: {
            required: route.method !== "DELETE",
            content: { "application/json": { schema: schemaOf(route.body, "input") } },
          },
        }),
    responses: responsesOf(route, verbs),
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

function retiredOperation(): Json {
  return {
    tags: ["retired"],
    summary: "Retired: answers 410 to every verb",
    security: [],
    responses: retiredResponses(),
  }
}
