/** Paths that something is at, and what is refused there because of its verb. */
import { METHODS } from "node:http"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import findMyWay from "find-my-way"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import { sendRefusal } from "./responses.ts"
import type { Route } from "../routes/declare/route.ts"

/** Every verb of HTTP that reaches a route; CONNECT asks a proxy for a tunnel. */
export const HTTP_METHODS = METHODS.filter((verb) => verb !== "CONNECT")

/** Those that some route has. */
const ROUTED_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/**
 * Paths, for the verbs that no route has. A route for each of those verbs at every path would take longer
 * than all else that a start makes.
 */
export interface KnownPaths {
  /** @param url as routes have it: `/api/v1/domains/:domainId` */
  readonly add: (url: string, verbs: readonly string[]) => void
  /** The verbs that are answered at the path that is asked for; null where nothing is there. */
  readonly methodsAt: (requested: string) => readonly string[] | null
}

/** None yet. @param maxParamLength so long a part of a path may be, as in the server's own router */
export function knownPaths(maxParamLength: number): KnownPaths {
  const router = findMyWay({ maxParamLength })
  return {
    add: (url, verbs) => router.on("GET", url, () => undefined, verbs),
    methodsAt: (requested) => (router.find("GET", requested)?.store ?? null) as string[] | null,
  }
}

/** Refuses what no route takes: 405 where some has another verb, 404 where nothing is. */
export function notFoundRefusal(
  { method, url, originalUrl }: FastifyRequest,
  known: KnownPaths,
): Refusal {
  const verbs = known.methodsAt(url)
  // A route that has the verb may find nothing there itself.
  const isOther = verbs !== null && !verbs.includes(method)
  return isOther ? methodRefusal(method, verbs) : unknownPathRefusal(originalUrl)
}

/**
 * Known paths with another verb: 405 with the verbs they have. What no route takes is refused as it comes; a verb
 * that a path of another form would take here is refused by a route of its own.
 *
 * @param taken the verbs of each path
 * @param retired paths that take every verb
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  known: KnownPaths,
  taken: ReadonlyMap<string, readonly string[]>,
  retired: readonly string[],
): void {
  const all = [...taken, ...retired.map((url) => [url, ROUTED_METHODS] as const)]
  const forms = all.map(([url, verbs]) => ({ url, verbs, parts: partsOf(url) }))
  for (const [url, allowed] of taken) {
    known.add(url, allowed)
    const parts = partsOf(url)
    const others = forms.filter((one) => one.url !== url && canOverlap(parts, one.parts))
    const verbs = new Set(others.flatMap((one) => one.verbs))
    const method = [...verbs].filter((verb) => !allowed.includes(verb))
    if (method.length === 0) continue
    const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
      sendRefusal(reply, methodRefusal(request.method, allowed))
      return reply
    }
    app.route({ method, url, onRequest: refuse, handler: refuse })
  }
}

/** The parts of a form of path; null for one that may be anything. */
const partsOf = (url: string): readonly (string | null)[] =>
  url
    .split("/")
    .slice(1)
    .map((part) => (part.includes(":") ? null : part))

/** Whether a path can have two forms at once. */
function canOverlap(one: readonly (string | null)[], other: readonly (string | null)[]): boolean {
  const parts = Math.min(one.length, other.length)
  for (let place = 0; place < parts; place += 1) {
    const [a, b] = [one[place], other[place]]
    if (a === "*" || b === "*") return true
    if (a !== b && a !== null && b !== null) return false
  }
  return one.length === other.length || one[parts] === "*" || other[parts] === "*"
}

/** A path that was retired: 410, whatever the verb. */
export function addRetiredPath(app: FastifyInstance, url: string): void {
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, retiredPathRefusal())
    return reply
  }
  app.route({ method: HTTP_METHODS, url, onRequest: refuse, handler: refuse })
}

/** Nothing is at this address; what stands behind a question mark is not told again. */
export function unknownPathRefusal(url: string): Refusal {
  return refusal("not_found", `There is no ${url.split("?", 1)[0]} here.`)
}

/** The verbs that are answered where a route has this one: whatever is read can be asked for its head. */
export function answeredMethods(method: Route["method"]): string[] {
  return method === "GET" ? ["GET", "HEAD"] : [method]
}

/** A known path with another verb: 405 with the verbs it has. */
export function methodRefusal(verb: string, allowed: readonly string[]): Refusal {
  const message = `${verb} is not possible here; use ${allowed.join(" or ")}.`
  return { ...refusal("method_not_allowed", message), headers: { allow: allowed.join(", ") } }
}

/** The route is no longer there, whatever the verb. */
function retiredPathRefusal(): Refusal {
  const message = "This route is retired; leads come from forms on the company's hosted pages."
  return refusal("gone", message)
}
