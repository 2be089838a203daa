/**
 * Chooses by host name between host routes (boxes, previews, pages) and the API. If the API's own name is
 * configured, no other name reaches it, so that no company's page can pose as the API. Also rejects requests
 * that violate HTTP.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import ipaddr from "ipaddr.js"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal, refusalBody } from "../routes/answers/refusal.ts"
import { newId } from "../kernel/ids.ts"
import type { FastifyInstance } from "fastify"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { sendRefusal } from "./responses.ts"

/** Origin of a request, as reported by the nearest trusted proxy (`TRUST_PROXY`). */
interface ClientOrigin {
  /** The client's address, for rate limits. */
  readonly address: string
  /** Whether the client used HTTPS. */
  readonly isSecure: boolean
}

export interface HostRoute {
  readonly name: string
  /** Whether it serves a host name, given in lower case and without a port. */
  readonly matches: (host: string) => boolean
  readonly serve: (request: IncomingMessage, response: ServerResponse, origin: ClientOrigin) => void
  /** Called for a request to its host names that an alias maps to the API. */
  readonly onAliased?: (request: IncomingMessage, origin: ClientOrigin) => void
  /** Handles a protocol upgrade; absent if it supports none. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Host names that map to one path of the API. */
export interface HostAlias {
  /**
   * Returns the path for a host name (lower case, without a port), without a trailing slash: `/git`; null for
   * other names. Called for every request, so it must answer from memory.
   */
  readonly pathFor: (host: string) => string | null
}

export interface HostRouting {
  /** Host name of the public URL, in lower case; null if every name without a host route is the API's. */
  readonly ownHost: string | null
  readonly hostRoutes: readonly HostRoute[]
  readonly aliases: readonly HostAlias[]
}

/** Returns the path that an alias maps a host name to; null if none does. Aliases precede host routes. */
export function aliasedPath(aliases: readonly HostAlias[], host: string | null): string | null {
  if (host === null) return null
  for (const { pathFor } of aliases) {
    const path = pathFor(host)
    if (path !== null) return path
  }
  return null
}

/** Returns the requested host name, in lower case and without a port; null if there is none. */
export function requestHostname({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const { host } = headers
  if (host === undefined || host === "") return null
  const name = host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.split(":", 1)[0]
  return (name ?? "").toLowerCase().replace(/\.$/, "")
}

/** Returns the host name if a host route or alias can have it; null for the API's own, addresses and dotless ones. */
export function foreignHostname(
  own: string | null,
  request: Pick<IncomingMessage, "headers">,
): string | null {
  const host = requestHostname(request)
  return host === null || host === own || !host.includes(".") || isIP(host) !== 0 ? null : host
}

/** A target with a host, such as `GET http://host/path` to a proxy. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\//i

/** Whether the target of a request names a host other than the `Host` header. */
function hasConflictingHosts(request: Pick<IncomingMessage, "headers" | "url">): boolean {
  const { url = "/" } = request
  if (!ABSOLUTE.test(url)) return false
  return (
    !URL.canParse(url) ||
    requestHostname({ headers: { host: new URL(url).host } }) !== requestHostname(request)
  )
}

/** Removes the host from a target. */
function withoutHost(url: string): string {
  if (!ABSOLUTE.test(url)) return url
  const rest = url.replace(ABSOLUTE, "").replace(/^[^/?]*/, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** Finds the host route of a host name; null if the API answers it. */
export function hostRouteFor(
  hostRoutes: readonly HostRoute[],
  host: string | null,
): HostRoute | null {
  return host === null ? null : (hostRoutes.find(({ matches }) => matches(host)) ?? null)
}

/**
 * Returns the refusal of a host name that is not the API's. Null for its own name, this machine's, an address,
 * and for every name if none is configured.
 */
export function misdirectedRefusal(own: string | null, host: string | null): Refusal | null {
  if (own === null || host === null || host === own) return null
  if (host === "localhost" || host.endsWith(".localhost") || isIP(host) !== 0) return null
  return refusal("misdirected", `This server does not serve ${host}. Use ${own}.`)
}

const JSON_TYPE = "application/json; charset=utf-8"
const NOT_HTTP_MESSAGE = "The bytes sent are not a valid HTTP request."

/** Creates a request id. */
export function newRequestId(): string {
  return newId("req")
}

/** Error code of an upgrade request where no protocol is supported. */
const NO_UPGRADE = "NO_UPGRADE"

/** Error code of an upgrade request with more than one host. */
const TWO_HOSTS = "TWO_HOSTS"

/** Status and message for malformed requests; all others get 400. */
const MALFORMED_REQUESTS: Readonly<Record<string, readonly [status: number, why: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request did not arrive completely in time. Send it again."],
  [TWO_HOSTS]: [400, "Send exactly one Host header, with the host that the target names."],
  [NO_UPGRADE]: [
    400,
    "Protocol upgrades are not supported here. Send the request without Upgrade.",
  ],
  HPE_HEADER_OVERFLOW: [431, "The headers are too large; the limit is 16 KiB in total."],
}

/** Answers a malformed HTTP request, if the socket is still writable. */
export function refuseMalformedRequest(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy(error as Error)
    return
  }
  const [status, why] = MALFORMED_REQUESTS[error.code ?? ""] ?? [400, NOT_HTTP_MESSAGE]
  const body = JSON.stringify(refusalBody(invalid({ request: why })))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${newRequestId()}\r\n` +
      `cache-control: no-store\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${body.length}\r\n` +
      `connection: close\r\n\r\n${body}`,
  )
}

/** Rejects an `Expect` header other than `100-continue`. */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(refusalBody(invalid({ Expect: "Must be 100-continue or absent." })))
  // Its body is not read, so a following request on this connection could not be found.
  response.writeHead(417, {
    "x-request-id": newRequestId(),
    "cache-control": "no-store",
    "content-type": JSON_TYPE,
    "content-length": body.length,
    connection: "close",
  })
  response.end(body)
}

/** Returns the refusal of a missing, repeated or conflicting `Host` header; null if it is valid. */
export function hostHeaderRefusal(request: IncomingMessage): Refusal | null {
  const { headers, rawHeaders, httpVersion } = request
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host")
  // Node takes the first; a proxy in front of this server may have taken another.
  if (hosts.length > 1) return invalid({ Host: "Must be sent once." })
  if (hasConflictingHosts(request))
    return invalid({ Host: "Must be the host that the target names." })
  if (httpVersion !== "1.1" || headers.host !== undefined) return null
  return invalid({ Host: "Must be sent; HTTP/1.1 requires it." })
}

function invalid(fields: Readonly<Record<string, string>>): Refusal {
  return refusal("validation", "The request is not valid HTTP.", { fields })
}

/** Shared by all clients without a valid address. */
const UNKNOWN_ADDRESS = "unknown"

/** An address with a port, as some proxies write it. */
const PORT = /^(?:\[(.*)\]|(\d+\.\d+\.\d+\.\d+)):\d+$/

/**
 * Normalizes a client's address for rate limits: an IPv4 address, or the /64 network of an IPv6 address, the
 * smallest that a provider assigns to a customer (RFC 6177).
 */
export function rateLimitAddress(ip: string): string {
  const text = ip.replace(PORT, "$1$2")
  if (!ipaddr.isValid(text)) return UNKNOWN_ADDRESS
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}

/** The path that the router sees for host routes: no route has it, and the router never rejects it. */
export const HOST_ROUTE_PATH = "/door"

/** How long connections of host routes may continue during shutdown. */
const CLOSE_GRACE_MS = 1_000

/**
 * Passes requests for host routes to them. Events and web sockets may last forever, so shutdown ends them
 * after a grace period.
 */
export function addHostRoutes(
  app: FastifyInstance,
  { ownHost, hostRoutes, aliases }: HostRouting,
  pacer: Pacer,
): void {
  const open = new Set<{ readonly destroy: () => unknown }>()
  const closed = new AbortController()
  app.addHook("onRequest", async (request, reply) => {
    const host = foreignHostname(ownHost, request.raw)
    const hostRoute = hostRouteFor(hostRoutes, host)
    if (hostRoute === null) return
    const isSecure = request.protocol === "https"
    const origin = { address: rateLimitAddress(request.ip), isSecure }
    if (aliasedPath(aliases, host) !== null) return hostRoute.onAliased?.(request.raw, origin)
    request.raw.url = request.originalUrl
    const refused = hostHeaderRefusal(request.raw)
    if (refused !== null) return sendRefusal(reply, refused)
    request.raw.url = withoutHost(request.originalUrl)
    // From here on the host route answers.
    void reply.hijack()
    const { raw } = reply
    open.add(raw)
    raw.once("close", () => open.delete(raw))
    hostRoute.serve(request.raw, raw, origin)
  })
  app.addHook("preClose", async () => {
    void pacer.pause(CLOSE_GRACE_MS, closed.signal).then(() => {
      for (const one of open) one.destroy()
    })
  })
  app.addHook("onClose", async () => closed.abort())
  // Node before 24.9 treats every upgrade request as accepted once a listener exists.
  if (hostRoutes.every(({ upgrade }) => upgrade === undefined)) return
  app.server.on("upgrade", (request, socket: Socket, head) => {
    const take = upgradeHandlerFor({ ownHost, hostRoutes }, request)
    if (take === null) return refuseMalformedRequest({ code: NO_UPGRADE }, socket)
    if (hostHeaderRefusal(request) !== null)
      return refuseMalformedRequest({ code: TWO_HOSTS }, socket)
    request.url = withoutHost(request.url ?? "/")
    // A client that disconnects causes an error, which is no fault of the server.
    socket.on("error", () => socket.destroy())
    open.add(socket)
    socket.once("close", () => open.delete(socket))
    return take(request, socket, head)
  })
}

/** Returns the upgrade handler of a request's host route; null if there is none. */
export function upgradeHandlerFor(
  { ownHost, hostRoutes }: Pick<HostRouting, "ownHost" | "hostRoutes">,
  request: IncomingMessage,
): NonNullable<HostRoute["upgrade"]> | null {
  return hostRouteFor(hostRoutes, foreignHostname(ownHost, request))?.upgrade ?? null
}
