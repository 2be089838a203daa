/**
 * What stands behind the links of previews: whatever listens on the port of the box. The host name alone
 * leads here, before the API is looked at, so nothing of a box's is ever served under the API's name. Names
 * of the domain that lead nowhere are answered here, too.
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
  404: ["There is nothing here", "This link is closed, or was never one."],
  502: ["Nothing answers yet", "The box does not listen on this port now. This page tries again."],
  503: ["Too many look at this now", "The box is busy with others. This page tries again."],
} as const

/** Why nothing is shown: the link is unknown, nothing listens on the port, or too many visitors. */
type UnavailableStatus = keyof typeof NOTICE_TEXTS

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null

/** What the door works with. */
interface PreviewContext {
  readonly ports: Ports
  readonly domain: string
  readonly connections: PreviewConnections
}

/** The door of previews. */
export function boxPreviewHostRoute(ports: Ports): HostRoute {
  const domain = ports.settings(boxSettings).BOX_DOMAIN
  const hall: PreviewContext = { ports, domain, connections: openPreviewConnections(ports) }
  return {
    name: "previews",
    matches: (host) => host === domain || host.endsWith(`.${domain}`),
    serve: (request, response) => void serve(hall, request, response),
    upgrade: (request, socket, head) => void upgrade(hall, request, socket, head),
  }
}

async function serve(
  hall: PreviewContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const passing = await connectionFor(hall, request)
  if (typeof passing === "number") return sendNoticePage(response, noticeOf(passing))
  // Who left by now will not say so again.
  if (response.destroyed) passing.connection.destroy()
  else proxyRequest(passing, request, response)
}

async function upgrade(
  hall: PreviewContext,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const passing = await connectionFor(hall, request)
  if (typeof passing === "number") endSocket(socket, upgradeRefusalText(passing))
  else if (socket.destroyed) passing.connection.destroy()
  else proxyUpgrade(passing, request, socket, head)
}

/** A connection to what a request is for, whose errors end it and nothing else. */
async function connectionFor(
  { ports, domain, connections }: PreviewContext,
  request: IncomingMessage,
): Promise<ProxyTarget | UnavailableStatus> {
  try {
    const token = parsePreviewToken(requestHostname(request) ?? "", domain)
    const row = token === null ? null : await findPreview(ports.readAll, previewTokenHash(token))
    if (row === null) return 404
    const place = connections.reserve(row)
    if (place === null) return 503
    const connection = await dialOrRelease(ports, row, place.release)
    if (connection === null) return 502
    place.attach(connection, request.socket)
    // Before anything is waited for: an error that nobody hears ends the whole server.
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

/** The same; where there is none, its place is given back. */
async function dialOrRelease(
  ports: Pick<Ports, "boxHost">,
  row: PreviewRow,
  leave: () => void,
): Promise<Duplex | null> {
  let connection: Duplex | null = null
  try {
    connection = await dial(ports, row)
    return connection
  } finally {
    if (connection === null) leave()
  }
}

/** A connection to the port; null where nothing listens there, or there is no box now. */
async function dial({ boxHost }: Pick<Ports, "boxHost">, row: PreviewRow): Promise<Duplex | null> {
  try {
    const box = await boxHost.find(row.box_id)
    return (await box?.connectToPort(row.port)) ?? null
  } catch (error) {
    if (!(error instanceof BoxGone || isProviderError(error))) throw error
    return null
  }
}

/** The headers that what listens in the box gets: it is asked by the name that it knows itself by. */
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

/** The headers of what it answers: its link is told to nobody, and found by no search. */
function responseHeaders(port: number, answer: WithHeaders): OutgoingHttpHeaders {
  const { location } = answer.headers
  return {
    ...forwardedResponseHeaders(answer),
    ...(location === undefined ? {} : { location: toLinkLocation(port, location) }),
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  }
}

/** Where it leads to by the name that it knows itself by, it leads to by its link. */
function toLinkLocation(port: number, location: string): string {
  const own = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)(?=[/?#]|$)(?!\/\/)/i.exec(
    location,
  )
  if (own === null || Number(own[1]) !== port) return location
  const path = location.slice(own[0].length)
  return path.startsWith("/") ? path : `/${path}`
}

/** The page of a link that shows nothing; it tries again unless the link is unknown. */
function noticeOf(status: UnavailableStatus): NoticePage {
  const [title, text] = NOTICE_TEXTS[status]
  return { status, title, text, hasAutoRefresh: status !== 404 }
}
