/**
 * The host route of preview links: it proxies a request to a port of the box. The host name alone selects it,
 * before the API's routes, so nothing of a box is ever served under the API's name. Unknown names of the
 * domain get a notice page.
 */
import type { IncomingMessage, ServerResponse, OutgoingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"
import { BoxGone } from "../../adapters/sandbox/boxhost/port.ts"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { HostRoute } from "../frame/http/host-routes.ts"
import { requestHostname } from "../frame/http/host-routes.ts"
import type { ProxyTarget, WithHeaders, NoticePage } from "../frame/http/proxy/proxy.ts"
import {
  sendNoticePage,
  upgradeRefusalText,
  endSocket,
  proxyUpgrade,
  proxyRequest,
  forwardedResponseHeaders,
  forwardedRequestHeaders,
} from "../frame/http/proxy/proxy.ts"
import type { Ports } from "../frame/ports.ts"
import type { PreviewConnections } from "./preview-connections.ts"
import { openPreviewConnections, logPreviewTraffic } from "./preview-connections.ts"
import { previewTokenHash, parsePreviewToken } from "./preview-url.ts"
import { boxSettings } from "./settings.ts"

const NOTICE_TEXTS = {
  404: ["Link not found", "This link is closed, or it never existed."],
  502: ["No answer yet", "No program in the box listens on this port. This page tries again."],
  503: ["Too many connections", "This link has its maximum of connections. This page tries again."],
} as const

/** Why a link shows a notice: it is unknown, nothing listens on the port, or it has too many connections. */
type UnavailableStatus = keyof typeof NOTICE_TEXTS

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null

interface PreviewContext {
  readonly ports: Ports
  readonly domain: string
  readonly connections: PreviewConnections
}

/** Creates the host route of preview links. */
export function boxPreviewHostRoute(ports: Ports): HostRoute {
  const domain = ports.settings(boxSettings).BOX_DOMAIN
  const context: PreviewContext = { ports, domain, connections: openPreviewConnections(ports) }
  return {
    name: "previews",
    matches: (host) => host === domain || host.endsWith(`.${domain}`),
    serve: (request, response) => void serve(context, request, response),
    upgrade: (request, socket, head) => void upgrade(context, request, socket, head),
  }
}

async function serve(
  context: PreviewContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = await connectionFor(context, request)
  if (typeof target === "number") return sendNoticePage(response, noticeOf(target))
  // A response that is already destroyed emits no `close` event.
  if (response.destroyed) target.connection.destroy()
  else proxyRequest(target, request, response)
}

async function upgrade(
  context: PreviewContext,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const target = await connectionFor(context, request)
  if (typeof target === "number") endSocket(socket, upgradeRefusalText(target))
  else if (socket.destroyed) target.connection.destroy()
  else proxyUpgrade(target, request, socket, head)
}

/** Connects to the port that a request is for; returns the status of the notice page if that fails. */
async function connectionFor(
  { ports, domain, connections }: PreviewContext,
  request: IncomingMessage,
): Promise<ProxyTarget | UnavailableStatus> {
  try {
    const token = parsePreviewToken(requestHostname(request) ?? "", domain)
    const row = token === null ? null : await findPreview(ports.readAll, previewTokenHash(token))
    if (row === null) return 404
    const slot = connections.reserve(row)
    if (slot === null) return 503
    const connection = await dialOrRelease(ports, row, slot.release)
    if (connection === null) return 502
    slot.attach(connection, request.socket)
    // Before the first await: an unhandled `error` event ends the whole server.
    connection.on("error", () => connection.destroy())
    await logPreviewTraffic(ports, row)
    const { port } = row
    return {
      connection,
      requestHeaders: requestHeaders(port, request),
      responseHeaders: (answer) => responseHeaders(port, answer),
      failureNotice: noticeOf(502),
    }
  } catch (error) {
    ports.log.warn("a preview could not be served", error)
    return 502
  }
}

/** Dials, and releases the slot if there is no connection. */
async function dialOrRelease(
  ports: Pick<Ports, "boxHost">,
  row: PreviewRow,
  release: () => void,
): Promise<Duplex | null> {
  let connection: Duplex | null = null
  try {
    connection = await dial(ports, row)
    return connection
  } finally {
    if (connection === null) release()
  }
}

/** Connects to the port; null if nothing listens there, or the box is gone. */
async function dial({ boxHost }: Pick<Ports, "boxHost">, row: PreviewRow): Promise<Duplex | null> {
  try {
    const box = await boxHost.find(row.box_id)
    return (await box?.connectToPort(row.port)) ?? null
  } catch (error) {
    if (!(error instanceof BoxGone || isProviderError(error))) throw error
    return null
  }
}

/** Request headers for the program in the box: it gets the host name that it knows, `localhost`. */
function requestHeaders(
  port: number,
  request: Pick<IncomingMessage, "headers" | "socket">,
): OutgoingHttpHeaders {
  const own = `localhost:${port}`
  const { headers, socket } = request
  const { origin, host = "" } = headers
  const isOriginOwn = origin !== undefined && hostIn(origin) === host.toLowerCase()
  return {
    ...forwardedRequestHeaders(request),
    host: own,
    ...(isOriginOwn ? { origin: `http://${own}` } : {}),
    "x-forwarded-for": socket.remoteAddress ?? "",
    "x-forwarded-host": host,
    "x-forwarded-proto": headers["x-forwarded-proto"] === "https" ? "https" : "http",
  }
}

/** Response headers of the link: no page learns the link from a referrer, and search engines skip it. */
function responseHeaders(port: number, answer: WithHeaders): OutgoingHttpHeaders {
  const { location } = answer.headers
  return {
    ...forwardedResponseHeaders(answer),
    ...(location === undefined ? {} : { location: toLinkLocation(port, location) }),
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  }
}

/** Rewrites a redirect to the program's own `localhost` address into a path of the link. */
function toLinkLocation(port: number, location: string): string {
  const own = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)(?=[/?#]|$)(?!\/\/)/i.exec(
    location,
  )
  if (own === null || Number(own[1]) !== port) return location
  const path = location.slice(own[0].length)
  return path.startsWith("/") ? path : `/${path}`
}

/** The notice page for a status; it reloads itself unless the link is unknown. */
function noticeOf(status: UnavailableStatus): NoticePage {
  const [title, text] = NOTICE_TEXTS[status]
  return { status, title, text, hasAutoRefresh: status !== 404 }
}
