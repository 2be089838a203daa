/** Adds the routes to the web framework, and limits the calls in progress. */
import type { FastifyInstance, FastifyRequest } from "fastify"
import type { ApiCall, EntryPoint } from "../routes/api-call.ts"
import { requestFactsOf } from "../routes/api-call.ts"
import type { CallContext } from "../routes/handle-call.ts"
import { handleCallTraced } from "../routes/handle-call.ts"
import { overloadedRefusal } from "../routes/answers/error-refusals.ts"
import type { QueryVariants, RouteVariants } from "../routes/declare/route-variants.ts"
import { variantByQuery, isRouteVariants, routesIn } from "../routes/declare/route-variants.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"
import { callFromRequest, headerFieldsOf } from "./requests.ts"
import type { EntryConfig } from "./responses.ts"
import { sendAnswer, sendRefusal } from "./responses.ts"
import { answeredMethods } from "./known-paths.ts"
import type { Ports } from "../ports.ts"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { getHeapStatistics } from "node:v8"
import underPressure from "@fastify/under-pressure"

/** The entry of a path and method. */
export type RouterEntry = Route | RouteVariants | QueryVariants

const admittedCalls = new WeakMap<FastifyRequest, AdmittedCall>()

/** Adds a route, or several on one method and path; with an entry point, under its path prefix. */
export function addEntry(
  app: FastifyInstance,
  calls: CallContext,
  admission: Admission,
  entry: RouterEntry,
  stopping: AbortSignal,
  entryPoint: EntryPoint | null = null,
): void {
  const { method } = entry
  const url = `${entryPoint?.pathPrefix ?? ""}${entry.url}`
  const config = configOf(entry)
  app.route({
    method: answeredMethods(method),
    url,
    config,
    onRequest: async (request, reply) => {
      const route = routeOf(entry, request)
      if ("error" in route) return sendRefusal(reply, route)
      const admitted = admission.admit()
      if (admitted === null) {
        const rejected = { route, requestId: request.id, headers: headerFieldsOf(request.raw) }
        return sendRefusal(reply, overloadedRefusal(requestFactsOf(rejected)))
      }
      reply.raw.once("close", admitted.release)
      admittedCalls.set(request, admitted)
      return undefined
    },
    handler: async (request, reply) => {
      const admitted = admittedCalls.get(request) as AdmittedCall
      await admitted.run(async () => {
        // A request without a route was rejected in `onRequest`.
        const route = routeOf(entry, request) as Route | RouteVariants
        const direct = callFromRequest(route, request, reply, stopping)
        const call =
          entryPoint === null ? direct : callThroughEntryPoint(entryPoint, calls.ports, direct)
        const answer = await handleCallTraced(calls, call)
        await sendAnswer(reply, answer, calls.ports.log)
      })
      return reply
    },
  })
}

/** Returns the route of a request, chosen by its query if the entry has query variants. */
function routeOf(entry: RouterEntry, { query }: FastifyRequest): Route | RouteVariants | Refusal {
  return "parameter" in entry ? (variantByQuery(entry, query) ?? entry.unmatchedRefusal) : entry
}

/** Returns an entry's kind of client and error format. */
function configOf(entry: RouterEntry): EntryConfig {
  if ("variants" in entry) return {}
  const [route] = "parameter" in entry ? Object.values(entry.routes) : [entry]
  const { nonApiClient, errorFormat } = route ?? {}
  return { ...(nonApiClient && { nonApiClient }), ...(errorFormat && { errorFormat }) }
}

/** Returns the entries that entry points reach: the API's own routes that need a key. */
export function apiEntriesOf(
  entries: readonly (Route | RouteVariants)[],
): readonly (Route | RouteVariants)[] {
  const isOpen = (entry: Route | RouteVariants) => !isRouteVariants(entry) && entry.auth === false
  const isOfApi = ({ nonApiClient, errorFormat, url }: Route) =>
    nonApiClient === undefined && errorFormat === undefined && url.startsWith("/api/")
  return entries.filter((entry) => !isOpen(entry) && routesIn([entry]).every(isOfApi))
}

/** Returns a call through an entry point as its route sees it: without the parameters of the path prefix. */
function callThroughEntryPoint(
  { pathPrefix, identify }: EntryPoint,
  ports: Ports,
  call: ApiCall,
): ApiCall {
  const prefixParams = new Set(
    pathPrefix.split("/").flatMap((part) => (part.startsWith(":") ? part.slice(1) : [])),
  )
  const others = Object.entries(call.params).filter(([name]) => !prefixParams.has(name))
  const entering = { ...call, method: call.route.method }
  return { ...call, params: Object.fromEntries(others), identify: () => identify(ports, entering) }
}

/** Heap usage, as a share of V8's limit, beyond which garbage collection takes most of the time. */
const FULL_HEAP = 0.95

/** When a process counts as overloaded, and how often that is sampled. */
interface Pressure {
  readonly heapBytes: number
  readonly sampleEveryMs: number
}

const PRESSURE: Pressure = {
  heapBytes: Math.floor(getHeapStatistics().heap_size_limit * FULL_HEAP),
  sampleEveryMs: 1_000,
}

/** Up to this number of calls in progress, all are admitted. */
const ALWAYS_ADMITTED = 1_000
/** Maximum number of calls in progress. */
const MAX_ADMITTED = 10_000
/** Between the two numbers, calls with a longer expected wait are rejected. */
const MAX_WAIT_S = 4
/** Period over which finished calls are counted. */
const WINDOW_MS = 1_000

export interface AdmittedCall {
  /** Runs the work; the call counts as in progress until it ends, even if its client disconnects. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  /** Called when the answer has been sent or the client has disconnected. */
  readonly release: () => void
}

/** Limits the number of concurrent calls of a process. */
export interface Admission {
  /** Admits a call; null if it must be rejected. */
  readonly admit: () => AdmittedCall | null
  /** Returns the number of calls in progress. */
  readonly activeCalls: () => number
}

/**
 * Limits the number of concurrent calls of a process: rejecting early is cheap, bounds memory, and keeps
 * admitted calls fast.
 *
 * The expected wait is the number of calls in progress divided by those finished per second. No call is
 * rejected below a number that any process can serve, nor before the first count of a rush.
 */
export function openAdmission(pacer: Pick<Pacer, "elapsedMs">): Admission {
  let active = 0
  let finished = 0
  /** Start of the current count; null below `ALWAYS_ADMITTED`. */
  let countedFrom: number | null = null
  /** Calls finished per second at the last count; null before the first count of a rush. */
  let perSecond: number | null = null

  const isTooLong = (): boolean => {
    if (active < ALWAYS_ADMITTED) return false
    if (active >= MAX_ADMITTED) return true
    const now = pacer.elapsedMs()
    countedFrom ??= now
    const countedMs = now - countedFrom
    if (countedMs >= WINDOW_MS) {
      perSecond = (finished * 1_000) / countedMs
      finished = 0
      countedFrom = now
    }
    return perSecond !== null && active > perSecond * MAX_WAIT_S
  }
  const end = (): void => {
    active -= 1
    finished += 1
    if (active >= ALWAYS_ADMITTED) return
    finished = 0
    countedFrom = null
    perSecond = null
  }
  return {
    activeCalls: () => active,
    admit: () => {
      if (isTooLong()) return null
      active += 1
      let holders = 1
      const release = (): void => {
        holders -= 1
        if (holders === 0) end()
      }
      let hasLeft = false
      return {
        run: async (work) => {
          holders += 1
          try {
            return await work()
          } finally {
            release()
          }
        },
        release: () => {
          if (hasLeft) return
          hasLeft = true
          release()
        },
      }
    },
  }
}

/** Rejects calls while the process's heap is nearly full. */
export async function watchPressure(
  app: FastifyInstance,
  { heapBytes, sampleEveryMs }: Pressure = PRESSURE,
): Promise<void> {
  await app.register(underPressure, {
    maxHeapUsedBytes: heapBytes,
    sampleInterval: sampleEveryMs,
    pressureHandler: async (request, reply) => {
      // The route is not known yet, so neither is what it charges.
      const unknown = { paymentKind: null, isKeyed: false, mayHaveRun: false }
      await sendRefusal(reply, overloadedRefusal({ requestId: request.id, ...unknown }))
    },
  })
}
