/** Server apps: proxies requests to the live version, and starts it if it sleeps. */
import type { IncomingMessage, ServerResponse, OutgoingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import type { AppVersion } from "../../../adapters/sandbox/preview-host/port.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import type { NoticePage, WithHeaders } from "../../frame/http/proxy/proxy.ts"
import {
  sendNoticePage,
  upgradeRefusalText,
  endSocket,
  proxyUpgrade,
  proxyRequest,
  setsCookie,
  withoutCookie,
  forwardedResponseHeaders,
  forwardedRequestHeaders,
} from "../../frame/http/proxy/proxy.ts"
import type { ConnectionPool } from "../../frame/http/proxy/connection-pool.ts"
import { canReuseConnection } from "../../frame/http/proxy/connection-pool.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Artifact } from "../artifacts.ts"
import { APP_NOT_RESPONDING, TOO_MANY_VISITORS, appDownNotice } from "./notices.ts"
import { enterVisit, visitCount } from "./visits.ts"
import type { AppStarter } from "./app-starter.ts"
import { PREVIEW_COOKIE } from "./sign-in-pages.ts"

/** Headers that only the preview may set. */
const RESERVED_HEADERS = /^(?:forwarded$|x-forwarded-|x-real-ip$|x-preview-)/

/** Enough for the people of a company and their browsers; more is a loop. */
const MAX_CONCURRENT_VISITS = 256

export interface AppVisit {
  readonly ports: Ports
  readonly starter: AppStarter
  readonly connections: ConnectionPool
  readonly version: AppVersion
  readonly artifact: () => Promise<Artifact | null>
  readonly personId: PersonId
  readonly isAllowed: () => Promise<boolean>
}

/** Proxies a request to an app, over a pooled connection if the request can be repeated. */
export async function proxyAppRequest(
  visit: AppVisit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { connections, ports, version } = visit
  const { publishId: place } = version
  const gone = enterVersion(visit, response)
  if ("status" in gone) return sendNoticePage(response, gone)
  const canPool = canReuseConnection(request)
  const hasFree = canPool && connections.hasIdle(place)
  const connection = hasFree ? null : await connectionTo(visit, gone)
  if (connection !== null && "status" in connection) return sendNoticePage(response, connection)
  // A response that is already destroyed emits no `close` event.
  if (response.destroyed) return void connection?.destroy()
  const options = proxyOptions(visit, request)
  if (connection !== null && !canPool) {
    return proxyRequest({ ...options, connection }, request, response)
  }
  const pooled = { connections, place, dial: () => dialOrLog(ports, version) }
  proxyRequest({ ...options, connection, pooled }, request, response)
}

/** Proxies an upgraded connection, such as a WebSocket. */
export async function proxyAppUpgrade(
  visit: AppVisit,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = enterVersion(visit, socket)
  const connection = "status" in gone ? gone : await connectionTo(visit, gone)
  if ("status" in connection) return endSocket(socket, upgradeRefusalText(connection.status))
  if (socket.destroyed) connection.destroy()
  else proxyUpgrade({ ...proxyOptions(visit, request), connection }, request, socket, head)
}

/** Enters a version until the answer has ended; returns a signal for that end, or the notice of a rejection. */
function enterVersion(
  { ports, version, isAllowed }: AppVisit,
  answer: ServerResponse | Duplex,
): AbortSignal | NoticePage {
  if (visitCount(ports, version.publishId) >= MAX_CONCURRENT_VISITS) return TOO_MANY_VISITORS
  if (answer.destroyed) return APP_NOT_RESPONDING
  const gone = new AbortController()
  const leaveVersion = enterVisit(ports, { ...version, isAllowed, end: () => answer.destroy() })
  answer.once("close", () => {
    leaveVersion()
    gone.abort()
  })
  return gone.signal
}

function proxyOptions({ ports, personId }: AppVisit, request: IncomingMessage) {
  const headers = requestHeaders(request, { scheme: schemeOf(ports), personId })
  return {
    requestHeaders: headers,
    responseHeaders: responseHeaders,
    failureNotice: APP_NOT_RESPONDING,
  }
}

const schemeOf = ({ baseUrl }: Pick<Ports, "baseUrl">): string =>
  baseUrl().split(":", 1)[0] ?? "http"

async function connectionTo(
  {
    ports,
    starter,
    version,
    artifact,
  }: Pick<AppVisit, "ports" | "starter" | "version" | "artifact">,
  gone: AbortSignal,
): Promise<Duplex | NoticePage> {
  const { publishId, companyId } = version
  if (!starter.isStarting(publishId)) {
    const connection = await dial(ports, version)
    if (connection !== null) return connection
    const status = await ports.previewHost.readStatus(companyId)
    const running = status?.versions.find((one) => one.publishId === publishId)
    if (running !== undefined)
      return running.status === "down" ? appDownNotice(publishId) : APP_NOT_RESPONDING
  }
  const failure = await starter.start(version, artifact, gone)
  return failure ?? (await dial(ports, version)) ?? APP_NOT_RESPONDING
}

/** Dials for a pooled request, and logs an error instead of throwing it. */
async function dialOrLog(
  ports: Pick<Ports, "log" | "previewHost">,
  version: AppVersion,
): Promise<Duplex | null> {
  try {
    return await dial(ports, version)
  } catch (error) {
    ports.log.warn("a connection to a preview failed", error)
    return null
  }
}

/** Connects to the version, with an error handler; null if nothing listens. */
async function dial(
  { previewHost }: Pick<Ports, "previewHost">,
  version: AppVersion,
): Promise<Duplex | null> {
  try {
    const connection = await previewHost.connect(version)
    connection?.on("error", () => connection.destroy())
    return connection
  } catch (error) {
    if (!isProviderError(error)) throw error
    return null
  }
}

function requestHeaders(
  request: WithHeaders,
  { scheme, personId }: { readonly scheme: string; readonly personId: PersonId },
): OutgoingHttpHeaders {
  const { cookie: _cookie, ...sent } = forwardedRequestHeaders(request)
  const allowed = Object.entries(sent).filter(([name]) => !RESERVED_HEADERS.test(name))
  const cookie = withoutCookie(request.headers.cookie, PREVIEW_COOKIE)
  return {
    ...Object.fromEntries(allowed),
    ...(cookie === null ? {} : { cookie }),
    "x-forwarded-proto": scheme,
    "x-forwarded-host": request.headers.host,
    "x-preview-person": personId,
  }
}

/** Response headers of the app, without cookies that would replace the preview's. */
function responseHeaders(answer: WithHeaders): OutgoingHttpHeaders {
  const { "set-cookie": _cookies, ...headers } = forwardedResponseHeaders(answer)
  const { "set-cookie": cookies = [] } = forwardedResponseHeaders({
    headers: {
      "set-cookie": (answer.headers["set-cookie"] ?? []).filter(
        (one) => !setsCookie(one, PREVIEW_COOKIE),
      ),
    },
  })
  return {
    ...headers,
    ...([cookies].flat().length === 0 ? {} : { "set-cookie": cookies }),
    "x-robots-tag": "noindex",
  }
}
