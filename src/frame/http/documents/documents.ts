/** The OpenAPI 3.1 document, made from the routes, and the page that shows it without a network. */
import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyInstance } from "fastify"
import type { Answers } from "./document-answers.ts"
import { HEADERS, responsesOf, responsesOfShapes, retiredResponses } from "./document-answers.ts"
import { INFO, PRODUCT, RETIRED_GROUP, SECURITY, TITLE, tagsOf } from "./document-info.ts"
import { parametersOf, requestBodyOf, requestBodyOfShapes } from "./document-requests.ts"
import { errorBodyOf } from "./error-body.ts"
import { exampleOf } from "./examples.ts"
import type { Json } from "./named-schemas.ts"
import { lifted, schemaOf } from "./named-schemas.ts"
import { sendRefusal } from "../outgoing.ts"
import type { Code, ErrorCode } from "../../routes/answers/refusal.ts"
import { STATUS_OF, errorOf } from "../../routes/answers/refusal.ts"
import type { Route } from "../../routes/declare/route.ts"
import type { OneOf } from "../../routes/declare/one-of.ts"
import { isOneOf, routesIn } from "../../routes/declare/one-of.ts"
import { answeredVerbs, unknownPath } from "../known-paths.ts"

/** Where the document and its page are. */
const DOCUMENT_URL = "/openapi.json"
/** The page that people read. */
export const DOCS_URL = "/docs"

/** The page loads its own files, and calls its own server, also over plain HTTP. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** What the document shows beside what the routes say of themselves. */
export interface Shown {
  /** What each group of routes is for, in Markdown. */
  readonly groups: Readonly<Record<string, string>>
  readonly answers: Answers
  /** Name, version and first page; default those of the API. */
  readonly info?: Json
}

const NOTHING_SHOWN: Shown = { groups: {}, answers: {} }

/** The document that the page's package asks for at a start; the one it shows is made later. */
const NOTHING_YET = { openapi: "3.1.0", info: { title: TITLE, version: "" }, paths: {} }

/** The product's name as a picture, for the page's head. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40" viewBox="0 0 200 40">
<text x="0" y="27" font-family="sans-serif" font-size="22" font-weight="bold" fill="#fff">${PRODUCT}</text></svg>`

/** What the document is made of. */
export interface Documented {
  readonly entries: readonly (Route | OneOf)[]
  readonly retired: readonly string[]
  readonly baseUrl: () => string
  readonly shown?: Shown | undefined
}

/**
 * The document of a server. The address alone can change, and everybody may ask for it: it is made once, and by no
 * start, which it would hold up.
 */
function documentOf({ entries, retired, baseUrl, shown }: Documented): () => Json {
  let made: { readonly url: string; readonly document: Json } | null = null
  return () => {
    const url = baseUrl()
    if (made?.url !== url) made = { url, document: openApi(entries, retired, url, shown) }
    return made.document
  }
}

/** Adds `/openapi.json` alone; the paths that are there now, each with GET and HEAD. */
export function addDocument(
  app: FastifyInstance,
  documented: Documented,
  document: () => Json = documentOf(documented),
): readonly string[] {
  app.route({ method: ["GET", "HEAD"], url: DOCUMENT_URL, handler: async () => document() })
  return [DOCUMENT_URL]
}

/** Adds `/openapi.json` and `/docs`; the paths that are there now, each with GET and HEAD. */
export async function addDocuments(
  app: FastifyInstance,
  documented: Documented,
): Promise<readonly string[]> {
  const document = documentOf(documented)
  await app.register(swagger, { mode: "static", specification: { document: NOTHING_YET } })
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
      theme: { title: TITLE },
      logo: { type: "image/svg+xml", content: LOGO, href: DOCS_URL },
      // The page must not ask another host whether the document is valid.
      uiConfig: { validatorUrl: null },
      transformSpecificationClone: false,
      transformSpecification: () => document(),
    })
  })
  addDocument(app, documented, document)
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
  entries: readonly (Route | OneOf)[],
  retired: readonly string[],
  baseUrl: string,
  { groups, answers, info = INFO }: Shown = NOTHING_SHOWN,
): Json {
  const codes = allCodes(entries)
  const schemas: Record<string, Json> = {}
  const errors = schemaOf(errorBodyOf(codes.map(errorOf)), "input")
  const whole = { paths: pathsOf(entries, retired, answers), errors }
  const { paths, errors: ApiError } = lifted(whole, schemas) as typeof whole
  const used = routesIn(entries).map(({ group }) => group)
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: baseUrl }],
    security: [{ key: [] }],
    tags: tagsOf(used, groups, retired.length > 0),
    components: {
      securitySchemes: SECURITY,
      schemas: { ApiError, ...schemas },
      headers: HEADERS,
      examples: Object.fromEntries(
        codes.map((code) => [errorOf(code), { value: exampleOf(code) }]),
      ),
    },
    paths,
  }
}

function pathsOf(
  entries: readonly (Route | OneOf)[],
  retired: readonly string[],
  answers: Answers,
): Json {
  const paths: Record<string, Json> = {}
  for (const entry of entries) {
    const path = entry.url.replaceAll(/:(\w+)/g, "{$1}")
    const verbs = entries
      .filter(({ url }) => url === entry.url)
      .flatMap(({ method }) => answeredVerbs(method))
    const operation = isOneOf(entry)
      ? operationOfShapes(entry, verbs, answers)
      : operationOf(entry, verbs, answers)
    paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operation }
  }
  for (const url of retired) paths[url] = { get: retiredOperation(url) }
  return paths
}

/** Every code that an answer can carry: those of any route, behind them those of slices. */
function allCodes(entries: readonly (Route | OneOf)[]): readonly Code[] {
  const own = routesIn(entries).flatMap(({ refuses = [] }) => refuses)
  const codes = [...(Object.keys(STATUS_OF) as ErrorCode[]), ...own]
  return [...new Map(codes.map((code) => [errorOf(code), code])).values()]
}

function operationOf(route: Route, verbs: readonly string[], answers: Answers): Json {
  const parameters = parametersOf(route)
  return {
    tags: [route.group],
    summary: route.summary,
    operationId: route.name,
    description: needsOf(route),
    ...(route.auth === false ? { security: [] } : {}),
    ...(route.specGap === undefined ? {} : { "x-spec-gap": route.specGap }),
    ...(route.beyondSpec === undefined ? {} : { "x-beyond-spec": route.beyondSpec }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(route),
    responses: responsesOf(route, verbs, answers),
  }
}

/** Several routes on one verb and path: their bodies and answers stand side by side. */
function operationOfShapes(
  { name, shapes }: OneOf,
  verbs: readonly string[],
  answers: Answers,
): Json {
  const [first] = shapes as readonly [Route]
  const whys = [...new Set(shapes.flatMap(({ specGap }) => specGap ?? []))]
  const named = shapes.find(({ charged }) => charged === true) ?? first
  const parameters = parametersOf(named)
  return {
    tags: [first.group],
    summary: shapes.map(({ summary }) => summary).join("; or "),
    operationId: name,
    description: shapes.map((route) => `${route.summary}: ${needsOf(route)}`).join("\n\n"),
    ...(whys.length === 0 ? {} : { "x-spec-gap": whys.join(" ") }),
    ...(parameters.length === 0 ? {} : { parameters }),
    requestBody: requestBodyOfShapes(shapes),
    responses: responsesOfShapes(shapes, verbs, answers),
  }
}

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

function retiredOperation(url: string): Json {
  const words = url.split(/\W+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
  return {
    tags: [RETIRED_GROUP],
    operationId: `retired${words.join("")}`,
    summary: "Retired: answers 410 to every verb",
    security: [],
    responses: retiredResponses(),
  }
}
