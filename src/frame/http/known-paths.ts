/** Paths that something is at, and what is refused there because of its verb. */
import { METHODS } from "node:http"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import findMyWay from "find-my-way"
import type { Refusal } from "../calls/refusal.ts"
import { sendRefusal } from "./outgoing.ts"
import { otherVerb, retiredPath, unknownPath } from "./router-refusals.ts"

/** Every verb of HTTP that reaches a route; CONNECT asks a proxy for a tunnel. */
export const VERBS = METHODS.filter((verb) => verb !== "CONNECT")

/** Those that some route has. */
const ROUTED_VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/**
 * Paths, for the verbs that no route has. A route for each of those verbs at every path would take longer
 * than all else that a start makes.
 */
export interface KnownPaths {
  /** @param url as routes have it: `/api/v1/domains/:domainId` */
  readonly add: (url: string, verbs: readonly string[]) => void
  /** The verbs that are answered at the path that is asked for; null where nothing is there. */
  readonly verbsAt: (requested: string) => readonly string[] | null
}

/** None yet. @param maxParamLength so long a part of a path may be, as in the server's own router */
export function knownPaths(maxParamLength: number): KnownPaths {
  const router = findMyWay({ maxParamLength })
  return {
    add: (url, verbs) => router.on("GET", url, () => undefined, verbs),
    verbsAt: (requested) => (router.find("GET", requested)?.store ?? null) as string[] | null,
  }
}

/** Refuses what no route takes: 405 where some has another verb, 404 where nothing is. */
export function nothingHere(
  { method, url, originalUrl }: FastifyRequest,
  known: KnownPaths,
): Refusal {
  const verbs = known.verbsAt(url)
  // A route that has the verb may find nothing there itself.
  const isOther = verbs !== null && !verbs.includes(method)
  return isOther ? otherVerb(method, verbs) : unknownPath(originalUrl)
}

/**
 * A known path with another verb: 405 with the verbs it has. Verbs that routes have are refused by one, for
 * a path of another form might take them.
 */
export function refuseOtherVerbs(
  app: FastifyInstance,
  known: KnownPaths,
  url: string,
  allowed: readonly string[],
): void {
  known.add(url, allowed)
  const others = ROUTED_VERBS.filter((verb) => !allowed.includes(verb))
  const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, otherVerb(request.method, allowed))
    return reply
  }
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}

/** A path that was retired: 410, whatever the verb. */
export function addRetired(app: FastifyInstance, url: string): void {
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, retiredPath())
    return reply
  }
  app.route({ method: VERBS, url, onRequest: refuse, handler: refuse })
}
