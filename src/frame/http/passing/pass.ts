/**
 * Passing on what comes to a host name, over a connection to whatever answers there. What that says is
 * untrusted: whatever it is, one visitor's request ends with it and nothing else.
 */
import type {
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestOptions,
  ServerResponse,
} from "node:http"
import { STATUS_CODES, request as httpRequest } from "node:http"
import type { Duplex } from "node:stream"
import { finished, pipeline } from "node:stream"
import type { Headed } from "./headers.ts"
import type { Dial, KeptConnections } from "./kept.ts"
import type { Notice } from "./pages.ts"
import { noticePage, refusalOf } from "./pages.ts"

/** Where a request is passed on to, and what differs by who serves it. */
export interface Passing {
  /** It ends with what it was for. */
  readonly connection: Duplex
  /** The headers of the request there. */
  readonly asked: OutgoingHttpHeaders
  /** The headers of an answer, as the visitor gets it. */
  readonly answered: (answer: Headed) => OutgoingHttpHeaders
  /** What the visitor sees where no answer comes that can be passed on. */
  readonly unheard: Notice
}

/** The same, over a connection that is kept for the next request. */
export interface KeptPassing extends Omit<Passing, "connection"> {
  /** What was dialled; null where one that was kept is free. */
  readonly connection: Duplex | null
  readonly kept: {
    readonly connections: KeptConnections
    readonly place: string
    readonly dial: Dial
  }
}

/** Passes a request on, and its answer back. Neither outlives the other, nor the connection both. */
export function passRequest(
  passing: Passing | KeptPassing,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { asked, unheard } = passing
  const kept = "kept" in passing ? passing.kept : null
  const { method = "GET", url = "/" } = request
  const inner = httpRequest({ ...wayOf(passing), method, path: url, headers: asked })
  inner.on("response", (answer) => answerWith(passing, answer, response))
  inner.on("error", () => {
    // One that was kept ended in the moment it was taken: no byte of an answer came.
    const isUnanswered = !response.headersSent && !response.destroyed
    if (inner.reusedSocket && kept !== null && isUnanswered) {
      return void passAgain(passing, kept.dial, request, response)
    }
    // What is answered already stands or falls by itself: the rest of the question may be unwanted.
    if (!response.headersSent) noticePage(response, unheard)
  })
  // What nobody takes any more is still read, or the visitor's next request would never be seen.
  inner.on("close", () => {
    request.unpipe(inner)
    request.resume()
  })
  response.on("close", () => {
    inner.destroy()
    if (kept === null) passing.connection?.destroy()
  })
  // What listens may answer before there is a byte of the body.
  inner.flushHeaders()
  request.pipe(inner)
}

/** How a request gets there. */
function wayOf(passing: Passing | KeptPassing): RequestOptions {
  if (!("kept" in passing)) return { createConnection: () => passing.connection }
  const { connections, place, dial } = passing.kept
  return connections.way(place, passing.connection, dial)
}

/** Asks once more, over a connection of its own. */
async function passAgain(
  { asked, answered, unheard }: Omit<Passing, "connection">,
  dial: Dial,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const connection = await dial()
  if (connection === null) return noticePage(response, unheard)
  if (response.destroyed) connection.destroy()
  else passRequest({ connection, asked, answered, unheard }, request, response)
}

/** The first status that ends an answer; what is below was not asked for, or is none. */
const FIRST_STATUS = 200

function answerWith(
  { answered, unheard }: Omit<Passing, "connection">,
  answer: IncomingMessage,
  response: ServerResponse,
): void {
  const { statusCode = 0 } = answer
  if (statusCode < FIRST_STATUS) {
    answer.destroy()
    noticePage(response, unheard)
    return
  }
  // Without its phrase, in which anything may stand.
  response.writeHead(statusCode, answered(answer))
  // Whichever fails takes the other with it: half an answer is not taken for a whole one.
  pipeline(answer, response, () => undefined)
}

/** Passes a connection on that is to speak another protocol: byte for byte, once that is agreed to. */
export function passConnection(
  { connection, asked, answered, unheard }: Passing,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { method = "GET", url = "/", headers } = request
  const told = { ...asked, connection: "Upgrade", upgrade: headers.upgrade }
  const createConnection = () => connection
  const inner = httpRequest({ createConnection, method, path: url, headers: told })
  let isAnswered = false
  inner.on("upgrade", (answer, other, first) => {
    isAnswered = true
    const agreed = {
      ...answered(answer),
      connection: "Upgrade",
      upgrade: answer.headers.upgrade,
    }
    socket.write(headOf(101, agreed), "latin1")
    socket.write(first)
    other.write(head)
    other.pipe(socket)
    socket.pipe(other)
    // What was said last is still sent.
    finished(other, { writable: false }, () => endOf(socket))
  })
  inner.on("response", (answer) => {
    isAnswered = true
    const { statusCode = 0 } = answer
    if (statusCode < FIRST_STATUS) return endOf(socket, refusalOf(unheard.status))
    socket.write(headOf(statusCode, { ...answered(answer), connection: "close" }), "latin1")
    pipeline(answer, socket, () => undefined)
  })
  inner.on("error", () => {
    if (!isAnswered) endOf(socket, refusalOf(unheard.status))
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
