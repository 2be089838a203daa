/** Adds what the list of routes has to the web framework. */
import type { FastifyInstance, FastifyRequest } from "fastify"
import type { Call, WayIn } from "../routes/call.ts"
import { askedBy } from "../routes/call.ts"
import type { CallPorts } from "../routes/carry-out.ts"
import { carryOutTraced } from "../routes/carry-out.ts"
import { overloadedRefusal } from "../routes/answers/faults.ts"
import type { ByQuery, OneOf } from "../routes/declare/one-of.ts"
import { meantBy, isOneOf, routesIn } from "../routes/declare/one-of.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"
import { callOf, fieldsOf } from "./incoming.ts"
import type { EntryConfig } from "./outgoing.ts"
import { sendAnswer, sendRefusal } from "./outgoing.ts"
import { answeredVerbs } from "./known-paths.ts"
import type { Ports } from "../ports.ts"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { getHeapStatistics } from "node:v8"
import underPressure from "@fastify/under-pressure"

/** What a path and a verb lead to. */
export type Served = Route | OneOf | ByQuery

const placesInHand = new WeakMap<FastifyRequest, Place>()

/** Adds a route, or several on one verb and path. */
export function addEntry(
  app: FastifyInstance,
  calls: CallPorts,
  admission: Admission,
  entry: Served,
  stopping: AbortSignal,
  way: WayIn | null = null,
): void {
  const { method } = entry
  const url = `${way?.at ?? ""}${entry.url}`
  const config = configOf(entry)
  app.route({
    method: answeredVerbs(method),
    url,
    config,
    onRequest: async (request, reply) => {
      const route = routeOf(entry, request)
      if ("error" in route) return sendRefusal(reply, route)
      const place = admission.enter()
      if (place === null) {
        const asking = { route, requestId: request.id, headers: fieldsOf(request.raw) }
        return sendRefusal(reply, overloadedRefusal(askedBy(asking)))
      }
      reply.raw.once("close", place.leave)
      placesInHand.set(request, place)
      return undefined
    },
    handler: async (request, reply) => {
      const place = placesInHand.get(request) as Place
      await place.work(async () => {
        // What means none was refused before.
        const route = routeOf(entry, request) as Route | OneOf
        const came = callOf(route, request, reply, stopping)
        const call = way === null ? came : enteringBy(way, calls.ports, came)
        const answer = await carryOutTraced(calls, call)
        await sendAnswer(reply, answer, calls.ports.log)
      })
      return reply
    },
  })
}

/** What a request asks for, by its query where that says it. */
function routeOf(entry: Served, { query }: FastifyRequest): Route | OneOf | Refusal {
  return "parameter" in entry ? (meantBy(entry, query) ?? entry.otherwise) : entry
}

/** Who an entry is for, as far as those are no clients of the API, and how it refuses. */
function configOf(entry: Served): EntryConfig {
  if ("shapes" in entry) return {}
  const [route] = "parameter" in entry ? Object.values(entry.routes) : [entry]
  const { client, errorForm } = route ?? {}
  return { ...(client && { client }), ...(errorForm && { errorForm }) }
}

/** What a way leads to: the API's own routes. One that anybody may ask needs no other way. */
export function reachedBy(entries: readonly (Route | OneOf)[]): readonly (Route | OneOf)[] {
  const isOpen = (entry: Route | OneOf) => !isOneOf(entry) && entry.auth === false
  const isOfApi = ({ client, errorForm, url }: Route) =>
    client === undefined && errorForm === undefined && url.startsWith("/api/")
  return entries.filter((entry) => !isOpen(entry) && routesIn([entry]).every(isOfApi))
}

/** A call that came by a way, as its route sees it: without what the way's own path says. */
function enteringBy({ at, who }: WayIn, ports: Ports, call: Call): Call {
  const own = new Set(at.split("/").flatMap((part) => (part.startsWith(":") ? part.slice(1) : [])))
  const others = Object.entries(call.params).filter(([name]) => !own.has(name))
  const entering = { ...call, method: call.route.method }
  return { ...call, params: Object.fromEntries(others), who: () => who(ports, entering) }
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
const ALWAYS = 1_000
/** And never more than so many. */
const MOST = 10_000
/** In between, nobody is taken in hand who would wait longer. */
const MOST_WAIT_S = 4
/** Over so long it is counted what is finished. */
const WINDOW_MS = 1_000

/** A call that was taken in hand. */
export interface Place {
  /** Somebody works on the call: it stays in hand also when its caller goes away. */
  readonly work: <T>(work: () => Promise<T>) => Promise<T>
  /** The answer has left, or its caller. */
  readonly leave: () => void
}

/** The door of a process. */
export interface Admission {
  /** Takes a call in hand; null where it is to be turned away. */
  readonly enter: () => Place | null
  /** How many calls are in hand. */
  readonly inHand: () => number
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
    if (inHand < ALWAYS) return false
    if (inHand >= MOST) return true
    const now = pacer.elapsedMs()
    countedFrom ??= now
    const countedMs = now - countedFrom
    if (countedMs >= WINDOW_MS) {
      perSecond = (finished * 1_000) / countedMs
      finished = 0
      countedFrom = now
    }
    return perSecond !== null && inHand > perSecond * MOST_WAIT_S
  }
  const end = (): void => {
    inHand -= 1
    finished += 1
    if (inHand >= ALWAYS) return
    finished = 0
    countedFrom = null
    perSecond = null
  }
  return {
    inHand: () => inHand,
    enter: () => {
      if (isTooLong()) return null
      inHand += 1
      let holders = 1
      const letGo = (): void => {
        holders -= 1
        if (holders === 0) end()
      }
      let hasLeft = false
      return {
        work: async (work) => {
          holders += 1
          try {
            return await work()
          } finally {
            letGo()
          }
        },
        leave: () => {
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
      const nothing = { pays: null, isNamed: false, mayBeDone: false }
      await sendRefusal(reply, overloadedRefusal({ requestId: request.id, ...nothing }))
    },
  })
}
