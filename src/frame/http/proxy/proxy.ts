/**
 * Passing on what comes to a host name, over a connection to whatever answers there. What that says is
 * untrusted: whatever it is, one visitor's request ends with it and nothing else.
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

/** A page that says why nothing is shown. */
export interface NoticePage {
  readonly status: number
  readonly title: string
  /** A sentence or two. */
  readonly text: string
  /** Whether it is worth while to look again: the page does so by itself. */
  readonly hasAutoRefresh?: boolean
}

/** What headers are read from. */
export type WithHeaders = Pick<IncomingMessage, "headers">

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

/** One for the whole domain would reach what others serve there. */
const withoutDomain = (cookie: string): string =>
  cookie.replace(/;\s*domain\s*(?=[=;]|$)[^;]*/gi, "")

const pairsIn = (header: string | undefined): readonly string[] =>
  (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")

const cookieName = (pair: string): string => (pair.split("=", 1)[0] ?? "").trim()

/** One without a name is sent as its value alone: `=a=b` comes back as `a=b`. */
const isCookieNamed = (pair: string, name: string): boolean =>
  cookieName(pair.replace(/^[\s=]+/, "")).toLowerCase() === name.toLowerCase()

/** Where a request is passed on to, and what differs by who serves it. */
export interface ProxyTarget {
  /** It ends with what it was for. */
  readonly connection: Duplex
  /** The headers of the request there. */
  readonly requestHeaders: OutgoingHttpHeaders
  /** The headers of an answer, as the visitor gets it. */
  readonly responseHeaders: (answer: WithHeaders) => OutgoingHttpHeaders
  /** What the visitor sees where no answer comes that can be passed on. */
  readonly failureNotice: NoticePage
}

/** The same, over a connection that is kept for the next request. */
export interface PooledProxyTarget extends Omit<ProxyTarget, "connection"> {
  /** What was dialled; null where one that was kept is free. */
  readonly connection: Duplex | null
  readonly pooled: {
    readonly connections: ConnectionPool
    readonly place: string
    readonly dial: Dial
  }
}

/** Passes a request on, and its answer back. Neither outlives the other, nor the connection both. */
export function proxyRequest(
  passing: ProxyTarget | PooledProxyTarget,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { requestHeaders, failureNotice } = passing
  const pooled = "pooled" in passing ? passing.pooled : null
  const { method = "GET", url = "/" } = request
  const inner = httpRequest({
    ...connectionOptionsOf(passing),
    method,
    path: url,
    headers: requestHeaders,
  })
  inner.on("response", (answer) => sendResponse(passing, answer, response))
  inner.on("error", () => {
    // One that was kept ended in the moment it was taken: no byte of an answer came.
    const isUnanswered = !response.headersSent && !response.destroyed
    if (inner.reusedSocket && pooled !== null && isUnanswered) {
      return void retryProxyRequest(passing, pooled.dial, request, response)
    }
    // What is answered already stands or falls by itself: the rest of the question may be unwanted.
    if (!response.headersSent) sendNoticePage(response, failureNotice)
  })
  // What nobody takes any more is still read, or the visitor's next request would never be seen.
  inner.on("close", () => {
    request.unpipe(inner)
    request.resume()
  })
  response.on("close", () => {
    inner.destroy()
    if (pooled === null) passing.connection?.destroy()
  })
  // What listens may answer before there is a byte of the body.
  inner.flushHeaders()
  request.pipe(inner)
}

/** How a request gets there. */
function connectionOptionsOf(passing: ProxyTarget | PooledProxyTarget): RequestOptions {
  if (!("pooled" in passing)) return { createConnection: () => passing.connection }
  const { connections, place, dial } = passing.pooled
  return connections.connectionOptions(place, passing.connection, dial)
}

/** Asks once more, over a connection of its own. */
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

/** The first status that ends an answer; what is below was not asked for, or is none. */
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
  // Without its phrase, in which anything may stand.
  response.writeHead(statusCode, responseHeaders(answer))
  // Whichever fails takes the other with it: half an answer is not taken for a whole one.
  pipeline(answer, response, () => undefined)
}

/** Passes a connection on that is to speak another protocol: byte for byte, once that is agreed to. */
export function proxyUpgrade(
  { connection, requestHeaders, responseHeaders, failureNotice }: ProxyTarget,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { method = "GET", url = "/", headers } = request
  const told = { ...requestHeaders, connection: "Upgrade", upgrade: headers.upgrade }
  const createConnection = () => connection
  const inner = httpRequest({ createConnection, method, path: url, headers: told })
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
    // What was said last is still sent.
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
  // Who left is sent nothing.
  finished(socket, () => connection.destroy())
  inner.end()
}

/** The head of an answer; headers are bytes, which Node reads as Latin-1. */
function responseHead(status: number, headers: OutgoingHttpHeaders): string {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
  )
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${fields.join("")}\r\n`
}

/** Ends a connection once all of what is on its way is sent, whether its other side ends or not. */
export function endSocket(socket: Duplex, last = ""): void {
  socket.end(last, () => socket.destroy())
}

/** The value of a cookie in a `Cookie` header; null where it is not there. Of several the first stands. */
export function cookieValue(header: string | undefined, name: string): string | null {
  const found = pairsIn(header).find((pair) => cookieName(pair) === name)
  return found === undefined ? null : found.slice(found.indexOf("=") + 1).trim()
}

/** A `Cookie` header without a cookie; null where nothing else is in it. */
export function withoutCookie(header: string | undefined, name: string): string | null {
  const others = pairsIn(header).filter((pair) => !isCookieNamed(pair, name))
  return others.length === 0 ? null : others.join("; ")
}

/** Whether a `Set-Cookie` sets a cookie, as any browser may read it: without regard to case, or to no name. */
export function setsCookie(header: string, name: string): boolean {
  return isCookieNamed(header.split(";", 1)[0] ?? "", name)
}

/** Headers without those that end at this hop, also the ones that `Connection` names. */
function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  const ending = new Set([...HOP_BY_HOP, ...named])
  ending.delete(FRAMING)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ending.has(name)))
}

/** The headers of a request that is passed on. */
export function forwardedRequestHeaders({ headers }: WithHeaders): OutgoingHttpHeaders {
  // Of a verb that mostly has no body Node would send one whose end nobody sees.
  const isChunked = headers["transfer-encoding"] !== undefined
  return { ...withoutHops(headers), ...(isChunked ? { "transfer-encoding": "chunked" } : {}) }
}

/** The headers of its answer: a cookie is of its own host name alone. */
export function forwardedResponseHeaders({ headers }: WithHeaders): OutgoingHttpHeaders {
  const { "set-cookie": cookies } = headers
  return {
    ...withoutHops(headers),
    ...(cookies === undefined ? {} : { "set-cookie": cookies.map(withoutDomain) }),
  }
}

/** The same to whoever asked to speak another protocol. */
export function upgradeRefusalText(status: number): string {
  const rest = "Connection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\r\n"
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${rest}`
}

/** Answers with a page. */
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
  const [shown, told] = [escapeHtml(title), escapeHtml(text)]
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>${shown}</title><h1>${shown}</h1><p>${told}</p></html>\n`,
  )
}
