/** The headers of previews of boxes: each side is told what it needs. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http"
import type { Headed } from "../frame/http/passing/headers.ts"
import { answeredOn, askedOn } from "../frame/http/passing/headers.ts"

/** The headers that what listens in the box gets: it is asked by the name that it knows itself by. */
export function headersTo(
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
export function headersFrom(port: number, answer: Headed): OutgoingHttpHeaders {
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

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null
