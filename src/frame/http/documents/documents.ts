/** The OpenAPI 3.1 document, made from the routes, and the page that shows it without a network. */
import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyInstance } from "fastify"
import type { Json } from "./document-answers.ts"
import {
  HEADERS,
  responsesOf,
  responsesOfShapes,
  retiredResponses,
  schemaOf,
} from "./document-answers.ts"
import { parametersOf, requestBodyOf, requestBodyOfShapes } from "./document-requests.ts"
import { errorBodyOf } from "./error-body.ts"
import { exampleOf } from "./examples.ts"
import { sendRefusal } from "../outgoing.ts"
import type { Code, ErrorCode } from "../../calls/refusal.ts"
import { STATUS_OF, errorOf } from "../../calls/refusal.ts"
import type { OneOf, Route } from "../../calls/route.ts"
import { isOneOf, routesIn } from "../../calls/route.ts"
import { answeredVerbs, unknownPath } from "../router-refusals.ts"

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
  entries: readonly (Route | OneOf)[],
  retired: readonly string[],
  baseUrl: () => string,
): Promise<readonly string[]> {
  const document = () => openApi(entries, retired, baseUrl())
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
  entries: readonly (Route | OneOf)[],
  retired: readonly string[],
  baseUrl: string,
): Json {
  const paths: Record<string, Json> = {}
  const codes = allCodes(entries)
  for (const entry of entries) {
    const path = entry.url.replaceAll(/:(\w+)/g, "{$1}")
    const verbs = entries
      .filter(({ url }) => url === entry.url)
      .flatMap(({ method }) => answeredVerbs(method))
    const operation = isOneOf(entry) ? operationOfShapes(entry, verbs) : operationOf(entry, verbs)
    paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operation }
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
      schemas: { Error: schemaOf(errorBodyOf(codes.map(errorOf)), "input") },
      headers: HEADERS,
      examples: Object.fromEntries(
        codes.map((code) => [errorOf(code), { value: exampleOf(code) }]),
      ),
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

/** Every code that an answer can carry: those of any route, behind them those of slices. */
function allCodes(entries: readonly (Route | OneOf)[]): readonly Code[] {
  const own = routesIn(entries).flatMap(({ refuses = [] }) => refuses)
  const codes = [...(Object.keys(STATUS_OF) as ErrorCode[]), ...own]
  return [...new Map(codes.map((code) => [errorOf(code), code])).values()]
}

function operationOf(route: Route, verbs: readonly string[]): Json {
  const parameters = parametersOf(route)
  return {
    tags: [route.group],
    summary: route.summary,
    operationId: operationId(route.method, route.url),
    description: needsOf(route),
    ...(route.auth === false ? { security: [] } : {}),
    ...(route.specGap === undefined ? {} : { "x-spec-gap": route.specGap }),
    ...(route.beyondSpec === undefined ? {} : { "x-beyond-spec": route.beyondSpec }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route),
    responses: responsesOf(route, verbs),
  }
}

/** Several routes on one verb and path: their bodies and answers stand side by side. */
function operationOfShapes({ shapes, method, url }: OneOf, verbs: readonly string[]): Json {
  const [first] = shapes as readonly [Route]
  const whys = [...new Set(shapes.flatMap(({ specGap }) => specGap ?? []))]
  const named = shapes.find(({ charged }) => charged === true) ?? first
  const parameters = parametersOf(named)
  return {
    tags: [first.group],
    summary: shapes.map(({ summary }) => summary).join("; or "),
    operationId: operationId(method, url),
    description: shapes.map((route) => `${route.summary}: ${needsOf(route)}`).join("\n\n"),
    ...(whys.length === 0 ? {} : { "x-spec-gap": whys.join(" ") }),
    ...(parameters.length === 0 ? {} : { parameters }),
    requestBody: requestBodyOfShapes(shapes),
    responses: responsesOfShapes(shapes, verbs),
  }
}

const operationId = (method: string, url: string): string =>
  `${method.toLowerCase()}${url.replaceAll(/\W+(\w)/g, (_all, c: string) => c.toUpperCase())}`

function needsOf(route: Route): string {
  const { operation, also = [], permissions = [], roles = [], auth, counted, limit } = route
  const key = auth === false ? "Needs no key." : "Needs no operation of its own."
  const quoted = [operation, ...also].map((name) => `\`${name}\``).join(", also ")
  return [
    operation === null ? key : `Operation ${quoted}.`,
    route.personKey === true ? "Takes a person's own key, never the app's shared one." : "",
    roles.length === 0 ? "" : `For an ${roles.join(" or ")} only.`,
    permissions.length === 0 ? "" : `The person needs ${permissions.join(", ")}.`,
    counted ? "Counted as an API call." : "",
    limit === undefined ? "" : `At most ${limit.most} ${limit.calls} in a minute.`,
  ]
    .filter((sentence) => sentence !== "")
    .join(" ")
}

function retiredOperation(): Json {
  return {
    tags: ["retired"],
    summary: "Retired: answers 410 to every verb",
    security: [],
    responses: retiredResponses(),
  }
}
