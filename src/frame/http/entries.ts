/** Adds what the list of routes has to the web framework. */
import type { FastifyInstance, FastifyRequest } from "fastify"
import { askedBy } from "../routes/asked-by.ts"
import type { CallPorts } from "../routes/carry-out.ts"
import { overloadedRefusal } from "../routes/answers/faults.ts"
import type { ByQuery, OneOf } from "../routes/declare/one-of.ts"
import { meantBy } from "../routes/declare/one-of.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Route } from "../routes/declare/route.ts"
import { carryOutTraced } from "../routes/traced-call.ts"
import type { WayIn } from "../routes/declare/way-in.ts"
import type { Admission, Place } from "./admission.ts"
import { callOf, fieldsOf } from "./incoming.ts"
import type { EntryConfig } from "./outgoing.ts"
import { sendAnswer, sendRefusal } from "./outgoing.ts"
import { answeredVerbs } from "./router-refusals.ts"
import { enteringBy } from "./ways-in.ts"

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
