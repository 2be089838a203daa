/** The OpenAPI 3.1 document, made from the routes, and the page that shows it without a network. */
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

/** The program's own name. */
export const PRODUCT = "company-ledger"
/** What the page is called, in its title and at its head. */
const DOCUMENT_TITLE = `Company Platform API of ${PRODUCT}`

const INTRODUCTION = `Everything a company's API keys can do. Every charge is checked against the funds and each spending
limit in the same write that records it.

## Keys

Each request carries \`Authorization: Bearer cpk_…\`. A key is shown once, when it is made; it works at once, until it is
paused or deleted. A key belongs to a person, or is the shared key of the company's app. Each route names the operation
that the key must be granted, and what its person must be permitted. A key whose own spending limit is used up is refused
as a key: 401 \`invalid_key\`, with the \`limit\`.

## Money

Fields that end in \`Micros\` are whole millionths of a US dollar: \`9000\` is $0.009. Every other amount is in dollars,
exact and never rounded. One amount is rounded, up to whole dollars: the \`amount\` that a 402 offers to buy.

A charge must fit every limit of the key, the person and the company (429 \`spend_limit_reached\`, which funds do not
help), and then the funds (402 \`payment_required\`). A 402 with \`pay\` holds the request that buys what is missing.

Times are ISO 8601 in UTC. Days, weeks (from Monday) and months of limits begin at 00:00 UTC.

## Sending again

What is charged takes an \`Idempotency-Key\` of 1 to 255 characters, of your own making. The same key and body give the
same answer, with \`Idempotency-Replayed: true\`, and nothing is charged twice; answers are kept for 30 days, those to
purchases for ever. Another body with the same key is 409 \`idempotency_conflict\`. A refusal frees the key: after a 402,
pay, and send the original again. A 503 says whether it is certain that nothing was charged; where it is not, send the
same request with the same key again.

## Reading what was written

Whatever writes answers with \`Ledger-Position\`. A GET that sends it back waits up to two seconds until it shows what was
written there; where that takes longer, it answers what there is with \`Ledger-Stale: true\`. Reads with the key that
wrote do so by themselves, on the process that it wrote to.

## Lists

Where there is more, a list ends with \`nextCursor\`: send it back as \`cursor\`, as it is. Where there is none, that was
all. A query parameter that a route does not have is 400, with the nearest one that it has.

## Errors

Every error is \`{"error": "<code>", "message": "<a sentence>", …}\`. Decide by \`error\`; \`message\` is for people. With
\`validation\`, \`fields\` says what is wrong by field. Every answer carries \`x-request-id\`: tell it to whoever runs the
server.

An unknown path is 404 and another verb 405. Then, in this order: the key 401, the account 402, the company's or person's
limit used up 429, the call is counted, the rate 429, the key's operation 403, the person's permissions 403, the values
400, the thing's own rules 404 or 409, limits 429, funds 402, what is done outside 503.

## Rate limits

Paid calls are limited to 120 a minute and key; other rates stand at their routes. Over one: 429 \`rate_limited\` with
\`Retry-After: 60\`. Each process of the server counts for itself. Money never depends on it.

## API calls

A route that is counted says so. Each counted call weighs in the limits at once, whatever comes of it behind the account's
checks, and is charged the next night. Calls gather for up to five seconds before they are recorded. Where several
processes serve, a limit can be passed by the calls that these five seconds let through, which the record says; by
anything that is charged, never.
`

/** What a key is, and how the app's shared key says who is signed in. */
const KEY_DESCRIPTION = `An API key of the company. A call through the app's shared key can carry a person's sign-in: \`X-Person-Id\`,
\`X-Person-Time\` (ISO 8601, within 60 seconds) and \`X-Person-Signature\`, the HMAC-SHA-256 in hexadecimal, keyed with the
app's secret, over five texts joined by line feeds: the verb, the path with its query as it is sent, the SHA-256 of the
body's bytes in hexadecimal (of no bytes where there is no body), the time, the person's id. The call is then checked and
weighed as that person's.

A signed request can be sent again, as it is, as long as its time is within 60 seconds of the server's: whoever reads it
on its way can repeat it, and nothing else. What must happen once takes an \`Idempotency-Key\`.`

const RETIRED_DESCRIPTION = "Routes that are no longer there: they answer 410 to every verb."
/** The group of what is retired. */
const RETIRED_GROUP = "retired"

/** Lines that were broken for those who read the source are one again. */
const unwrapLines = (words: string): string => words.replaceAll(/(?<=\S)\n(?=[^\n#])/g, " ")

/** Name, version and first page. */
const DOCUMENT_INFO: JsonObject = {
  title: DOCUMENT_TITLE,
  version: "1.0.0",
  description: unwrapLines(INTRODUCTION),
}

/** How callers say who they are. */
const SECURITY_SCHEMES: JsonObject = {
  key: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "cpk_…",
    description: unwrapLines(KEY_DESCRIPTION),
  },
}

/** The groups of some routes with what each is for, in the order of the routes. */
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

/** Where the document and its page are. */
const DOCUMENT_URL = "/openapi.json"
/** The page that people read. */
export const DOCS_URL = "/docs"

/** The page loads its own files, and calls its own server, also over plain HTTP. */
const DOCS_PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** What the document shows beside what the routes say of themselves. */
export interface DocumentContent {
  /** What each group of routes is for, in Markdown. */
  readonly groups: Readonly<Record<string, string>>
  readonly answers: ExampleAnswers
  /** Name, version and first page; default those of the API. */
  readonly info?: JsonObject
}

const NO_DOCUMENT_CONTENT: DocumentContent = { groups: {}, answers: {} }

/** The document that the page's package asks for at a start; the one it shows is made later. */
const PLACEHOLDER_DOCUMENT = {
  openapi: "3.1.0",
  info: { title: DOCUMENT_TITLE, version: "" },
  paths: {},
}

/** The product's name as a picture, for the page's head. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40" viewBox="0 0 200 40">
<text x="0" y="27" font-family="sans-serif" font-size="22" font-weight="bold" fill="#fff">${PRODUCT}</text></svg>`

/** What the document is made of. */
export interface DocumentSource {
  readonly entries: readonly (Route | RouteVariants)[]
  readonly retired: readonly string[]
  readonly baseUrl: () => string
  readonly content?: DocumentContent | undefined
}

/**
 * The document of a server. The address alone can change, and everybody may ask for it: it is made once, and by no
 * start, which it would hold up.
 */
function documentOf({ entries, retired, baseUrl, content }: DocumentSource): () => JsonObject {
  let made: { readonly url: string; readonly document: JsonObject } | null = null
  return () => {
    const url = baseUrl()
    if (made?.url !== url) made = { url, document: openApi(entries, retired, url, content) }
    return made.document
  }
}

/** Adds `/openapi.json` alone; the paths that are there now, each with GET and HEAD. */
export function addOpenApiRoute(
  app: FastifyInstance,
  documented: DocumentSource,
  document: () => JsonObject = documentOf(documented),
): readonly string[] {
  app.route({ method: ["GET", "HEAD"], url: DOCUMENT_URL, handler: async () => document() })
  return [DOCUMENT_URL]
}

/** Adds `/openapi.json` and `/docs`; the paths that are there now, each with GET and HEAD. */
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
      // The package knows GET alone; whatever is read can be asked for its head.
      if (route.method === "GET") route.method = ["GET", "HEAD"]
    })
    page.setErrorHandler((error: Error, request, reply) => {
      // A path that leads out of the page's own files is a path where nothing is.
      if (!isForbiddenPath(error)) throw error
      sendRefusal(reply, unknownPathRefusal(request.url))
    })
    await page.register(swaggerUi, {
      routePrefix: DOCS_URL,
      staticCSP: DOCS_PAGE_CSP,
      theme: { title: DOCUMENT_TITLE },
      logo: { type: "image/svg+xml", content: LOGO, href: DOCS_URL },
      // The page must not ask another host whether the document is valid.
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
 * The whole document.
 *
 * @throws RangeError where two of its schemas have one name
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
    const verbs = entries
      .filter(({ url }) => url === entry.url)
      .flatMap(({ method }) => answeredMethods(method))
    const operation = isRouteVariants(entry)
      ? operationOfVariants(entry, verbs, answers)
      : operationOf(entry, verbs, answers)
    paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operation }
  }
  for (const url of retired) paths[url] = { get: retiredOperation(url) }
  return paths
}

/** Every code that an answer can carry: those of any route, behind them those of slices. */
function allCodes(entries: readonly (Route | RouteVariants)[]): readonly RefusalCode[] {
  const own = routesIn(entries).flatMap(({ refusalCodes = [] }) => refusalCodes)
  const codes = [...(Object.keys(ERROR_STATUSES) as ErrorCode[]), ...own]
  return [...new Map(codes.map((code) => [publicErrorCode(code), code])).values()]
}

function operationOf(route: Route, verbs: readonly string[], answers: ExampleAnswers): JsonObject {
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
    responses: responsesOf(route, verbs, answers),
  }
}

/** Several routes on one verb and path: their bodies and answers stand side by side. */
function operationOfVariants(
  { name, variants }: RouteVariants,
  verbs: readonly string[],
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
    responses: responsesOfVariants(variants, verbs, answers),
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
  const key = auth === false ? "Needs no key." : "Needs no operation of its own."
  const quoted = [operation, ...additionalOperations].map((name) => `\`${name}\``).join(", also ")
  return [
    operation === null ? key : `Operation ${quoted}.`,
    route.isPersonKeyOnly === true ? "Takes a person's own key, never the app's shared one." : "",
    roles.length === 0 ? "" : `For an ${roles.join(" or ")} only.`,
    permissions.length === 0 ? "" : `The person needs ${permissions.join(", ")}.`,
    isCounted ? "Counted as an API call." : "",
    rateLimit === undefined ? "" : `At most ${rateLimit.max} ${rateLimit.calls} in a minute.`,
  ]
    .filter((sentence) => sentence !== "")
    .join(" ")
}

function retiredOperation(url: string): JsonObject {
  const words = url.split(/\W+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return {
    tags: [RETIRED_GROUP],
    operationId: `retired${words.join("")}`,
    summary: "Retired: answers 410 to every verb",
    security: [],
    responses: retiredResponses(),
  }
}
