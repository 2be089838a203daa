/** Builds the Fastify app from the list of routes and the ports. It does not listen. */
import { METHODS } from "node:http"
import helmet from "@fastify/helmet"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import fastify from "fastify"
import { addDocuments } from "./documents/documents.ts"
import { HEALTH_URLS, addHealth } from "./health.ts"
import { METRICS_URL, addMetrics } from "./metrics.ts"
import type { Admission, Place } from "./admission.ts"
import { openAdmission } from "./admission.ts"
import { parseBodies, signedBody } from "./body.ts"
import { faultRefusal, overloadedRefusal, stoppingRefusal } from "../calls/faults.ts"
import type { PipelinePorts, RequestState } from "../calls/index.ts"
import { askedBy, carryOut, checkHead, sendRefusal } from "../calls/index.ts"
import { carryOutOpen, checkOpen } from "../calls/open-calls.ts"
import { hostRefusal, newRequestId, refuseBytes, refuseExpectation } from "./outside-routes.ts"
import { portsOfRequest } from "../calls/patience.ts"
import type { RateLimits } from "../calls/rate-limits.ts"
import { NO_RATE_LIMITS, openRateLimits } from "../calls/rate-limits.ts"
import { openLastWrites } from "../calls/read-position.ts"
import type { Refusal } from "../calls/refusal.ts"
import type { Route } from "../calls/route.ts"
import { otherVerb, retiredPath, unknownPath } from "./router-refusals.ts"
import { signInOf } from "../calls/sign-in.ts"
import type { Ports } from "../ports.ts"
import { watchPressure } from "./pressure.ts"
import { endUnreadBodies } from "./unread-bodies.ts"

const REQUEST_TIMEOUT_MS = 30_000
const BODY_LIMIT_BYTES = 1024 * 1024
/** An answer in JSON loads nothing; the page of the document says what it loads itself. */
const NOTHING = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }
/** Every verb of HTTP that reaches a route; CONNECT asks a proxy for a tunnel. */
const VERBS = METHODS.filter((verb) => verb !== "CONNECT")

/** What supervisors ask, open to everybody. */
const WATCHED_URLS = [HEALTH_URLS.live, HEALTH_URLS.ready, METRICS_URL]

/** Node would answer these without a body: a missing Host is looked for by the app. */
const HTTP_IN_OUR_WORDS = {
  clientErrorHandler: refuseBytes,
  http: { requireHostHeader: false },
}

/** What of the settings the app needs. */
export interface AppSettings {
  /** `off` for volume tests and benchmarks. */
  readonly rateLimits: "on" | "off"
}

/** Builds the app. `ready` it before injecting. */
export async function buildApp(
  ports: Ports,
  routes: readonly Route[],
  retired: readonly string[],
  { rateLimits }: AppSettings = { rateLimits: "on" },
): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    exposeHeadRoutes: false,
    // Who still comes while it closes is told so in the words of this API.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => {
      void reply.header("x-request-id", request.id)
      sendRefusal(reply, unknownPath(request.url))
    },
    ...HTTP_IN_OUR_WORDS,
  })
  app.server.on("checkExpectation", refuseExpectation)
  const known = app.supportedMethods
  for (const verb of VERBS) if (!known.includes(verb)) app.addHttpMethod(verb)
  parseBodies(app)
  await app.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: NOTHING } })
  let isStopping = false
  app.addHook("preClose", async () => {
    isStopping = true
  })
  endUnreadBodies(app, ports.pacer)
  app.addHook("onRequest", async (request, reply) => {
    void reply.header("x-request-id", request.id)
    // Here already: the handler below would read the body first.
    const refused = refusedAtOnce(request, isStopping)
    if (refused !== null) sendRefusal(reply, refused)
  })
  await watchPressure(app)
  app.setErrorHandler((error: Error, request, reply) => {
    const asked = callsInHand.get(request)?.state.asked ?? askedBy(null, request)
    sendRefusal(reply, faultRefusal(error, asked, ports.log))
  })
  app.setNotFoundHandler((request, reply) => {
    sendRefusal(reply, unknownPath(request.url))
  })
  const rates = rateLimits === "off" ? NO_RATE_LIMITS : openRateLimits(ports)
  const pipeline = { ports, rates, lastWrites: openLastWrites() }
  const admission = openAdmission(ports.pacer)
  addMetrics(app, ports, admission)
  addHealth(app, ports)
  for (const route of routes) {
    if (route.auth === false) addOpenRoute(app, ports, admission, rates, route)
    else addRoute(app, pipeline, admission, route)
  }
  for (const url of new Set(routes.map((route) => route.url))) {
    const own = routes.filter((route) => route.url === url)
    refuseOtherVerbs(
      app,
      url,
      own.map(({ method }) => method),
    )
  }
  const documents = await addDocuments(app, routes, retired, ports.baseUrl)
  for (const url of [...WATCHED_URLS, ...documents]) refuseOtherVerbs(app, url, ["GET", "HEAD"])
  for (const url of retired) addRetired(app, url)
  return app
}

/** What needs no route to be refused; null where there is nothing of it. */
function refusedAtOnce(request: FastifyRequest, isStopping: boolean): Refusal | null {
  const hostless = hostRefusal(request.raw)
  if (hostless !== null) return hostless
  if (request.is404) return unknownPath(request.url)
  return isStopping && !WATCHED_URLS.includes(request.url) ? stoppingRefusal(request.id) : null
}

/** A call and its place among those in hand. */
interface InHand {
  readonly own: PipelinePorts
  readonly state: RequestState
  readonly place: Place
}

const callsInHand = new WeakMap<FastifyRequest, InHand>()
const placesInHand = new WeakMap<FastifyRequest, Place>()

function addRoute(
  app: FastifyInstance,
  pipeline: PipelinePorts,
  admission: Admission,
  route: Route,
): void {
  const { method, url, bodyLimitBytes } = route
  const options = bodyLimitBytes === undefined ? {} : { bodyLimit: bodyLimitBytes }
  app.route({
    ...{ method, url, ...options },
    onRequest: async (request, reply) => {
      const asked = askedBy(route, request)
      const place = admission.enter()
      if (place === null) return sendRefusal(reply, overloadedRefusal(asked))
      reply.raw.once("close", place.leave)
      const { authorization } = request.headers
      const call = {
        ...{ route, requestId: request.id, authorization, caller: null, standing: null },
        signIn: signInOf(request.headers),
        signed: () => ({ method, target: request.url, body: signedBody(request) }),
      }
      const state: RequestState = { call, passed: 0, asked }
      const own = { ...pipeline, ports: portsOfRequest(pipeline.ports) }
      callsInHand.set(request, { own, state, place })
      await place.work(() => checkHead(own, state, request, reply))
    },
    handler: async (request, reply) => {
      const { own, state, place } = callsInHand.get(request) as InHand
      await place.work(() => carryOut(own, state, request, reply))
      return reply
    },
  })
}

function addOpenRoute(
  app: FastifyInstance,
  ports: Ports,
  admission: Admission,
  rates: RateLimits,
  route: Route,
): void {
  app.route({
    method: route.method,
    url: route.url,
    onRequest: async (request, reply) => {
      const place = admission.enter()
      if (place === null) return sendRefusal(reply, overloadedRefusal(askedBy(route, request)))
      reply.raw.once("close", place.leave)
      placesInHand.set(request, place)
      checkOpen(rates, route, request, reply)
    },
    handler: async (request, reply) => {
      const place = placesInHand.get(request) as Place
      await place.work(() => carryOutOpen(ports, route, request, reply))
      return reply
    },
  })
}

/** A known path with another verb: 405 with the verbs it has. */
function refuseOtherVerbs(app: FastifyInstance, url: string, allowed: readonly string[]): void {
  const others = VERBS.filter((verb) => !allowed.includes(verb))
  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, otherVerb(request.method, allowed))
    return reply
  }
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}

function addRetired(app: FastifyInstance, url: string): void {
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, retiredPath())
    return reply
  }
  app.route({ method: VERBS, url, onRequest: refuse, handler: refuse })
}
