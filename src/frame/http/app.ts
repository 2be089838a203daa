/** Builds the Fastify app from the list of routes and the ports. It does not listen. */
import type { IncomingMessage } from "node:http"
import helmet from "@fastify/helmet"
import fastify from "fastify"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { DocumentSource, DocumentContent } from "./documents/documents.ts"
import { DOCS_URL, addOpenApiRoute, addDocumentation } from "./documents/documents.ts"
import type { Probe } from "./health.ts"
import { HEALTH_URLS, addHealthRoutes } from "./health.ts"
import type { Metric } from "./metrics.ts"
import { METRICS_URL, addMetrics } from "./metrics.ts"
import type { EntryPoint } from "../routes/api-call.ts"
import type { RequestFacts } from "../routes/answers/error-refusals.ts"
import { errorRefusal, stoppingRefusal } from "../routes/answers/error-refusals.ts"
import { NO_RATE_LIMITS, openRateLimits } from "../routes/checks/rate-limits.ts"
import { openLastWrites } from "../routes/checks/6-position.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"
import { BODY_TIMEOUT_MS } from "../routes/declare/route.ts"
import type { RouteVariants, PageRoute } from "../routes/declare/route-variants.ts"
import { routesIn } from "../routes/declare/route-variants.ts"
import type { Ports } from "../ports.ts"
import type { SimulatedProviders } from "../provider.ts"
import type { Admission, RouterEntry } from "./router-entries.ts"
import { openAdmission, watchPressure, addEntry, apiEntriesOf } from "./router-entries.ts"
import type { HostAlias, HostRoute, HostRouting } from "./host-routes.ts"
import {
  HOST_ROUTE_PATH,
  addHostRoutes,
  upgradeHandlerFor,
  hostRouteFor,
  requestHostname,
  aliasedPath,
  misdirectedRefusal,
  foreignHostname,
  hostHeaderRefusal,
  newRequestId,
  refuseMalformedRequest,
  refuseExpectation,
} from "./host-routes.ts"
import type { KnownPaths } from "./known-paths.ts"
import {
  HTTP_METHODS,
  addRetiredPath,
  knownPaths,
  notFoundRefusal,
  refuseOtherMethods,
  answeredMethods,
  unknownPathRefusal,
} from "./known-paths.ts"
import type { EntryConfig } from "./responses.ts"
import { sendRefusal, logRequests } from "./responses.ts"
import { closeUnreadBodies } from "./requests.ts"

/** Which of the processes of a machine one is. */
export interface ProcessNumber {
  /** From 1. */
  readonly number: number
  readonly total: number
}

/** An answer in JSON loads nothing; the page of the document says what it loads itself. */
const EMPTY_CSP = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }
/** For one host name a year, and not for those below it. */
const HSTS_HEADER = "max-age=31536000"
/** A name that a route looks at itself is not taken for an unknown path: a domain has up to 253. */
const MAX_PATH_PARAMETER = 1_000

/** Paths of what a company's people may see, and nobody on the way. */
const PRIVATE_PATHS = ["/api/", "/console"]

/** What supervisors ask, open to everybody. */
const MONITORING_URLS = [HEALTH_URLS.live, HEALTH_URLS.ready, METRICS_URL]

/** What of the settings the app needs. */
export interface AppSettings {
  /** `off` for volume tests and benchmarks. */
  readonly rateLimits: "on" | "off"
  /** Default null. */
  readonly ownHost?: HostRouting["ownHost"]
  /** Addresses and networks of proxies whose word is taken for where a call comes from; default none. */
  readonly trustProxy?: readonly string[]
  /** What stands behind other host names. */
  readonly hostRoutes?: readonly HostRoute[]
  /** Host names that lead to a path of this API alone; what they lead on comes to no door. */
  readonly aliases?: readonly HostAlias[]
  /** What providers call back; none of it is in the document. */
  readonly webhooks?: readonly Route[]
  /** What browsers and other clients open and send beside the API; none of it is in the document. */
  readonly pages?: readonly PageRoute[]
  /** Other ways to the API than by a key; none of them is in the document. */
  readonly entryPoints?: readonly EntryPoint[]
  /** What the document shows beside what the routes say of themselves. */
  readonly documentContent?: DocumentContent
  /** What `/readyz` looks at beside what every program stands on. */
  readonly probes?: readonly Probe[]
  /** What of the world outside is simulated, for `/readyz` to say. */
  readonly simulatedProviders?: SimulatedProviders
  /** The share of requests that went well and have a line in the log, 0 to 1; default 0. */
  readonly logSampleRate?: number
  /** What `/metrics` tells beside what every program tells. */
  readonly metrics?: readonly Metric[]
  /** Which of several processes of this machine it is; default the only one. */
  readonly processNumber?: ProcessNumber
  /** Whether it is the app of the admin socket: without pages for browsers, health and figures. */
  readonly isOperatorApp?: boolean
  /** The most bytes in the head of a request; default Node's own 16 KiB. */
  readonly maxHeaderBytes?: number
}

/** Builds the app. `ready` it before injecting. */
export async function buildApp(
  ports: Ports,
  entries: readonly (Route | RouteVariants)[],
  retired: readonly string[],
  settings: AppSettings = { rateLimits: "on" },
): Promise<FastifyInstance> {
  const {
    rateLimits,
    ownHost = null,
    hostRoutes = [],
    aliases = [],
    isOperatorApp = false,
  } = settings
  const { webhooks = [], pages = [] } = settings
  const hosts: HostRouting = { ownHost, hostRoutes, aliases }
  const app = openServer([...entries, ...webhooks, ...pages], hosts, settings)
  const known = knownPaths(MAX_PATH_PARAMETER)
  app.server.on("checkExpectation", refuseExpectation)
  // A body is read by the call it belongs to, once that is let in: the framework looks at none.
  for (const verb of HTTP_METHODS)
    app.addHttpMethod(verb, { hasBody: false, overrideExisting: true })
  const stopping = stoppingSignal(app)
  closeUnreadBodies(app, ports.pacer)
  // Before the headers of this API's own answers.
  addHostRoutes(app, hosts, ports.pacer)
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: EMPTY_CSP },
  })
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent) return
    void reply.header("x-request-id", request.id)
    // What a company's key may see is kept by nobody on the way.
    const { nonApiClient } = request.routeOptions.config as EntryConfig
    if (nonApiClient !== undefined || PRIVATE_PATHS.some((path) => request.url.startsWith(path)))
      void reply.header("cache-control", "no-store")
    // Here already: the handler below would read the body first.
    const isLed = aliasedPath(aliases, foreignHostname(ownHost, request.raw)) !== null
    // What stands below a company's own host name is the company's: nothing is said of it here.
    if (isLed) void reply.header("strict-transport-security", HSTS_HEADER)
    const refused =
      (isLed ? null : misdirectedRefusal(ownHost, requestHostname(request.raw))) ??
      earlyRefusal(request, known, stopping.aborted)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
  refuseOtherProcesses(app, settings.processNumber ?? { number: 1, total: 1 }, MONITORING_URLS)
  app.setErrorHandler((error: Error, request, reply) => {
    const asked = { requestId: request.id, ...UNROUTED_REQUEST }
    sendRefusal(reply, errorRefusal(error, asked, ports.log))
  })
  app.setNotFoundHandler((request, reply) => {
    sendRefusal(reply, notFoundRefusal(request, known))
  })
  const rates = rateLimits === "off" ? NO_RATE_LIMITS : openRateLimits(ports)
  const calls = { ports, rateLimits: rates, lastWrites: openLastWrites() }
  const admission = openAdmission(ports.pacer)
  const documents = { entries, retired, baseUrl: ports.baseUrl, content: settings.documentContent }
  const urls = isOperatorApp
    ? addOpenApiRoute(app, documents)
    : [
        ...(await addMonitoring(app, ports, settings, admission)),
        ...(await addPages(app, documents)),
      ]
  logRequests(app, ports.log, settings.logSampleRate ?? 0, MONITORING_URLS)
  const served = [...entries, ...webhooks, ...pages]
  for (const entry of served) addEntry(app, calls, admission, entry, stopping)
  const { entryPoints = [] } = settings
  const reached = entryPoints.flatMap((way) =>
    apiEntriesOf(entries).map((entry) => ({ way, entry })),
  )
  for (const { way, entry } of reached) addEntry(app, calls, admission, entry, stopping, way)
  const beside = reached.map(({ way, entry }) => ({
    ...entry,
    url: `${way.pathPrefix}${entry.url}`,
  }))
  for (const url of retired) addRetiredPath(app, url)
  refuseOtherMethods(app, known, methodsByUrl([...served, ...beside], urls), retired)
  return app
}

/** The verbs that each path answers; of `urls` there is a page. */
function methodsByUrl(
  entries: readonly Pick<RouterEntry, "url" | "method">[],
  urls: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const answered = new Map<string, readonly string[]>()
  for (const { url, method } of entries) {
    answered.set(url, [...(answered.get(url) ?? []), ...answeredMethods(method)])
  }
  for (const url of urls) answered.set(url, answeredMethods("GET"))
  return answered
}

/**
 * Aborts once the app begins to close. Whoever is answered from then on comes back to another process: a
 * connection that is kept would hold the end up.
 */
function stoppingSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController()
  app.addHook("preClose", async () => stopping.abort())
  app.addHook("onSend", async (_request, reply) => {
    if (stopping.signal.aborted) void reply.header("connection", "close")
  })
  return stopping.signal
}

/** The web framework, without a route. */
function openServer(
  entries: readonly RouterEntry[],
  hosts: HostRouting,
  { trustProxy = [], maxHeaderBytes }: AppSettings,
): FastifyInstance {
  const routes = entries.flatMap((entry) =>
    "parameter" in entry ? Object.values(entry.routes) : routesIn([entry]),
  )
  const slowest = routes.map(({ bodyTimeoutMs }) => bodyTimeoutMs ?? 0)
  return fastify({
    logger: false,
    // Each route bounds its own body within this.
    requestTimeout: Math.max(BODY_TIMEOUT_MS, ...slowest),
    genReqId: newRequestId,
    rewriteUrl: (request) => routerTarget(request, hosts),
    trustProxy: trustProxy.length === 0 ? false : [...trustProxy],
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER },
    // Who still comes while it closes is told so in the words of this API.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => {
      void reply.header("x-request-id", request.id)
      sendRefusal(reply, unknownPathRefusal(request.originalUrl))
    },
    clientErrorHandler: refuseMalformedRequest,
    http: {
      ...(maxHeaderBytes !== undefined && { maxHeaderSize: maxHeaderBytes }),
      // Node would refuse it without a body: a missing Host is looked for below.
      requireHostHeader: false,
      // Who offers another protocol to the API (h2c, as some clients always do) is answered in this one.
      shouldUpgradeCallback: (request) => upgradeHandlerFor(hosts, request) !== null,
    },
  })
}

/** What the router is to look for: behind a host name that an alias leads on, or a door takes, something else. */
function routerTarget(
  request: Pick<IncomingMessage, "headers" | "url">,
  { ownHost, hostRoutes, aliases }: HostRouting,
): string {
  const { url = "/" } = request
  const host = foreignHostname(ownHost, request)
  const path = aliasedPath(aliases, host)
  if (path !== null) return `${path}${url}`
  return hostRouteFor(hostRoutes, host) === null ? url : HOST_ROUTE_PATH
}

/** What is known of a request that no route has taken. */
const UNROUTED_REQUEST: Omit<RequestFacts, "requestId"> = {
  paymentKind: null,
  isKeyed: false,
  mayHaveRun: false,
}

/** What needs no route to be refused; null where there is nothing of it. */
function earlyRefusal(
  request: FastifyRequest,
  known: KnownPaths,
  isStopping: boolean,
): Refusal | null {
  const hostless = hostHeaderRefusal(request.raw)
  if (hostless !== null) return hostless
  if (request.is404) return notFoundRefusal(request, known)
  return isStopping && !MONITORING_URLS.includes(request.routeOptions.url ?? "")
    ? stoppingRefusal(request.id)
    : null
}

/** Adds what supervisors ask, and turns calls away under pressure; the paths that are there now. */
async function addMonitoring(
  app: FastifyInstance,
  ports: Ports,
  settings: AppSettings,
  admission: Admission,
): Promise<readonly string[]> {
  await watchPressure(app)
  const ready = addHealthRoutes(app, ports, settings)
  addMetrics(app, ports, admission, [ready, ...(settings.metrics ?? [])])
  return MONITORING_URLS
}

/** Adds what browsers open of the API itself; the paths that are there now. */
async function addPages(
  app: FastifyInstance,
  documents: DocumentSource,
): Promise<readonly string[]> {
  app.route({ method: answeredMethods("GET"), url: "/", handler: redirectToDocs })
  return ["/", ...(await addDocumentation(app, documents))]
}

/** Leads whoever opens the server's address in a browser to the page of the document. */
const redirectToDocs = async (_request: FastifyRequest, reply: FastifyReply) =>
  reply.redirect(DOCS_URL)

/**
 * Has some paths tell of this process alone: `?process=` with another number is refused. A connection that
 * was kept would stay in the process that has it, whichever is asked for next, so it ends with the answer.
 */
export function refuseOtherProcesses(
  app: FastifyInstance,
  own: ProcessNumber,
  urls: readonly string[],
): void {
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent || !urls.includes(request.routeOptions.url ?? "")) return
    if (own.total > 1) void reply.header("connection", "close")
    const { process: asked } = request.query as { readonly process?: unknown }
    const refused = asked === undefined ? null : processRefusal(String(asked), own)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
}

/** The refusal of the number of a process; null for our own. */
function processRefusal(asked: string, { number, total }: ProcessNumber): Refusal | null {
  if (Number(asked) === number) return null
  const isOne = /^\d+$/.test(asked) && Number(asked) >= 1 && Number(asked) <= total
  if (!isOne) {
    return refusal("not_found", `There is no process of this number: they go from 1 to ${total}.`)
  }
  return refusal(
    "misdirected",
    `This is process ${number} of ${total}: ask for ${asked} again on a new connection. Where this is ` +
      "answered there as well, that process is not there just now.",
  )
}
