/** Builds the Fastify app from the routes and the ports. It does not listen. */
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
import type { EntryPoint, RequestFacts } from "../routes/api-call.ts"
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

/** The number of this process among those of the machine. */
export interface ProcessNumber {
  /** From 1. */
  readonly number: number
  readonly total: number
}

/** CSP for JSON answers, which load nothing; the documentation page sets its own. */
const EMPTY_CSP = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }
/** HSTS for a year, for this host name only. */
const HSTS_HEADER = "max-age=31536000"
/** Long enough for any parameter that a route checks itself: a domain name has up to 253 characters. */
const MAX_PATH_PARAMETER = 1_000

/** Paths whose answers proxies must not store. */
const PRIVATE_PATHS = ["/api/", "/console"]

/** Paths that monitoring polls, open to all. */
const MONITORING_URLS = [HEALTH_URLS.live, HEALTH_URLS.ready, METRICS_URL]

export interface AppSettings {
  /** `off` for volume tests and benchmarks. */
  readonly rateLimits: "on" | "off"
  /** Default null. */
  readonly ownHost?: HostRouting["ownHost"]
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are trusted; default none. */
  readonly trustProxy?: readonly string[]
  /** Handlers for other host names. */
  readonly hostRoutes?: readonly HostRoute[]
  /** Host names that map to a path of this API; no host route sees requests that an alias maps. */
  readonly aliases?: readonly HostAlias[]
  /** Routes that providers call; not in the API document. */
  readonly webhooks?: readonly Route[]
  /** Routes for browsers and other non-API clients; not in the API document. */
  readonly pages?: readonly PageRoute[]
  /** Ways to authenticate other than by an API key; not in the API document. */
  readonly entryPoints?: readonly EntryPoint[]
  /** Texts and examples of the API document. */
  readonly documentContent?: DocumentContent
  /** Checks of `/readyz` in addition to the built-in ones. */
  readonly probes?: readonly Probe[]
  /** The simulated providers, for `/readyz`. */
  readonly simulatedProviders?: SimulatedProviders
  /** Share of successful requests to log, 0 to 1; default 0. */
  readonly logSampleRate?: number
  /** Metrics of `/metrics` in addition to the built-in ones. */
  readonly metrics?: readonly Metric[]
  /** The number of this process; default the only one. */
  readonly processNumber?: ProcessNumber
  /** Whether this is the app of the admin socket, without pages, health checks and metrics. */
  readonly isOperatorApp?: boolean
  /** Maximum size of a request's head in bytes; default Node's 16 KiB. */
  readonly maxHeaderBytes?: number
}

/** Builds the app. Call `ready` before injecting requests. */
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
  // A route reads its body itself after the checks, so the framework must not.
  for (const method of HTTP_METHODS)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  const stopping = stoppingSignal(app)
  closeUnreadBodies(app, ports.pacer)
  // Host routes come before the headers of the API's own answers.
  addHostRoutes(app, hosts, ports.pacer)
  await app.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: EMPTY_CSP },
  })
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent) return
    void reply.header("x-request-id", request.id)
    // Proxies must not store what a company's key may read.
    const { nonApiClient } = request.routeOptions.config as EntryConfig
    if (nonApiClient !== undefined || PRIVATE_PATHS.some((path) => request.url.startsWith(path)))
      void reply.header("cache-control", "no-store")
    // Set here, because the not-found handler would read the body first.
    const isAliased = aliasedPath(aliases, foreignHostname(ownHost, request.raw)) !== null
    // HSTS covers an aliased host alone: the names below it are the company's.
    if (isAliased) void reply.header("strict-transport-security", HSTS_HEADER)
    const refused =
      (isAliased ? null : misdirectedRefusal(ownHost, requestHostname(request.raw))) ??
      earlyRefusal(request, known, stopping.aborted)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
  refuseOtherProcesses(app, settings.processNumber ?? { number: 1, total: 1 }, MONITORING_URLS)
  app.setErrorHandler((error: Error, request, reply) => {
    const facts = { requestId: request.id, ...UNROUTED_REQUEST }
    sendRefusal(reply, errorRefusal(error, facts, ports.log))
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
  const entryPointEntries = entryPoints.flatMap((entryPoint) =>
    apiEntriesOf(entries).map((entry) => ({ entryPoint, entry })),
  )
  for (const { entryPoint, entry } of entryPointEntries)
    addEntry(app, calls, admission, entry, stopping, entryPoint)
  const prefixed = entryPointEntries.map(({ entryPoint, entry }) => ({
    ...entry,
    url: `${entryPoint.pathPrefix}${entry.url}`,
  }))
  for (const url of retired) addRetiredPath(app, url)
  refuseOtherMethods(app, known, methodsByUrl([...served, ...prefixed], urls), retired)
  return app
}

/** Returns the methods that each path answers; `urls` are the paths of pages. */
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
 * Returns a signal that aborts when the app begins to close. Later answers close their connection, so that
 * clients reconnect to another process and no idle connection delays the shutdown.
 */
function stoppingSignal(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController()
  app.addHook("preClose", async () => stopping.abort())
  app.addHook("onSend", async (_request, reply) => {
    if (stopping.signal.aborted) void reply.header("connection", "close")
  })
  return stopping.signal
}

/** Creates the Fastify server without routes. */
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
    // Each route limits its own body within this time.
    requestTimeout: Math.max(BODY_TIMEOUT_MS, ...slowest),
    genReqId: newRequestId,
    rewriteUrl: (request) => routerTarget(request, hosts),
    trustProxy: trustProxy.length === 0 ? false : [...trustProxy],
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER },
    // Requests during shutdown get this API's own error body.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => {
      void reply.header("x-request-id", request.id)
      sendRefusal(reply, unknownPathRefusal(request.originalUrl))
    },
    clientErrorHandler: refuseMalformedRequest,
    http: {
      ...(maxHeaderBytes !== undefined && { maxHeaderSize: maxHeaderBytes }),
      // Node would reject it without a body; `hostHeaderRefusal` checks the header.
      requireHostHeader: false,
      // Some clients always offer an upgrade, such as h2c; the API answers in HTTP/1.1.
      shouldUpgradeCallback: (request) => upgradeHandlerFor(hosts, request) !== null,
    },
  })
}

/** Returns the target for the router; another one for hosts of an alias or a host route. */
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

/** The facts of a request that no route has taken. */
const UNROUTED_REQUEST: Omit<RequestFacts, "requestId"> = {
  paymentKind: null,
  isKeyed: false,
  mayHaveRun: false,
}

/** Returns the refusal of a request that needs no route to be rejected; null for any other. */
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

/** Adds health checks, metrics and load shedding; returns their paths. */
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

/** Adds the pages for browsers; returns their paths. */
async function addPages(
  app: FastifyInstance,
  documents: DocumentSource,
): Promise<readonly string[]> {
  app.route({ method: answeredMethods("GET"), url: "/", handler: redirectToDocs })
  return ["/", ...(await addDocumentation(app, documents))]
}

/** Redirects from the server's root to the API documentation. */
const redirectToDocs = async (_request: FastifyRequest, reply: FastifyReply) =>
  reply.redirect(DOCS_URL)

/**
 * Rejects requests to these paths that name another process with `?process=`. The connection is closed, because
 * a persistent one would always reach the same process.
 */
export function refuseOtherProcesses(
  app: FastifyInstance,
  own: ProcessNumber,
  urls: readonly string[],
): void {
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent || !urls.includes(request.routeOptions.url ?? "")) return
    if (own.total > 1) void reply.header("connection", "close")
    const { process: requested } = request.query as { readonly process?: unknown }
    const refused = requested === undefined ? null : processRefusal(String(requested), own)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
}

/** Returns the refusal of another process's number; null for this process. */
function processRefusal(requested: string, { number, total }: ProcessNumber): Refusal | null {
  if (Number(requested) === number) return null
  const isOne = /^\d+$/.test(requested) && Number(requested) >= 1 && Number(requested) <= total
  if (!isOne) {
    const message = `No process has this number; processes are numbered 1 to ${total}.`
    return refusal("not_found", message)
  }
  return refusal(
    "misdirected",
    `This is process ${number} of ${total}. Ask for process ${requested} again on a new connection. If ` +
      "you get this answer again, that process is not running.",
  )
}
