/**
 * Proxies requests of a host name over a connection to the server behind it. That server is untrusted:
 * whatever it answers affects only the one visitor's request.
 */
import type {
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestOptions,
  ServerResponse,
  IncomingHttpHeaders,
} from "node:http"
import { STATUS_CODES, request as httpRequest } from "node:http"
import type { Duplex } from "node:stream"
import { finished, pipeline } from "node:stream"
import type { Dial, ConnectionPool } from "./connection-pool.ts"
import { escapeHtml } from "../../routes/answers/answer-bodies.ts"

/** A page that explains why nothing is shown. */
export interface NoticePage {
  readonly status: number
  readonly title: string
  /** One or two sentences. */
  readonly text: string
  /** Whether the page reloads by itself. */
  readonly hasAutoRefresh?: boolean
}

export type WithHeaders = Pick<IncomingMessage, "headers">

/** Headers that end at this hop (RFC 9110 §7.6.1). */
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

/** Never removed, even if `Connection` names it: without it the end of the message is unknown. */
const FRAMING = "content-length"

/** Removes a cookie's domain, so that the cookie cannot reach other sites of the domain. */
const withoutDomain = (cookie: string): string =>
  cookie.replace(/;\s*domain\s*(?=[=;]|$)[^;]*/gi, "")

const pairsIn = (header: string | undefined): readonly string[] =>
  (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")

const cookieName = (pair: string): string => (pair.split("=", 1)[0] ?? "").trim()

/** Whether a pair has this name. Browsers send a nameless cookie `=a=b` as `a=b`. */
const isCookieNamed = (pair: string, name: string): boolean =>
  cookieName(pair.replace(/^[\s=]+/, "")).toLowerCase() === name.toLowerCase()

export interface ProxyTarget {
  /** The connection; it ends with the request. */
  readonly connection: Duplex
  readonly requestHeaders: OutgoingHttpHeaders
  /** Returns the headers of the answer to the visitor. */
  readonly responseHeaders: (answer: WithHeaders) => OutgoingHttpHeaders
  /** Shown to the visitor if no valid answer comes. */
  readonly failureNotice: NoticePage
}

/** A target whose connection is reused for the next request. */
export interface PooledProxyTarget extends Omit<ProxyTarget, "connection"> {
  /** The dialed connection; null if an idle one is available. */
  readonly connection: Duplex | null
  readonly pooled: {
    readonly connections: ConnectionPool
    readonly place: string
    readonly dial: Dial
  }
}

/** Proxies a request and its answer. If either ends, so does the other, and then the connection. */
export function proxyRequest(
  target: ProxyTarget | PooledProxyTarget,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { requestHeaders, failureNotice } = target
  const pooled = "pooled" in target ? target.pooled : null
  const { method = "GET", url = "/" } = request
  const inner = httpRequest({
    ...connectionOptionsOf(target),
    method,
    path: url,
    headers: requestHeaders,
  })
  inner.on("response", (answer) => sendResponse(target, answer, response))
  inner.on("error", () => {
    // A reused connection may have closed just when it was taken, before any answer.
    const isUnanswered = !response.headersSent && !response.destroyed
    if (inner.reusedSocket && pooled !== null && isUnanswered) {
      return void retryProxyRequest(target, pooled.dial, request, response)
    }
    // An answer that has begun may complete even if the rest of the request was not wanted.
    if (!response.headersSent) sendNoticePage(response, failureNotice)
  })
  // Drain the unread rest of the request, so that the visitor's next one can be read.
  inner.on("close", () => {
    request.unpipe(inner)
    request.resume()
  })
  response.on("close", () => {
    inner.destroy()
    if (pooled === null) target.connection?.destroy()
  })
  // The server may answer before the first byte of the body.
  inner.flushHeaders()
  request.pipe(inner)
}

function connectionOptionsOf(target: ProxyTarget | PooledProxyTarget): RequestOptions {
  if (!("pooled" in target)) return { createConnection: () => target.connection }
  const { connections, place, dial } = target.pooled
  return connections.connectionOptions(place, target.connection, dial)
}

/** Sends the request again over a new connection. */
async function retryProxyRequest(
  { requestHeaders, responseHeaders, failureNotice }: Omit<ProxyTarget, "connection">,
  dial: Dial,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const connection = await dial()
  if (connection === null) return sendNoticePage(response, failureNotice)
  if (response.destroyed) connection.destroy()
  else
    proxyRequest({ connection, requestHeaders, responseHeaders, failureNotice }, request, response)
}

/** The first final status; lower ones are interim or invalid. */
const FIRST_STATUS = 200

function sendResponse(
  { responseHeaders, failureNotice }: Omit<ProxyTarget, "connection">,
  answer: IncomingMessage,
  response: ServerResponse,
): void {
  const { statusCode = 0 } = answer
  if (statusCode < FIRST_STATUS) {
    answer.destroy()
    sendNoticePage(response, failureNotice)
    return
  }
  // The reason phrase is untrusted text, so it is dropped.
  response.writeHead(statusCode, responseHeaders(answer))
  // A failure of either side ends both, so that a partial answer does not look complete.
  pipeline(answer, response, () => undefined)
}

/** Proxies a protocol upgrade: byte for byte once the server agrees. */
export function proxyUpgrade(
  { connection, requestHeaders, responseHeaders, failureNotice }: ProxyTarget,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { method = "GET", url = "/", headers } = request
  const upgradeHeaders = { ...requestHeaders, connection: "Upgrade", upgrade: headers.upgrade }
  const createConnection = () => connection
  const inner = httpRequest({ createConnection, method, path: url, headers: upgradeHeaders })
  let isAnswered = false
  inner.on("upgrade", (answer, other, first) => {
    isAnswered = true
    const agreed = {
      ...responseHeaders(answer),
      connection: "Upgrade",
      upgrade: answer.headers.upgrade,
    }
    socket.write(responseHead(101, agreed), "latin1")
    socket.write(first)
    other.write(head)
    other.pipe(socket)
    socket.pipe(other)
    // The last bytes are still sent.
    finished(other, { writable: false }, () => endSocket(socket))
  })
  inner.on("response", (answer) => {
    isAnswered = true
    const { statusCode = 0 } = answer
    if (statusCode < FIRST_STATUS)
      return endSocket(socket, upgradeRefusalText(failureNotice.status))
    socket.write(
      responseHead(statusCode, { ...responseHeaders(answer), connection: "close" }),
      "latin1",
    )
    pipeline(answer, socket, () => undefined)
  })
  inner.on("error", () => {
    if (!isAnswered) endSocket(socket, upgradeRefusalText(failureNotice.status))
  })
  finished(socket, () => connection.destroy())
  inner.end()
}

/** Formats the head of an answer; header values are bytes, which Node reads as Latin-1. */
function responseHead(status: number, headers: OutgoingHttpHeaders): string {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
  )
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${fields.join("")}\r\n`
}

/** Sends the pending bytes and then closes the connection, even if the peer keeps its side open. */
export function endSocket(socket: Duplex, last = ""): void {
  socket.end(last, () => socket.destroy())
}

/** Returns the first cookie of this name in a `Cookie` header; null if there is none. */
export function cookieValue(header: string | undefined, name: string): string | null {
  const found = pairsIn(header).find((pair) => cookieName(pair) === name)
  return found === undefined ? null : found.slice(found.indexOf("=") + 1).trim()
}

/** Removes a cookie from a `Cookie` header; null if no other cookie is left. */
export function withoutCookie(header: string | undefined, name: string): string | null {
  const others = pairsIn(header).filter((pair) => !isCookieNamed(pair, name))
  return others.length === 0 ? null : others.join("; ")
}

/** Whether a `Set-Cookie` sets this cookie as any browser may read it: ignoring case, or without a name. */
export function setsCookie(header: string, name: string): boolean {
  return isCookieNamed(header.split(";", 1)[0] ?? "", name)
}

/** Removes hop-by-hop headers, including those that `Connection` names. */
function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  const ending = new Set([...HOP_BY_HOP, ...named])
  ending.delete(FRAMING)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ending.has(name)))
}

/** Returns the headers of a proxied request. */
export function forwardedRequestHeaders({ headers }: WithHeaders): OutgoingHttpHeaders {
  // For methods that usually have no body, Node would send one without a length or chunks.
  const isChunked = headers["transfer-encoding"] !== undefined
  return { ...withoutHops(headers), ...(isChunked ? { "transfer-encoding": "chunked" } : {}) }
}

/** Returns the headers of a proxied answer: its cookies apply to its own host name only. */
export function forwardedResponseHeaders({ headers }: WithHeaders): OutgoingHttpHeaders {
  const { "set-cookie": cookies } = headers
  return {
    ...withoutHops(headers),
    ...(cookies === undefined ? {} : { "set-cookie": cookies.map(withoutDomain) }),
  }
}

/** Returns the refusal of a protocol upgrade. */
export function upgradeRefusalText(status: number): string {
  const rest = "Connection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${rest}`
}

/** Answers with a notice page. */
export function sendNoticePage(
  response: ServerResponse,
  { status, title, text, hasAutoRefresh = false }: NoticePage,
): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
    ...(hasAutoRefresh ? { refresh: "2" } : {}),
  })
  const [heading, body] = [escapeHtml(title), escapeHtml(text)]
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${heading}</title><h1>${heading}</h1><p>${body}</p></html>\n`,
  )
}
