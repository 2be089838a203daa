/**
 * Requests in sequence over a kept-alive connection. It writes and reads the bytes of HTTP itself, because Node's client
 * takes more of a core than the measured work.
 */
import { once } from "node:events"
import type { Socket } from "node:net"
import { connect } from "node:net"

export interface HttpResponse {
  readonly status: number
  /** The status line and the headers. */
  readonly head: string
  readonly body: string
}

/** Sends a request after the answer to the one before. @throws if the connection ends without an answer */
export type HttpExchange = (request: string) => Promise<HttpResponse>

/** Connects to a port of a host. */
export async function connectTo(host: string, port: number): Promise<Socket> {
  const socket = connect(port, host)
  await once(socket, "connect")
  return socket.setNoDelay(true).setEncoding("latin1")
}

/** Opens an exchange over a connection. */
export function openHttpExchange(socket: Socket): HttpExchange {
  let waiting: PromiseWithResolvers<HttpResponse> | null = null
  let came = ""
  const lost = (): void => waiting?.reject(new Error("a connection ended without an answer"))
  socket.on("error", lost).on("close", lost)
  socket.on("data", (chunk: string) => {
    came += chunk
    const answer = parseResponse(came)
    if (answer === null) return
    came = ""
    waiting?.resolve(answer)
  })
  return (request) => {
    waiting = Promise.withResolvers()
    if (socket.destroyed) lost()
    else socket.write(request, "latin1")
    return waiting.promise
  }
}

/** Parses an answer; null while bytes are missing. */
function parseResponse(came: string): HttpResponse | null {
  const end = came.indexOf("\r\n\r\n")
  if (end === -1) return null
  const head = came.slice(0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error("an answer does not say how long it is")
  const body = came.slice(end + 4)
  if (body.length < Number(length)) return null
  return { status: Number(came.slice(9, 12)), head, body }
}

/** Area codes of textable numbers. */
const AREAS = ["212", "213", "303", "312", "404", "415", "512", "617", "702", "808"]
const LINES = 10_000
/** Exchange codes from 200 on: 800 per area. */
const EXCHANGES = 800

/** Returns a textable number, another for each of 80 million indexes. */
export function phoneNumberAt(own: number): string {
  const area = AREAS[own % AREAS.length]
  const rest = Math.floor(own / AREAS.length)
  const exchange = 200 + (Math.floor(rest / LINES) % EXCHANGES)
  return `+1${area}${exchange}${String(rest % LINES).padStart(4, "0")}`
}
