/** The known paths, and the refusals of unknown paths and unsupported methods. */
import { METHODS } from "node:http"
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import findMyWay from "find-my-way"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import { sendRefusal } from "./responses.ts"
import type { Route } from "../routes/declare/route.ts"

/** Every HTTP method that can reach a route; CONNECT asks a proxy for a tunnel. */
export const HTTP_METHODS = METHODS.filter((method) => method !== "CONNECT")

const ROUTED_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/** The methods of each path. Registering a 405 route for every other method would dominate the start time. */
export interface KnownPaths {
  /** @param url in the form of routes: `/api/v1/domains/:domainId` */
  readonly add: (url: string, methods: readonly string[]) => void
  /** Returns the methods of a requested path; null for an unknown path. */
  readonly methodsAt: (requested: string) => readonly string[] | null
}

/** Creates an empty list. @param maxParamLength maximum length of a path parameter, as in the main router */
export function knownPaths(maxParamLength: number): KnownPaths {
  const router = findMyWay({ maxParamLength })
  return {
    add: (url, methods) => router.on("GET", url, () => undefined, methods),
    methodsAt: (requested) => (router.find("GET", requested)?.store ?? null) as string[] | null,
  }
}

/** Returns the refusal of a request that no route takes: 405 on a known path, else 404. */
export function notFoundRefusal(
  { method, url, originalUrl }: FastifyRequest,
  known: KnownPaths,
): Refusal {
  const methods = known.methodsAt(url)
  // If the path supports the method, its route found nothing there.
  const isOther = methods !== null && !methods.includes(method)
  return isOther ? methodRefusal(method, methods) : unknownPathRefusal(originalUrl)
}

/**
 * Answers 405 to unsupported methods of known paths. Most are handled when no route matches; a method that an
 * overlapping path would take needs a route of its own.
 *
 * @param supported the methods of each path
 * @param retired paths that take every method
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  known: KnownPaths,
  supported: ReadonlyMap<string, readonly string[]>,
  retired: readonly string[],
): void {
  const all = [...supported, ...retired.map((url) => [url, ROUTED_METHODS] as const)]
  const forms = all.map(([url, methods]) => ({ url, methods, parts: partsOf(url) }))
  for (const [url, allowed] of supported) {
    known.add(url, allowed)
    const parts = partsOf(url)
    const others = forms.filter((one) => one.url !== url && canOverlap(parts, one.parts))
    const otherMethods = new Set(others.flatMap((one) => one.methods))
    const method = [...otherMethods].filter((one) => !allowed.includes(one))
    if (method.length === 0) continue
    const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
      sendRefusal(reply, methodRefusal(request.method, allowed))
      return reply
    }
    app.route({ method, url, onRequest: refuse, handler: refuse })
  }
}

/** Splits a path; null for a part that is a parameter. */
const partsOf = (url: string): readonly (string | null)[] =>
  url
    .split("/")
    .slice(1)
    .map((part) => (part.includes(":") ? null : part))

/** Whether one path can match two forms. */
function canOverlap(one: readonly (string | null)[], other: readonly (string | null)[]): boolean {
  const parts = Math.min(one.length, other.length)
  for (let index = 0; index < parts; index += 1) {
    const [a, b] = [one[index], other[index]]
    if (a === "*" || b === "*") return true
    if (a !== b && a !== null && b !== null) return false
  }
  return one.length === other.length || one[parts] === "*" || other[parts] === "*"
}

/** Adds a retired path, which answers 410 to every method. */
export function addRetiredPath(app: FastifyInstance, url: string): void {
  const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
    sendRefusal(reply, retiredPathRefusal())
    return reply
  }
  app.route({ method: HTTP_METHODS, url, onRequest: refuse, handler: refuse })
}

/** Returns the refusal of an unknown path, without the query, which may hold secrets. */
export function unknownPathRefusal(url: string): Refusal {
  const [path] = url.split("?", 1)
  return refusal("not_found", `The path ${path} does not exist.`)
}

/** Returns the methods that a route's method answers: GET includes HEAD. */
export function answeredMethods(method: Route["method"]): string[] {
  return method === "GET" ? ["GET", "HEAD"] : [method]
}

/** Returns a 405 with the methods that the path supports. */
export function methodRefusal(method: string, allowed: readonly string[]): Refusal {
  const message = `${method} is not supported here; use ${allowed.join(" or ")}.`
  return { ...refusal("method_not_allowed", message), headers: { allow: allowed.join(", ") } }
}

function retiredPathRefusal(): Refusal {
  const message = "This route is retired; leads come from forms on the company's hosted pages."
  return refusal("gone", message)
}
