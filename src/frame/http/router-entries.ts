/** Adds what the list of routes has to the web framework. */
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

/** What a path and a verb lead to. */
export type RouterEntry = Route | RouteVariants | QueryVariants

const admittedCalls = new WeakMap<FastifyRequest, AdmittedCall>()

/** Adds a route, or several on one verb and path. */
export function addEntry(
  app: FastifyInstance,
  calls: CallContext,
  admission: Admission,
  entry: RouterEntry,
  stopping: AbortSignal,
  way: EntryPoint | null = null,
): void {
  const { method } = entry
  const url = `${way?.pathPrefix ?? ""}${entry.url}`
  const config = configOf(entry)
  app.route({
    method: answeredMethods(method),
    url,
    config,
    onRequest: async (request, reply) => {
      const route = routeOf(entry, request)
      if ("error" in route) return sendRefusal(reply, route)
      const place = admission.admit()
      if (place === null) {
        const asking = { route, requestId: request.id, headers: headerFieldsOf(request.raw) }
        return sendRefusal(reply, overloadedRefusal(requestFactsOf(asking)))
      }
      reply.raw.once("close", place.release)
      admittedCalls.set(request, place)
      return undefined
    },
    handler: async (request, reply) => {
      const place = admittedCalls.get(request) as AdmittedCall
      await place.run(async () => {
        // What means none was refused before.
        const route = routeOf(entry, request) as Route | RouteVariants
        const came = callFromRequest(route, request, reply, stopping)
        const call = way === null ? came : callThroughEntryPoint(way, calls.ports, came)
        const answer = await handleCallTraced(calls, call)
        await sendAnswer(reply, answer, calls.ports.log)
      })
      return reply
    },
  })
}

/** What a request asks for, by its query where that says it. */
function routeOf(entry: RouterEntry, { query }: FastifyRequest): Route | RouteVariants | Refusal {
  return "parameter" in entry ? (variantByQuery(entry, query) ?? entry.unmatchedRefusal) : entry
}

/** Who an entry is for, as far as those are no clients of the API, and how it refuses. */
function configOf(entry: RouterEntry): EntryConfig {
  if ("variants" in entry) return {}
  const [route] = "parameter" in entry ? Object.values(entry.routes) : [entry]
  const { nonApiClient, errorFormat } = route ?? {}
  return { ...(nonApiClient && { nonApiClient }), ...(errorFormat && { errorFormat }) }
}

/** What a way leads to: the API's own routes. One that anybody may ask needs no other way. */
export function apiEntriesOf(
  entries: readonly (Route | RouteVariants)[],
): readonly (Route | RouteVariants)[] {
  const isOpen = (entry: Route | RouteVariants) => !isRouteVariants(entry) && entry.auth === false
  const isOfApi = ({ nonApiClient, errorFormat, url }: Route) =>
    nonApiClient === undefined && errorFormat === undefined && url.startsWith("/api/")
  return entries.filter((entry) => !isOpen(entry) && routesIn([entry]).every(isOfApi))
}

/** A call that came by a way, as its route sees it: without what the way's own path says. */
function callThroughEntryPoint(
  { pathPrefix, identify }: EntryPoint,
  ports: Ports,
  call: ApiCall,
): ApiCall {
  const own = new Set(
    pathPrefix.split("/").flatMap((part) => (part.startsWith(":") ? part.slice(1) : [])),
  )
  const others = Object.entries(call.params).filter(([name]) => !own.has(name))
  const entering = { ...call, method: call.route.method }
  return { ...call, params: Object.fromEntries(others), identify: () => identify(ports, entering) }
}

/** Beyond this part of what V8 may use, collecting takes all the time there is. */
const FULL_HEAP = 0.95

/** When a process counts as overloaded, and how often it is looked at. */
interface Pressure {
  readonly heapBytes: number
  readonly sampleEveryMs: number
}

const PRESSURE: Pressure = {
  heapBytes: Math.floor(getHeapStatistics().heap_size_limit * FULL_HEAP),
  sampleEveryMs: 1_000,
}

/** So many calls are always taken in hand. */
const ALWAYS_ADMITTED = 1_000
/** And never more than so many. */
const MAX_ADMITTED = 10_000
/** In between, nobody is taken in hand who would wait longer. */
const MAX_WAIT_S = 4
/** Over so long it is counted what is finished. */
const WINDOW_MS = 1_000

/** A call that was taken in hand. */
export interface AdmittedCall {
  /** Somebody works on the call: it stays in hand also when its caller goes away. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  /** The answer has left, or its caller. */
  readonly release: () => void
}

/** The door of a process. */
export interface Admission {
  /** Takes a call in hand; null where it is to be turned away. */
  readonly admit: () => AdmittedCall | null
  /** How many calls are in hand. */
  readonly activeCalls: () => number
}

/**
 * Opens the door of a process: how many calls it takes in hand at once. A call that would wait for too long
 * is turned away here, where that is cheap: the memory stays bounded, and what was taken is served in time.
 *
 * How long a newcomer would wait is what is in hand divided by what is finished in a second. No call is
 * turned away below a number that any process serves, nor for a rush that has only just begun.
 */
export function openAdmission(pacer: Pick<Pacer, "elapsedMs">): Admission {
  let inHand = 0
  let finished = 0
  /** When counting began anew; null while few are in hand. */
  let countedFrom: number | null = null
  /** What was finished in a second when it was counted last; null where it never was in this rush. */
  let perSecond: number | null = null

  const isTooLong = (): boolean => {
    if (inHand < ALWAYS_ADMITTED) return false
    if (inHand >= MAX_ADMITTED) return true
    const now = pacer.elapsedMs()
    countedFrom ??= now
    const countedMs = now - countedFrom
    if (countedMs >= WINDOW_MS) {
      perSecond = (finished * 1_000) / countedMs
      finished = 0
      countedFrom = now
    }
    return perSecond !== null && inHand > perSecond * MAX_WAIT_S
  }
  const end = (): void => {
    inHand -= 1
    finished += 1
    if (inHand >= ALWAYS_ADMITTED) return
    finished = 0
    countedFrom = null
    perSecond = null
  }
  return {
    activeCalls: () => inHand,
    admit: () => {
      if (isTooLong()) return null
      inHand += 1
      let holders = 1
      const letGo = (): void => {
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
            letGo()
          }
        },
        release: () => {
          if (hasLeft) return
          hasLeft = true
          letGo()
        },
      }
    },
  }
}

/** Watches the process from here on. */
export async function watchPressure(
  app: FastifyInstance,
  { heapBytes, sampleEveryMs }: Pressure = PRESSURE,
): Promise<void> {
  await app.register(underPressure, {
    maxHeapUsedBytes: heapBytes,
    sampleInterval: sampleEveryMs,
    pressureHandler: async (request, reply) => {
      // Before its route is looked at: nothing is said of what it pays for.
      const nothing = { paymentKind: null, isKeyed: false, mayHaveRun: false }
      await sendRefusal(reply, overloadedRefusal({ requestId: request.id, ...nothing }))
    },
  })
}
