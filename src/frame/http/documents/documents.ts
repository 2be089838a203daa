/** Builds the OpenAPI 3.1 document from the routes, and serves it with a page that needs no network. */
import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyInstance } from "fastify"
import type { ExampleAnswers } from "./document-responses.ts"
import {
  RESPONSE_HEADERS,
  responsesOf,
  responsesOfVariants,
  retiredResponses,
} from "./document-responses.ts"
import { parametersOf, requestBodyOf, requestBodyOfVariants } from "./document-requests.ts"
import type { JsonObject } from "./named-schemas.ts"
import { errorBodySchema, hoistSchemas, jsonSchemaOf } from "./named-schemas.ts"
import { errorExampleOf } from "./error-examples.ts"
import { sendRefusal } from "../responses.ts"
import type { RefusalCode, ErrorCode } from "../../routes/answers/refusal.ts"
import { ERROR_STATUSES, publicErrorCode } from "../../routes/answers/refusal.ts"
import type { Route } from "../../routes/declare/route.ts"
import type { RouteVariants } from "../../routes/declare/route-variants.ts"
import { isRouteVariants, routesIn } from "../../routes/declare/route-variants.ts"
import { answeredMethods, unknownPathRefusal } from "../known-paths.ts"

/** The program's name. */
export const PRODUCT = "company-ledger"
const DOCUMENT_TITLE = `Company Platform API of ${PRODUCT}`

const INTRODUCTION = `The API for a company's API keys. Every charge is checked against the company's funds and against each
spending limit in the same write that records it.

## Keys

Send \`Authorization: Bearer cpk_…\` with every request. A key is shown once, when it is created. It works
immediately, until it is paused or deleted. A key belongs to a person, or is the company-wide app key. Each route names
the operation that the key must be granted and the permissions that its person needs. A key that has used up its own
spending limit is rejected with 401 \`invalid_key\` and the \`limit\`.

## Money

Fields that end in \`Micros\` are whole micro-dollars (millionths of a US dollar): \`9000\` is $0.009. Every other amount
is in dollars, exact and not rounded. The one exception is the \`amount\` that a 402 offers to buy: it is rounded up to
whole dollars.

A charge must fit every spending limit of the key, the person and the company (else 429 \`spend_limit_reached\`, which
adding funds does not help), and then the funds (else 402 \`payment_required\`). A 402 with \`pay\` holds the request that
buys the missing funds.

Times are ISO 8601 in UTC. The days, weeks (from Monday) and months of spending limits begin at 00:00 UTC.

## Retries

Send an \`Idempotency-Key\` of 1 to 255 characters with every paid request. Retries with the same key and body get the
same answer, with \`Idempotency-Replayed: true\`, and are never charged twice. Answers are stored for 30 days, those to
purchases forever. Another body with the same key is 409 \`idempotency_conflict\`. A rejected request frees the key: after
a 402, pay, then send the original request again. A 503 says whether it is certain that nothing was charged; if it is
not, send the same request with the same key again.

## Reading your own writes

The answer to a write has a \`Ledger-Position\`. A GET that sends it waits up to two seconds until its answer includes
that write; if that takes longer, the answer has \`Ledger-Stale: true\`. Reads with the key that wrote do this
automatically, on the process that took the write.

## Lists

A list with more rows ends with \`nextCursor\`: send it unchanged as \`cursor\` to get the next page. Without it, the list is
complete. An unknown query parameter is 400, with the nearest known one as a suggestion.

## Errors

Every error is \`{"error": "<code>", "message": "<a sentence>", …}\`. Base decisions on \`error\`; \`message\` is for people.
With \`validation\`, \`fields\` names the problem of each field. Every answer has an \`x-request-id\`: quote it when you report
a problem.

An unknown path is 404 and an unsupported method 405. The checks then run in this order: the key 401, the account 402, a
used-up limit of the company or person 429, the call is counted, the rate 429, the key's operation 403, the person's
permissions 403, the values 400, the resource's own rules 404 or 409, limits 429, funds 402, providers 503.

## Rate limits

Paid calls are limited to 120 per minute and key; each route states other rates. Beyond the limit: 429 \`rate_limited\`
with \`Retry-After: 60\`. Each process of the server counts separately. Money never depends on these rates.

## API calls

Each counted route says so. A counted call weighs on the limits immediately, whatever its outcome after the account
checks, and is charged the next night. API calls are buffered for up to five seconds before they are stored. With
multiple processes, the calls of these five seconds can exceed a limit, and the record says so; charges never can.
`

/** How to authenticate, also for a signed-in person through the app key. */
const KEY_DESCRIPTION = `An API key of the company. A call with the app key can carry a person's sign-in: \`X-Person-Id\`, \`X-Person-Time\`
(ISO 8601, within 60 seconds) and \`X-Person-Signature\`. The signature is the HMAC-SHA-256 in hexadecimal, keyed with the
app's secret, over five texts joined by line feeds: the method, the path with its query as sent, the SHA-256 of the body's
bytes in hexadecimal (of no bytes without a body), the time, and the person's id. The call is then checked and counted as
that person's.

A signed request can be repeated unchanged while its time is within 60 seconds of the server's: an attacker who reads it
can repeat it, and nothing else. Send an \`Idempotency-Key\` with whatever must happen only once.`

const RETIRED_DESCRIPTION = "Retired routes: they answer 410 to every method."
const RETIRED_GROUP = "retired"

/** Joins lines that are wrapped in the source. */
const unwrapLines = (text: string): string => text.replaceAll(/(?<=\S)\n(?=[^\n#])/g, " ")

const DOCUMENT_INFO: JsonObject = {
  title: DOCUMENT_TITLE,
  version: "1.0.0",
  description: unwrapLines(INTRODUCTION),
}

const SECURITY_SCHEMES: JsonObject = {
  key: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "cpk_…",
    description: unwrapLines(KEY_DESCRIPTION),
  },
}

/** Returns the groups of some routes with their descriptions, in the order of the routes. */
function tagsOf(
  used: readonly string[],
  groups: Readonly<Record<string, string>>,
  hasRetired: boolean,
): readonly JsonObject[] {
  const tags = [...new Set(used)].map((name) => {
    const description = groups[name]
    return description === undefined ? { name } : { name, description: unwrapLines(description) }
  })
  return hasRetired ? [...tags, { name: RETIRED_GROUP, description: RETIRED_DESCRIPTION }] : tags
}

const DOCUMENT_URL = "/openapi.json"
/** URL of the documentation page. */
export const DOCS_URL = "/docs"

/** CSP of the page: it loads its own files and calls its own server, also over plain HTTP. */
const DOCS_PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Texts and examples that the routes do not declare. */
export interface DocumentContent {
  /** Descriptions of the route groups, in Markdown. */
  readonly groups: Readonly<Record<string, string>>
  readonly answers: ExampleAnswers
  /** Title, version and introduction; default those of the API. */
  readonly info?: JsonObject
}

const NO_DOCUMENT_CONTENT: DocumentContent = { groups: {}, answers: {} }

/** A document for Swagger UI to start with; the real one is built on the first request. */
const PLACEHOLDER_DOCUMENT = {
  openapi: "3.1.0",
  info: { title: DOCUMENT_TITLE, version: "" },
  paths: {},
}

/** The product's name as an image, for the page's header. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40" viewBox="0 0 200 40">
<text x="0" y="27" font-family="sans-serif" font-size="22" font-weight="bold" fill="#fff">${PRODUCT}</text></svg>`

/** The sources of the document. */
export interface DocumentSource {
  readonly entries: readonly (Route | RouteVariants)[]
  readonly retired: readonly string[]
  readonly baseUrl: () => string
  readonly content?: DocumentContent | undefined
}

/** Returns a function that builds the document on first use, so that it does not slow the start down. */
function documentOf({ entries, retired, baseUrl, content }: DocumentSource): () => JsonObject {
  let made: { readonly url: string; readonly document: JsonObject } | null = null
  return () => {
    const url = baseUrl()
    if (made?.url !== url) made = { url, document: openApi(entries, retired, url, content) }
    return made.document
  }
}

/** Adds `/openapi.json` alone; returns its path. */
export function addOpenApiRoute(
  app: FastifyInstance,
  documented: DocumentSource,
  document: () => JsonObject = documentOf(documented),
): readonly string[] {
  app.route({ method: ["GET", "HEAD"], url: DOCUMENT_URL, handler: async () => document() })
  return [DOCUMENT_URL]
}

/** Adds `/openapi.json` and `/docs`; returns their paths, each with GET and HEAD. */
export async function addDocumentation(
  app: FastifyInstance,
  documented: DocumentSource,
): Promise<readonly string[]> {
  const document = documentOf(documented)
  await app.register(swagger, { mode: "static", specification: { document: PLACEHOLDER_DOCUMENT } })
  const urls = new Set([DOCUMENT_URL, `${DOCS_URL}/`])
  await app.register(async (page) => {
    page.addHook("onRoute", (route) => {
      urls.add(route.url)
      // The package declares GET only.
      if (route.method === "GET") route.method = ["GET", "HEAD"]
    })
    page.setErrorHandler((error: Error, request, reply) => {
      // A path outside the page's own files is an unknown path.
      if (!isForbiddenPath(error)) throw error
      sendRefusal(reply, unknownPathRefusal(request.url))
    })
    await page.register(swaggerUi, {
      routePrefix: DOCS_URL,
      staticCSP: DOCS_PAGE_CSP,
      theme: { title: DOCUMENT_TITLE },
      logo: { type: "image/svg+xml", content: LOGO, href: DOCS_URL },
      // The page must not send the document to an online validator.
      uiConfig: { validatorUrl: null },
      transformSpecificationClone: false,
      transformSpecification: () => document(),
    })
  })
  addOpenApiRoute(app, documented, document)
  return [...urls]
}

function isForbiddenPath(error: Error): boolean {
  return "code" in error && error.code === "FST_STATIC_FORBIDDEN_PATH"
}

/**
 * Builds the whole document.
 *
 * @throws RangeError if two of its schemas have the same name
 */
export function openApi(
  entries: readonly (Route | RouteVariants)[],
  retired: readonly string[],
  baseUrl: string,
  { groups, answers, info = DOCUMENT_INFO }: DocumentContent = NO_DOCUMENT_CONTENT,
): JsonObject {
  const codes = allCodes(entries)
  const schemas: Record<string, JsonObject> = {}
  const errors = jsonSchemaOf(errorBodySchema(codes.map(publicErrorCode)), "input")
  const whole = { paths: pathsOf(entries, retired, answers), errors }
  const { paths, errors: ApiError } = hoistSchemas(whole, schemas) as typeof whole
  const used = routesIn(entries).map(({ group }) => group)
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: baseUrl }],
    security: [{ key: [] }],
    tags: tagsOf(used, groups, retired.length > 0),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ApiError, ...schemas },
      headers: RESPONSE_HEADERS,
      examples: Object.fromEntries(
        codes.map((code) => [publicErrorCode(code), { value: errorExampleOf(code) }]),
      ),
    },
    paths,
  }
}

function pathsOf(
  entries: readonly (Route | RouteVariants)[],
  retired: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const entry of entries) {
    const path = entry.url.replaceAll(/:(\w+)/g, "{$1}")
    const methods = entries
      .filter(({ url }) => url === entry.url)
      .flatMap(({ method }) => answeredMethods(method))
    const operation = isRouteVariants(entry)
      ? operationOfVariants(entry, methods, answers)
      : operationOf(entry, methods, answers)
    paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operation }
  }
  for (const url of retired) paths[url] = { get: retiredOperation(url) }
  return paths
}

/** Returns every error code: those of the API, then those of slices. */
function allCodes(entries: readonly (Route | RouteVariants)[]): readonly RefusalCode[] {
  const own = routesIn(entries).flatMap(({ refusalCodes = [] }) => refusalCodes)
  const codes = [...(Object.keys(ERROR_STATUSES) as ErrorCode[]), ...own]
  return [...new Map(codes.map((code) => [publicErrorCode(code), code])).values()]
}

function operationOf(
  route: Route,
  methods: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const parameters = parametersOf(route)
  return {
    tags: [route.group],
    summary: route.summary,
    operationId: route.name,
    description: requirementsOf(route),
    ...(route.auth === false ? { security: [] } : {}),
    ...(route.specGap === undefined ? {} : { "x-spec-gap": route.specGap }),
    ...(route.beyondSpec === undefined ? {} : { "x-beyond-spec": route.beyondSpec }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route),
    responses: responsesOf(route, methods, answers),
  }
}

/** Describes several routes on one method and path, with all of their bodies and answers. */
function operationOfVariants(
  { name, variants }: RouteVariants,
  methods: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const [first] = variants as readonly [Route]
  const whys = [...new Set(variants.flatMap(({ specGap }) => specGap ?? []))]
  const named = variants.find(({ isCharged }) => isCharged === true) ?? first
  const parameters = parametersOf(named)
  return {
    tags: [first.group],
    summary: variants.map(({ summary }) => summary).join("; or "),
    operationId: name,
    description: variants.map((route) => `${route.summary}: ${requirementsOf(route)}`).join("\n\n"),
    ...(whys.length === 0 ? {} : { "x-spec-gap": whys.join(" ") }),
    ...(parameters.length === 0 ? {} : { parameters }),
    requestBody: requestBodyOfVariants(variants),
    responses: responsesOfVariants(variants, methods, answers),
  }
}

function requirementsOf(route: Route): string {
  const {
    operation,
    additionalOperations = [],
    permissions = [],
    roles = [],
    auth,
    isCounted,
    rateLimit,
  } = route
  const withoutOperation = auth === false ? "Needs no key." : "Needs no operation."
  const quoted = [operation, ...additionalOperations].map((name) => `\`${name}\``).join(", also ")
  return [
    operation === null ? withoutOperation : `Operation ${quoted}.`,
    route.isPersonKeyOnly === true ? "Needs a person's own key, not the app key." : "",
    roles.length === 0 ? "" : `For an ${roles.join(" or ")} only.`,
    permissions.length === 0 ? "" : `The person needs ${permissions.join(", ")}.`,
    isCounted ? "Counted as an API call." : "",
    rateLimit === undefined ? "" : `At most ${rateLimit.max} ${rateLimit.calls} per minute.`,
  ]
    .filter((sentence) => sentence !== "")
    .join(" ")
}

function retiredOperation(url: string): JsonObject {
  const words = url.split(/\W+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return {
    tags: [RETIRED_GROUP],
    operationId: `retired${words.join("")}`,
    summary: "Retired: answers 410 to every method",
    security: [],
    responses: retiredResponses(),
  }
}
