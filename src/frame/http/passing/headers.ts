/** Headers of what is passed on, either way: what ends at this hop is left out. */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http"

/** What headers are read from. */
export type Headed = Pick<IncomingMessage, "headers">

/** What ends at this hop (RFC 9110 §7.6.1). */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
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

/** The headers of a request that is passed on. */
export function askedOn({ headers }: Headed): OutgoingHttpHeaders {
  // Of a verb that mostly has no body Node would send one whose end nobody sees.
  const isChunked = headers["transfer-encoding"] !== undefined
  return { ...withoutHops(headers), ...(isChunked ? { "transfer-encoding": "chunked" } : {}) }
}

/** The headers of its answer: a cookie is of its own host name alone. */
export function answeredOn({ headers }: Headed): OutgoingHttpHeaders {
  const { "set-cookie": cookies } = headers
  return {
    ...withoutHops(headers),
    ...(cookies === undefined ? {} : { "set-cookie": cookies.map(withoutDomain) }),
  }
}

/** One for the whole domain would reach what others serve there. */
const withoutDomain = (cookie: string): string =>
  cookie.replace(/;\s*domain\s*(?=[=;]|$)[^;]*/gi, "")
