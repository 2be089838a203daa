/** Server apps: requests are passed on to the version that is live, which is started where it sleeps. */
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
import type { Artifact } from "./publish-reader.ts"
import { APP_NOT_RESPONDING, TOO_MANY_VISITORS, appDownNotice } from "./notices.ts"
import { enterVisit, visitCount } from "./visits.ts"
import type { AppStarter } from "./app-starter.ts"
import { PREVIEW_COOKIE } from "./sign-in-pages.ts"

/** What only the house says. */
const RESERVED_HEADERS = /^(?:forwarded$|x-forwarded-|x-real-ip$|x-preview-)/

/** As many at once as the people of a company and their browsers need; more is somebody's loop. */
const MAX_CONCURRENT_VISITS = 256

/** A version of an app, and who is at it. */
export interface AppVisit {
  readonly ports: Ports
  readonly starter: AppStarter
  readonly connections: ConnectionPool
  readonly version: AppVersion
  readonly artifact: () => Promise<Artifact | null>
  readonly personId: PersonId
  readonly isAllowed: () => Promise<boolean>
}

/** Passes a request on to an app: over a connection that is kept, where it may be asked again. */
export async function proxyAppRequest(
  visit: AppVisit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { connections, ports, version } = visit
  const { publishId: place } = version
  const gone = enterVersion(visit, response)
  if ("status" in gone) return sendNoticePage(response, gone)
  const isKept = canReuseConnection(request)
  const hasFree = isKept && connections.hasIdle(place)
  const connection = hasFree ? null : await connectionTo(visit, gone)
  if (connection !== null && "status" in connection) return sendNoticePage(response, connection)
  // Who left by now will not say so again.
  if (response.destroyed) return void connection?.destroy()
  const passing = proxyOptions(visit, request)
  if (connection !== null && !isKept) {
    return proxyRequest({ ...passing, connection }, request, response)
  }
  const pooled = { connections, place, dial: () => dialOrLog(ports, version) }
  proxyRequest({ ...passing, connection, pooled }, request, response)
}

/** Passes a connection on that is to speak another protocol. */
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

/** Enters a version, until what it is answered by is over; why not, else what then aborts. */
function enterVersion(
  { ports, version, isAllowed }: AppVisit,
  answer: ServerResponse | Duplex,
): AbortSignal | NoticePage {
  if (visitCount(ports, version.publishId) >= MAX_CONCURRENT_VISITS) return TOO_MANY_VISITORS
  if (answer.destroyed) return APP_NOT_RESPONDING
  const gone = new AbortController()
  const leave = enterVisit(ports, { ...version, isAllowed, end: () => answer.destroy() })
  answer.once("close", () => {
    leave()
    gone.abort()
  })
  return gone.signal
}

function proxyOptions({ ports, personId }: AppVisit, request: IncomingMessage) {
  const asked = requestHeaders(request, { scheme: schemeOf(ports), personId })
  return {
    requestHeaders: asked,
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
    const standing = await ports.previewHost.readStatus(companyId)
    const own = standing?.versions.find((one) => one.publishId === publishId)
    if (own !== undefined)
      return own.status === "down" ? appDownNotice(publishId) : APP_NOT_RESPONDING
  }
  const why = await starter.start(version, artifact, gone)
  return why ?? (await dial(ports, version)) ?? APP_NOT_RESPONDING
}

/** The same, for a request that is under way. */
async function dialOrLog(
  ports: Pick<Ports, "log" | "previewHost">,
  version: AppVersion,
): Promise<Duplex | null> {
  try {
    return await dial(ports, version)
  } catch (error) {
    ports.log.warn("a preview could not be dialled", error)
    return null
  }
}

/** A connection whose errors end it and nothing else; null where nothing listens. */
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

/** The headers that an app gets. */
function requestHeaders(
  request: WithHeaders,
  { scheme, personId }: { readonly scheme: string; readonly personId: PersonId },
): OutgoingHttpHeaders {
  const { cookie: _cookie, ...sent } = forwardedRequestHeaders(request)
  const theirs = Object.entries(sent).filter(([name]) => !RESERVED_HEADERS.test(name))
  const cookie = withoutCookie(request.headers.cookie, PREVIEW_COOKIE)
  return {
    ...Object.fromEntries(theirs),
    ...(cookie === null ? {} : { cookie }),
    "x-forwarded-proto": scheme,
    "x-forwarded-host": request.headers.host,
    "x-preview-person": personId,
  }
}

/** The headers of what it answers. */
function responseHeaders(answer: WithHeaders): OutgoingHttpHeaders {
  const { "set-cookie": _cookies, ...told } = forwardedResponseHeaders(answer)
  const { "set-cookie": cookies = [] } = forwardedResponseHeaders({
    headers: {
      "set-cookie": (answer.headers["set-cookie"] ?? []).filter(
        (one) => !setsCookie(one, PREVIEW_COOKIE),
      ),
    },
  })
  return {
    ...told,
    ...([cookies].flat().length === 0 ? {} : { "set-cookie": cookies }),
    "x-robots-tag": "noindex",
  }
}
