/** Server apps: requests are passed on to the version that is live, which is started where it sleeps. */
import type { IncomingMessage, ServerResponse, OutgoingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"
import { isOutside } from "../../../adapters/providers/outside.ts"
import type { AppVersion } from "../../../adapters/sandbox/preview-host/port.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import type { Notice, Headed } from "../../frame/http/passing/pass.ts"
import {
  noticePage,
  refusalOf,
  endOf,
  passConnection,
  passRequest,
  setsCookie,
  withoutCookie,
  answeredOn,
  askedOn,
} from "../../frame/http/passing/pass.ts"
import type { KeptConnections } from "../../frame/http/passing/kept.ts"
import { isKeepable } from "../../frame/http/passing/kept.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Artifact } from "./live.ts"
import { NO_ANSWER, TOO_MANY, appIsDown } from "./notices.ts"
import { enter, inFlight } from "./visits.ts"
import type { Waking } from "./waking.ts"
import { COOKIE } from "./sign-in-pages.ts"

/** What only the house says. */
const OURS = /^(?:forwarded$|x-forwarded-|x-real-ip$|x-preview-)/

/** As many at once as the people of a company and their browsers need; more is somebody's loop. */
const MOST_AT_ONCE = 256

/** A version of an app, and who is at it. */
export interface AppVisit {
  readonly ports: Ports
  readonly waking: Waking
  readonly connections: KeptConnections
  readonly version: AppVersion
  readonly artifact: () => Promise<Artifact | null>
  readonly personId: PersonId
  readonly isWelcome: () => Promise<boolean>
}

/** Passes a request on to an app: over a connection that is kept, where it may be asked again. */
export async function serveApp(
  visit: AppVisit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { connections, ports, version } = visit
  const { publishId: place } = version
  const gone = entered(visit, response)
  if ("status" in gone) return noticePage(response, gone)
  const isKept = isKeepable(request)
  const hasFree = isKept && connections.has(place)
  const connection = hasFree ? null : await connectionTo(visit, gone)
  if (connection !== null && "status" in connection) return noticePage(response, connection)
  // Who left by now will not say so again.
  if (response.destroyed) return void connection?.destroy()
  const passing = passingOf(visit, request)
  if (connection !== null && !isKept) {
    return passRequest({ ...passing, connection }, request, response)
  }
  const kept = { connections, place, dial: () => dialOrNote(ports, version) }
  passRequest({ ...passing, connection, kept }, request, response)
}

/** Passes a connection on that is to speak another protocol. */
export async function connectApp(
  visit: AppVisit,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = entered(visit, socket)
  const connection = "status" in gone ? gone : await connectionTo(visit, gone)
  if ("status" in connection) return endOf(socket, refusalOf(connection.status))
  if (socket.destroyed) connection.destroy()
  else passConnection({ ...passingOf(visit, request), connection }, request, socket, head)
}

/** Enters a version, until what it is answered by is over; why not, else what then aborts. */
function entered(
  { ports, version, isWelcome }: AppVisit,
  answer: ServerResponse | Duplex,
): AbortSignal | Notice {
  if (inFlight(ports, version.publishId) >= MOST_AT_ONCE) return TOO_MANY
  if (answer.destroyed) return NO_ANSWER
  const gone = new AbortController()
  const leave = enter(ports, { ...version, isWelcome, end: () => answer.destroy() })
  answer.once("close", () => {
    leave()
    gone.abort()
  })
  return gone.signal
}

function passingOf({ ports, personId }: AppVisit, request: IncomingMessage) {
  const asked = headersTo(request, { scheme: schemeOf(ports), personId })
  return { asked, answered: headersFrom, unheard: NO_ANSWER }
}

const schemeOf = ({ baseUrl }: Pick<Ports, "baseUrl">): string =>
  baseUrl().split(":", 1)[0] ?? "http"

async function connectionTo(
  { ports, waking, version, artifact }: Pick<AppVisit, "ports" | "waking" | "version" | "artifact">,
  gone: AbortSignal,
): Promise<Duplex | Notice> {
  const { publishId, companyId } = version
  if (!waking.isStarting(publishId)) {
    const connection = await dial(ports, version)
    if (connection !== null) return connection
    const standing = await ports.previewHost.look(companyId)
    const own = standing?.versions.find((one) => one.publishId === publishId)
    if (own !== undefined) return own.status === "down" ? appIsDown(publishId) : NO_ANSWER
  }
  const why = await waking.wake(version, artifact, gone)
  return why ?? (await dial(ports, version)) ?? NO_ANSWER
}

/** The same, for a request that is under way. */
async function dialOrNote(
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
    const connection = await previewHost.dial(version)
    connection?.on("error", () => connection.destroy())
    return connection
  } catch (error) {
    if (!isOutside(error)) throw error
    return null
  }
}

/** The headers that an app gets. */
function headersTo(
  request: Headed,
  { scheme, personId }: { readonly scheme: string; readonly personId: PersonId },
): OutgoingHttpHeaders {
  const { cookie: _cookie, ...sent } = askedOn(request)
  const theirs = Object.entries(sent).filter(([name]) => !OURS.test(name))
  const cookie = withoutCookie(request.headers.cookie, COOKIE)
  return {
    ...Object.fromEntries(theirs),
    ...(cookie === null ? {} : { cookie }),
    "x-forwarded-proto": scheme,
    "x-forwarded-host": request.headers.host,
    "x-preview-person": personId,
  }
}

/** The headers of what it answers. */
function headersFrom(answer: Headed): OutgoingHttpHeaders {
  const { "set-cookie": _cookies, ...told } = answeredOn(answer)
  const { "set-cookie": cookies = [] } = answeredOn({
    headers: {
      "set-cookie": (answer.headers["set-cookie"] ?? []).filter((one) => !setsCookie(one, COOKIE)),
    },
  })
  return {
    ...told,
    ...([cookies].flat().length === 0 ? {} : { "set-cookie": cookies }),
    "x-robots-tag": "noindex",
  }
}
