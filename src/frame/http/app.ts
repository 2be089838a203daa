/** Builds the Fastify app from the list of routes and the ports. It does not listen. */
import type { IncomingMessage } from "node:http"
import helmet from "@fastify/helmet"
import fastify from "fastify"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { Documented, Shown } from "./documents/documents.ts"
import { DOCS_URL, addDocument, addDocuments } from "./documents/documents.ts"
import type { Probe } from "./health.ts"
import { HEALTH_URLS, addHealth } from "./health.ts"
import type { Measure } from "./metrics.ts"
import { METRICS_URL, addMetrics } from "./metrics.ts"
import type { WayIn } from "../routes/call.ts"
import type { Asked } from "../routes/answers/faults.ts"
import { faultRefusal, stoppingRefusal } from "../routes/answers/faults.ts"
import { NO_RATE_LIMITS, openRateLimits } from "../routes/checks/rate-limits.ts"
import { openLastWrites } from "../routes/checks/6-position.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"
import { BODY_WITHIN_MS } from "../routes/declare/route.ts"
import type { OneOf, Page } from "../routes/declare/one-of.ts"
import { routesIn } from "../routes/declare/one-of.ts"
import type { Ports } from "../ports.ts"
import type { Simulated } from "../provider.ts"
import type { Admission, Served } from "./entries.ts"
import { openAdmission, watchPressure, addEntry, reachedBy } from "./entries.ts"
import type { Alias, Door, Hosts } from "./hosts.ts"
import {
  DOOR_TARGET,
  addDoors,
  upgradeOf,
  doorOf,
  hostOf,
  ledTo,
  misdirected,
  otherHostOf,
  hostRefusal,
  newRequestId,
  refuseBytes,
  refuseExpectation,
} from "./hosts.ts"
import type { KnownPaths } from "./known-paths.ts"
import {
  VERBS,
  addRetired,
  knownPaths,
  nothingHere,
  refuseOtherVerbs,
  answeredVerbs,
  unknownPath,
} from "./known-paths.ts"
import type { EntryConfig } from "./outgoing.ts"
import { sendRefusal, logRequests } from "./outgoing.ts"
import { endUnreadBodies } from "./incoming.ts"

/** Which of the processes of a machine one is. */
export interface Numbered {
  /** From 1. */
  readonly number: number
  readonly of: number
}

/** An answer in JSON loads nothing; the page of the document says what it loads itself. */
const NOTHING = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }
/** For one host name a year, and not for those below it. */
const HSTS_OF_ONE = "max-age=31536000"
/** A name that a route looks at itself is not taken for an unknown path: a domain has up to 253. */
const MOST_IN_PATH = 1_000

/** Paths of what a company's people may see, and nobody on the way. */
const PRIVATE_PATHS = ["/api/", "/console"]

/** What supervisors ask, open to everybody. */
const WATCHED_URLS = [HEALTH_URLS.live, HEALTH_URLS.ready, METRICS_URL]

/** What of the settings the app needs. */
export interface AppSettings {
  /** `off` for volume tests and benchmarks. */
  readonly rateLimits: "on" | "off"
  /** Default null. */
  readonly ownHost?: Hosts["ownHost"]
  /** Addresses and networks of proxies whose word is taken for where a call comes from; default none. */
  readonly trustProxy?: readonly string[]
  /** What stands behind other host names. */
  readonly doors?: readonly Door[]
  /** Host names that lead to a path of this API alone; what they lead on comes to no door. */
  readonly aliases?: readonly Alias[]
  /** What providers call back; none of it is in the document. */
  readonly webhooks?: readonly Route[]
  /** What browsers and other clients open and send beside the API; none of it is in the document. */
  readonly pages?: readonly Page[]
  /** Other ways to the API than by a key; none of them is in the document. */
  readonly waysIn?: readonly WayIn[]
  /** What the document shows beside what the routes say of themselves. */
  readonly shown?: Shown
  /** What `/readyz` looks at beside what every program stands on. */
  readonly probes?: readonly Probe[]
  /** What of the world outside is simulated, for `/readyz` to say. */
  readonly simulated?: Simulated
  /** The share of requests that went well and have a line in the log, 0 to 1; default 0. */
  readonly logRequests?: number
  /** What `/metrics` tells beside what every program tells. */
  readonly measures?: readonly Measure[]
  /** Which of several processes of this machine it is; default the only one. */
  readonly seat?: Numbered
  /** Whether it is the app of the admin socket: without pages for browsers, health and figures. */
  readonly isForOperators?: boolean
  /** The most bytes in the head of a request; default Node's own 16 KiB. */
  readonly mostHeadBytes?: number
}

/** Builds the app. `ready` it before injecting. */
export async function buildApp(
  ports: Ports,
  entries: readonly (Route | OneOf)[],
  retired: readonly string[],
  settings: AppSettings = { rateLimits: "on" },
): Promise<FastifyInstance> {
  const { rateLimits, ownHost = null, doors = [], aliases = [], isForOperators = false } = settings
  const { webhooks = [], pages = [] } = settings
  const hosts: Hosts = { ownHost, doors, aliases }
  const app = openServer([...entries, ...webhooks, ...pages], hosts, settings)
  const known = knownPaths(MOST_IN_PATH)
  app.server.on("checkExpectation", refuseExpectation)
  // A body is read by the call it belongs to, once that is let in: the framework looks at none.
  for (const verb of VERBS) app.addHttpMethod(verb, { hasBody: false, overrideExisting: true })
  const stopping = stoppingOf(app)
  endUnreadBodies(app, ports.pacer)
  // Before the headers of this API's own answers.
  addDoors(app, hosts, ports.pacer)
  await app.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: NOTHING } })
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent) return
    void reply.header("x-request-id", request.id)
    // What a company's key may see is kept by nobody on the way.
    const { client } = request.routeOptions.config as EntryConfig
    if (client !== undefined || PRIVATE_PATHS.some((path) => request.url.startsWith(path)))
      void reply.header("cache-control", "no-store")
    // Here already: the handler below would read the body first.
    const isLed = ledTo(aliases, otherHostOf(ownHost, request.raw)) !== null
    // What stands below a company's own host name is the company's: nothing is said of it here.
    if (isLed) void reply.header("strict-transport-security", HSTS_OF_ONE)
    const refused =
      (isLed ? null : misdirected(ownHost, hostOf(request.raw))) ??
      refusedAtOnce(request, known, stopping.aborted)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
  tellOfItself(app, settings.seat ?? { number: 1, of: 1 }, WATCHED_URLS)
  app.setErrorHandler((error: Error, request, reply) => {
    const asked = { requestId: request.id, ...UNKNOWN }
    sendRefusal(reply, faultRefusal(error, asked, ports.log))
  })
  app.setNotFoundHandler((request, reply) => {
    sendRefusal(reply, nothingHere(request, known))
  })
  const rates = rateLimits === "off" ? NO_RATE_LIMITS : openRateLimits(ports)
  const calls = { ports, rates, lastWrites: openLastWrites() }
  const admission = openAdmission(ports.pacer)
  const documents = { entries, retired, baseUrl: ports.baseUrl, shown: settings.shown }
  const urls = isForOperators
    ? addDocument(app, documents)
    : [...(await addWatched(app, ports, settings, admission)), ...(await addPages(app, documents))]
  logRequests(app, ports.log, settings.logRequests ?? 0, WATCHED_URLS)
  const served = [...entries, ...webhooks, ...pages]
  for (const entry of served) addEntry(app, calls, admission, entry, stopping)
  const { waysIn = [] } = settings
  const reached = waysIn.flatMap((way) => reachedBy(entries).map((entry) => ({ way, entry })))
  for (const { way, entry } of reached) addEntry(app, calls, admission, entry, stopping, way)
  const beside = reached.map(({ way, entry }) => ({ ...entry, url: `${way.at}${entry.url}` }))
  for (const url of retired) addRetired(app, url)
  refuseOtherVerbs(app, known, verbsByUrl([...served, ...beside], urls), retired)
  return app
}

/** The verbs that each path answers; of `urls` there is a page. */
function verbsByUrl(
  entries: readonly Pick<Served, "url" | "method">[],
  urls: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const answered = new Map<string, readonly string[]>()
  for (const { url, method } of entries) {
    answered.set(url, [...(answered.get(url) ?? []), ...answeredVerbs(method)])
  }
  for (const url of urls) answered.set(url, answeredVerbs("GET"))
  return answered
}

/**
 * Aborts once the app begins to close. Whoever is answered from then on comes back to another process: a
 * connection that is kept would hold the end up.
 */
function stoppingOf(app: FastifyInstance): AbortSignal {
  const stopping = new AbortController()
  app.addHook("preClose", async () => stopping.abort())
  app.addHook("onSend", async (_request, reply) => {
    if (stopping.signal.aborted) void reply.header("connection", "close")
  })
  return stopping.signal
}

/** The web framework, without a route. */
function openServer(
  entries: readonly Served[],
  hosts: Hosts,
  { trustProxy = [], mostHeadBytes }: AppSettings,
): FastifyInstance {
  const routes = entries.flatMap((entry) =>
    "parameter" in entry ? Object.values(entry.routes) : routesIn([entry]),
  )
  const slowest = routes.map(({ bodyWithinMs }) => bodyWithinMs ?? 0)
  return fastify({
    logger: false,
    // Each route bounds its own body within this.
    requestTimeout: Math.max(BODY_WITHIN_MS, ...slowest),
    genReqId: newRequestId,
    rewriteUrl: (request) => targetOf(request, hosts),
    trustProxy: trustProxy.length === 0 ? false : [...trustProxy],
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: MOST_IN_PATH },
    // Who still comes while it closes is told so in the words of this API.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => {
      void reply.header("x-request-id", request.id)
      sendRefusal(reply, unknownPath(request.originalUrl))
    },
    clientErrorHandler: refuseBytes,
    http: {
      ...(mostHeadBytes !== undefined && { maxHeaderSize: mostHeadBytes }),
      // Node would refuse it without a body: a missing Host is looked for below.
      requireHostHeader: false,
      // Who offers another protocol to the API (h2c, as some clients always do) is answered in this one.
      shouldUpgradeCallback: (request) => upgradeOf(hosts, request) !== null,
    },
  })
}

/** What the router is to look for: behind a host name that an alias leads on, or a door takes, something else. */
function targetOf(
  request: Pick<IncomingMessage, "headers" | "url">,
  { ownHost, doors, aliases }: Hosts,
): string {
  const { url = "/" } = request
  const host = otherHostOf(ownHost, request)
  const path = ledTo(aliases, host)
  if (path !== null) return `${path}${url}`
  return doorOf(doors, host) === null ? url : DOOR_TARGET
}

/** What is known of a request that no route has taken. */
const UNKNOWN: Omit<Asked, "requestId"> = { pays: null, isNamed: false, mayBeDone: false }

/** What needs no route to be refused; null where there is nothing of it. */
function refusedAtOnce(
  request: FastifyRequest,
  known: KnownPaths,
  isStopping: boolean,
): Refusal | null {
  const hostless = hostRefusal(request.raw)
  if (hostless !== null) return hostless
  if (request.is404) return nothingHere(request, known)
  return isStopping && !WATCHED_URLS.includes(request.routeOptions.url ?? "")
    ? stoppingRefusal(request.id)
    : null
}

/** Adds what supervisors ask, and turns calls away under pressure; the paths that are there now. */
async function addWatched(
  app: FastifyInstance,
  ports: Ports,
  settings: AppSettings,
  admission: Admission,
): Promise<readonly string[]> {
  await watchPressure(app)
  const ready = addHealth(app, ports, settings)
  addMetrics(app, ports, admission, [ready, ...(settings.measures ?? [])])
  return WATCHED_URLS
}

/** Adds what browsers open of the API itself; the paths that are there now. */
async function addPages(app: FastifyInstance, documents: Documented): Promise<readonly string[]> {
  app.route({ method: answeredVerbs("GET"), url: "/", handler: toDocs })
  return ["/", ...(await addDocuments(app, documents))]
}

/** Leads whoever opens the server's address in a browser to the page of the document. */
const toDocs = async (_request: FastifyRequest, reply: FastifyReply) => reply.redirect(DOCS_URL)

/**
 * Has some paths tell of this process alone: `?process=` with another number is refused. A connection that
 * was kept would stay in the process that has it, whichever is asked for next, so it ends with the answer.
 */
export function tellOfItself(app: FastifyInstance, own: Numbered, urls: readonly string[]): void {
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent || !urls.includes(request.routeOptions.url ?? "")) return
    if (own.of > 1) void reply.header("connection", "close")
    const { process: asked } = request.query as { readonly process?: unknown }
    const refused = asked === undefined ? null : numberRefusal(String(asked), own)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
}

/** The refusal of the number of a process; null for our own. */
function numberRefusal(asked: string, { number, of }: Numbered): Refusal | null {
  if (Number(asked) === number) return null
  const isOne = /^\d+$/.test(asked) && Number(asked) >= 1 && Number(asked) <= of
  if (!isOne) {
    return refusal("not_found", `There is no process of this number: they go from 1 to ${of}.`)
  }
  return refusal(
    "misdirected",
    `This is process ${number} of ${of}: ask for ${asked} again on a new connection. Where this is ` +
      "answered there as well, that process is not there just now.",
  )
}
