/**
 * Passing on what comes by the link of a preview, over a connection to the box. What a box answers is
 * untrusted: whatever it is, one visitor's request ends with it and nothing else.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http"
import { STATUS_CODES, request as httpRequest } from "node:http"
import type { Duplex } from "node:stream"
import { finished, pipeline } from "node:stream"
import { headersFrom, headersTo } from "./preview-headers.ts"
import { pageOf, refusalOf } from "./preview-pages.ts"

/** A connection to a port of a box. */
export interface Dialled {
  readonly port: number
  readonly connection: Duplex
}

/** Passes a request on, and its answer back. Neither outlives the other, nor the connection both. */
export function passRequest(
  { port, connection }: Dialled,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = "GET", url = "/" } = request
  const headers = headersTo(port, request)
  const createConnection = () => connection
  const inner = httpRequest({ createConnection, method, path: url, headers })
  inner.on("response", (answer) => answerWith(port, answer, response))
  inner.on("error", () => {
    // What is answered already stands or falls by itself: the rest of the question may be unwanted.
    if (!response.headersSent) pageOf(response, 502)
  })
  // What nobody takes any more is still read, or the visitor's next request would never be seen.
  inner.on("close", () => {
    request.unpipe(inner)
    request.resume()
  })
  response.on("close", () => {
    inner.destroy()
    connection.destroy()
  })
  // What listens may answer before there is a byte of the body.
  inner.flushHeaders()
  request.pipe(inner)
}

/** The first status that ends an answer; what is below was not asked for, or is none. */
const FIRST_STATUS = 200

function answerWith(port: number, answer: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0 } = answer
  if (statusCode < FIRST_STATUS) {
    answer.destroy()
    pageOf(response, 502)
    return
  }
  // Without its phrase, in which anything may stand.
  response.writeHead(statusCode, headersFrom(port, answer))
  // Whichever fails takes the other with it: half an answer is not taken for a whole one.
  pipeline(answer, response, () => undefined)
}

/** Passes a connection on that is to speak another protocol: byte for byte, once the box agrees to it. */
export function passConnection(
  { port, connection }: Dialled,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { method = "GET", url = "/", headers } = request
  const told = { ...headersTo(port, request), connection: "Upgrade", upgrade: headers.upgrade }
  const createConnection = () => connection
  const inner = httpRequest({ createConnection, method, path: url, headers: told })
  let isAnswered = false
  inner.on("upgrade", (answer, other, first) => {
    isAnswered = true
    const agreed = {
      ...headersFrom(port, answer),
      connection: "Upgrade",
      upgrade: answer.headers.upgrade,
    }
    socket.write(headOf(101, agreed), "latin1")
    socket.write(first)
    other.write(head)
    other.pipe(socket)
    socket.pipe(other)
    // What the box said last is still sent.
    finished(other, { writable: false }, () => endOf(socket))
  })
  inner.on("response", (answer) => {
    isAnswered = true
    const { statusCode = 0 } = answer
    if (statusCode < FIRST_STATUS) return endOf(socket, refusalOf(502))
    socket.write(
      headOf(statusCode, { ...headersFrom(port, answer), connection: "close" }),
      "latin1",
    )
    pipeline(answer, socket, () => undefined)
  })
  inner.on("error", () => {
    if (!isAnswered) endOf(socket, refusalOf(502))
  })
  // Who left is sent nothing.
  finished(socket, () => connection.destroy())
  inner.end()
}

/** The head of an answer; headers are bytes, which Node reads as Latin-1. */
function headOf(status: number, headers: OutgoingHttpHeaders): string {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
  )
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${fields.join("")}\r\n`
}

/** Ends a connection once all of what is on its way is sent, whether its other side ends or not. */
export function endOf(socket: Duplex, last = ""): void {
  socket.end(last, () => socket.destroy())
}
