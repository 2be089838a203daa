/**
 * What a request's host name chooses: a door of its own (hosts of boxes, of previews, of pages), else the
 * API. Where the API's own name is known, no other name reaches it: a page that a company serves at a name
 * of ours is never taken for the API. Requests to which HTTP itself says no are refused here as well.
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

/** Where a request comes from, as the nearest proxy that is trusted says (`TRUST_PROXY`). */
interface ClientOrigin {
  /** As limits per address count it. */
  readonly address: string
  /** Whether it was asked by https. */
  readonly isSecure: boolean
}

/** What stands behind some host names instead of the API. */
export interface HostRoute {
  readonly name: string
  /** Whether a host name, in small letters and without a port, is one of its own. */
  readonly matches: (host: string) => boolean
  readonly serve: (request: IncomingMessage, response: ServerResponse, origin: ClientOrigin) => void
  /** Told of what comes to its host names and is led to a path of the API by an alias. */
  readonly onAliased?: (request: IncomingMessage, origin: ClientOrigin) => void
  /** Takes a connection that is to speak another protocol; without it none does. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Host names that lead to a path of the API, and to nothing else of it. */
export interface HostAlias {
  /**
   * The path that a host name (in small letters, without a port) leads to, without a slash at the end:
   * `/git`; null where it is none of these. Asked for every request: answered from memory.
   */
  readonly pathFor: (host: string) => string | null
}

/** What host names lead to. */
export interface HostRouting {
  /** The host name of the public address, in small letters; null: every name without a door is the API's. */
  readonly ownHost: string | null
  readonly hostRoutes: readonly HostRoute[]
  readonly aliases: readonly HostAlias[]
}

/** The path that an alias leads a host name to, before any door is looked for; null where none does. */
export function aliasedPath(aliases: readonly HostAlias[], host: string | null): string | null {
  if (host === null) return null
  for (const { pathFor } of aliases) {
    const path = pathFor(host)
    if (path !== null) return path
  }
  return null
}

/** The host name that a request asks for, in small letters and without a port; null for none. */
export function requestHostname({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const { host } = headers
  if (host === undefined || host === "") return null
  const name = host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.split(":", 1)[0]
  return (name ?? "").toLowerCase().replace(/\.$/, "")
}

/**
 * The host name of a request that a door or an alias can have; null for names that none of them has: the
 * API's own, an address, and a name without a dot.
 */
export function foreignHostname(
  own: string | null,
  request: Pick<IncomingMessage, "headers">,
): string | null {
  const host = requestHostname(request)
  return host === null || host === own || !host.includes(".") || isIP(host) !== 0 ? null : host
}

/** A target that names its host, too: `GET http://host/path`, as proxies are asked. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\//i

/** Whether the target of a request names another host than the request itself. */
function hasConflictingHosts(request: Pick<IncomingMessage, "headers" | "url">): boolean {
  const { url = "/" } = request
  if (!ABSOLUTE.test(url)) return false
  return (
    !URL.canParse(url) ||
    requestHostname({ headers: { host: new URL(url).host } }) !== requestHostname(request)
  )
}

/** A target without the host that it names. */
function withoutHost(url: string): string {
  if (!ABSOLUTE.test(url)) return url
  const rest = url.replace(ABSOLUTE, "").replace(/^[^/?]*/, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** The door that a host name opens; null where it is the API's to answer. */
export function hostRouteFor(doors: readonly HostRoute[], host: string | null): HostRoute | null {
  return host === null ? null : (doors.find(({ matches }) => matches(host)) ?? null)
}

/**
 * The refusal of a host name that is none of the API's; null where it is: its own, this machine's, or an
 * address. Without a name of its own all others are.
 */
export function misdirectedRefusal(own: string | null, host: string | null): Refusal | null {
  if (own === null || host === null || host === own) return null
  if (host === "localhost" || host.endsWith(".localhost") || isIP(host) !== 0) return null
  return refusal("misdirected", `Nothing is served here for ${host}; this API is at ${own}.`)
}

const JSON_TYPE = "application/json; charset=utf-8"
const NOT_HTTP_MESSAGE = "These bytes are no HTTP request that can be served."

/** A new name for a request. */
export function newRequestId(): string {
  return newId("req")
}

/** The code of a request for another protocol than HTTP where none is spoken. */
const NO_UPGRADE = "NO_UPGRADE"

/** The code of a request for another protocol that names more hosts than one. */
const TWO_HOSTS = "TWO_HOSTS"

/** Statuses of requests that ended before there was one, and why; others are 400. */
const MALFORMED_REQUESTS: Readonly<Record<string, readonly [status: number, why: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The whole of it did not come in time."],
  [TWO_HOSTS]: [400, "It does not say, once, which host it asks."],
  [NO_UPGRADE]: [400, "No other protocol is spoken here: ask without Upgrade."],
  HPE_HEADER_OVERFLOW: [431, "Its headers are too large: they may have 16 KiB in all."],
}

/** Answers bytes that are no HTTP request, as far as the socket still takes an answer. */
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

/** Answers a request that expects what no server here does: anything but `100-continue`. */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(
    refusalBody(invalid({ Expect: "Must be 100-continue, where it is sent at all." })),
  )
  // Its body is not read: what comes behind it on this connection cannot be told from it.
  response.writeHead(417, {
    "x-request-id": newRequestId(),
    "cache-control": "no-store",
    "content-type": JSON_TYPE,
    "content-length": body.length,
    connection: "close",
  })
  response.end(body)
}

/** The refusal of a request that does not say, once, whom it asks; null where it does, or need not. */
export function hostHeaderRefusal(request: IncomingMessage): Refusal | null {
  const { headers, rawHeaders, httpVersion } = request
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host")
  // Node takes the first; whoever stands before this server may have taken the other.
  if (hosts.length > 1) return invalid({ Host: "Must be sent once." })
  if (hasConflictingHosts(request))
    return invalid({ Host: "Must be the one that the target names." })
  if (httpVersion !== "1.1" || headers.host !== undefined) return null
  return invalid({ Host: "Must be sent, as HTTP/1.1 has it." })
}

function invalid(fields: Readonly<Record<string, string>>): Refusal {
  return refusal("validation", "This is no valid request.", { fields })
}

/** What all share who come from nowhere that is an address. */
const UNKNOWN_ADDRESS = "unknown"

/** A port behind an address, as some proxies write it. */
const PORT = /^(?:\[(.*)\]|(\d+\.\d+\.\d+\.\d+)):\d+$/

/**
 * The address of a caller: an IPv4 address in one spelling; of IPv6 the network of 64 bits, which is
 * the least that one customer of a provider gets (RFC 6177).
 */
export function rateLimitAddress(ip: string): string {
  const text = ip.replace(PORT, "$1$2")
  if (!ipaddr.isValid(text)) return UNKNOWN_ADDRESS
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}

/** What the router sees of what is a door's: a path that is no route, and that it never refuses itself. */
export const HOST_ROUTE_PATH = "/door"

/** What just ends when the server stops may still end by itself. */
const CLOSE_GRACE_MS = 1_000

/**
 * Hands what comes to a door's host names to that door. It may go on for ever, as events and web sockets
 * do: once the server stops, it is ended after a moment, or one visitor would hold up the stop.
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
    const door = hostRouteFor(hostRoutes, host)
    if (door === null) return
    const isSecure = request.protocol === "https"
    const origin = { address: rateLimitAddress(request.ip), isSecure }
    if (aliasedPath(aliases, host) !== null) return door.onAliased?.(request.raw, origin)
    request.raw.url = request.originalUrl
    const refused = hostHeaderRefusal(request.raw)
    if (refused !== null) return sendRefusal(reply, refused)
    request.raw.url = withoutHost(request.originalUrl)
    // From here on the answer is the door's.
    void reply.hijack()
    const { raw } = reply
    open.add(raw)
    raw.once("close", () => open.delete(raw))
    door.serve(request.raw, raw, origin)
  })
  app.addHook("preClose", async () => {
    void pacer.pause(CLOSE_GRACE_MS, closed.signal).then(() => {
      for (const one of open) one.destroy()
    })
  })
  app.addHook("onClose", async () => closed.abort())
  // Before 24.9 Node asks for every one, as soon as anybody listens.
  if (hostRoutes.every(({ upgrade }) => upgrade === undefined)) return
  app.server.on("upgrade", (request, socket: Socket, head) => {
    const take = upgradeHandlerFor({ ownHost, hostRoutes }, request)
    if (take === null) return refuseMalformedRequest({ code: NO_UPGRADE }, socket)
    if (hostHeaderRefusal(request) !== null)
      return refuseMalformedRequest({ code: TWO_HOSTS }, socket)
    request.url = withoutHost(request.url ?? "/")
    // Who leaves in the middle says so by an error, which is nobody's fault here.
    socket.on("error", () => socket.destroy())
    open.add(socket)
    socket.once("close", () => open.delete(socket))
    return take(request, socket, head)
  })
}

/** Who takes a connection that is to speak another protocol; null where nobody does. */
export function upgradeHandlerFor(
  { ownHost, hostRoutes }: Pick<HostRouting, "ownHost" | "hostRoutes">,
  request: IncomingMessage,
): NonNullable<HostRoute["upgrade"]> | null {
  return hostRouteFor(hostRoutes, foreignHostname(ownHost, request))?.upgrade ?? null
}
