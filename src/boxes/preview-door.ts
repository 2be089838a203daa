/**
 * What stands behind the links of previews: whatever listens on the port of the box. The host name alone
 * leads here, before the API is looked at, so nothing of a box's is ever served under the API's name. Names
 * of the domain that lead nowhere are answered here, too.
 */
import type { IncomingMessage, ServerResponse, OutgoingHttpHeaders } from "node:http"
import type { Duplex } from "node:stream"
import { BoxGone } from "../../adapters/sandbox/boxhost/port.ts"
import { isOutside } from "../../adapters/providers/outside.ts"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { Door } from "../frame/http/hosts.ts"
import { hostOf } from "../frame/http/hosts.ts"
import type { Passing, Headed, Notice } from "../frame/http/passing/pass.ts"
import {
  noticePage,
  refusalOf,
  endOf,
  passConnection,
  passRequest,
  answeredOn,
  askedOn,
} from "../frame/http/passing/pass.ts"
import type { Ports } from "../frame/ports.ts"
import type { PreviewConnections } from "./preview-connections.ts"
import { openConnections, noteTraffic } from "./preview-connections.ts"
import { tagOf, tokenIn } from "./preview-url.ts"
import { boxSettings } from "./settings.ts"

const PAGES = {
  404: ["There is nothing here", "This link is closed, or was never one."],
  502: ["Nothing answers yet", "The box does not listen on this port now. This page tries again."],
  503: ["Too many look at this now", "The box is busy with others. This page tries again."],
} as const

/** Why nothing is shown: the link is unknown, nothing listens on the port, or too many visitors. */
type None = keyof typeof PAGES

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null

/** What the door works with. */
interface Hall {
  readonly ports: Ports
  readonly domain: string
  readonly connections: PreviewConnections
}

/** The door of previews. */
export function previewDoor(ports: Ports): Door {
  const domain = ports.settings(boxSettings).BOX_DOMAIN
  const hall: Hall = { ports, domain, connections: openConnections(ports) }
  return {
    name: "previews",
    takes: (host) => host === domain || host.endsWith(`.${domain}`),
    serve: (request, response) => void serve(hall, request, response),
    upgrade: (request, socket, head) => void upgrade(hall, request, socket, head),
  }
}

async function serve(
  hall: Hall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const passing = await connectionFor(hall, request)
  if (typeof passing === "number") return noticePage(response, noticeOf(passing))
  // Who left by now will not say so again.
  if (response.destroyed) passing.connection.destroy()
  else passRequest(passing, request, response)
}

async function upgrade(
  hall: Hall,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const passing = await connectionFor(hall, request)
  if (typeof passing === "number") endOf(socket, refusalOf(passing))
  else if (socket.destroyed) passing.connection.destroy()
  else passConnection(passing, request, socket, head)
}

/** A connection to what a request is for, whose errors end it and nothing else. */
async function connectionFor(
  { ports, domain, connections }: Hall,
  request: IncomingMessage,
): Promise<Passing | None> {
  try {
    const token = tokenIn(hostOf(request) ?? "", domain)
    const row = token === null ? null : await findPreview(ports.readAll, tagOf(token))
    if (row === null) return 404
    const place = connections.take(row)
    if (place === null) return 503
    const connection = await dialOr(ports, row, place.leave)
    if (connection === null) return 502
    place.fill(connection, request.socket)
    // Before anything is waited for: an error that nobody hears ends the whole server.
    connection.on("error", () => connection.destroy())
    await noteTraffic(ports, row)
    const { port } = row
    return {
      connection,
      asked: headersTo(port, request),
      answered: (answer) => headersFrom(port, answer),
      unheard: noticeOf(502),
    }
  } catch (error) {
    ports.log.warn("a preview could not be served", error)
    return 502
  }
}

/** The same; where there is none, its place is given back. */
async function dialOr(
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
    return (await box?.dial(row.port)) ?? null
  } catch (error) {
    if (!(error instanceof BoxGone || isOutside(error))) throw error
    return null
  }
}

/** The headers that what listens in the box gets: it is asked by the name that it knows itself by. */
function headersTo(
  port: number,
  request: Pick<IncomingMessage, "headers" | "socket">,
): OutgoingHttpHeaders {
  const own = `localhost:${port}`
  const { headers, socket } = request
  const { origin, host = "" } = headers
  const isOriginOwn = origin !== undefined && hostIn(origin) === host.toLowerCase()
  return {
    ...askedOn(request),
    host: own,
    ...(isOriginOwn ? { origin: `http://${own}` } : {}),
    "x-forwarded-for": socket.remoteAddress ?? "",
    "x-forwarded-host": host,
    "x-forwarded-proto": headers["x-forwarded-proto"] === "https" ? "https" : "http",
  }
}

/** The headers of what it answers: its link is told to nobody, and found by no search. */
function headersFrom(port: number, answer: Headed): OutgoingHttpHeaders {
  const { location } = answer.headers
  return {
    ...answeredOn(answer),
    ...(location === undefined ? {} : { location: withinLink(port, location) }),
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  }
}

/** Where it leads to by the name that it knows itself by, it leads to by its link. */
function withinLink(port: number, location: string): string {
  const own = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)(?=[/?#]|$)(?!\/\/)/i.exec(
    location,
  )
  if (own === null || Number(own[1]) !== port) return location
  const path = location.slice(own[0].length)
  return path.startsWith("/") ? path : `/${path}`
}

/** The page of a link that shows nothing; it tries again unless the link is unknown. */
function noticeOf(status: None): Notice {
  const [title, text] = PAGES[status]
  return { status, title, text, looksAgain: status !== 404 }
}
