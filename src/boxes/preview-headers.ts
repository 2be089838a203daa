/** The headers of previews: what ends at this hop is left out, and each side is told what it needs. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http"

/** What ends at this hop (RFC 9110 §7.6.1). */
const HOP_BY_HOP = [
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
]

/** Where a message ends is nobody's to leave out: another would begin in the middle of it. */
const FRAMING = "content-length"

/** Headers without those that end at this hop, also the ones that `Connection` names. */
function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  const ending = new Set([...HOP_BY_HOP, ...named])
  ending.delete(FRAMING)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ending.has(name)))
}

/** The headers that what listens in the box gets: it is asked by the name that it knows itself by. */
export function headersTo(
  port: number,
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
): OutgoingHttpHeaders {
  const own = `localhost:${port}`
  const { origin, host = "" } = headers
  const isOriginOwn = origin !== undefined && hostIn(origin) === host.toLowerCase()
  // Of a verb that mostly has no body Node would send one whose end nobody sees.
  const isChunked = headers["transfer-encoding"] !== undefined
  return {
    ...withoutHops(headers),
    ...(isChunked ? { "transfer-encoding": "chunked" } : {}),
    host: own,
    ...(isOriginOwn ? { origin: `http://${own}` } : {}),
    "x-forwarded-for": socket.remoteAddress ?? "",
    "x-forwarded-host": host,
    "x-forwarded-proto": headers["x-forwarded-proto"] === "https" ? "https" : "http",
  }
}

/** The headers of what it answers: its link is told to nobody, and found by no search. */
export function headersFrom(
  port: number,
  { headers }: Pick<IncomingMessage, "headers">,
): OutgoingHttpHeaders {
  const { location, "set-cookie": cookies } = headers
  return {
    ...withoutHops(headers),
    ...(location === undefined ? {} : { location: withinLink(port, location) }),
    ...(cookies === undefined ? {} : { "set-cookie": cookies.map(withoutDomain) }),
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

/** A cookie of its own host name alone: one for the whole domain would reach the boxes of others. */
const withoutDomain = (cookie: string): string =>
  cookie.replace(/;\s*domain\s*(?=[=;]|$)[^;]*/gi, "")

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null
