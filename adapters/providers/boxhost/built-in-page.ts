/** What answers in a built-in box where a command serves a port: one page, and an echo for web sockets. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { Duplex } from "node:stream"
import { duplexPair } from "node:stream"

/** The page, and what stands in it of a request. */
export const PAGE = "<!doctype html>\n<title>A page of a box</title>\n"

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", (piece: Buffer) => chunks.push(piece))
  request.on("end", () => {
    const bytes = chunks.reduce((sum, piece) => sum + piece.length, 0)
    response.setHeader("content-type", "text/html; charset=utf-8")
    response.end(`${PAGE}<p>${bytes} bytes were sent</p>\n`)
  })
})

server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] ?? ""
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
      `Sec-WebSocket-Accept: ${accept.digest("base64")}\r\n\r\n`,
  )
  // As it came: whoever looks at frames sees their own.
  socket.pipe(socket)
})

/** A connection to the page; it ends with the command, and is among its box's until then. */
export function dialPage(
  connections: Set<Duplex>,
  stopped: AbortSignal,
  onPassed: () => void,
): Duplex {
  const [ours, theirs] = duplexPair()
  const destroy = () => ours.destroy()
  connections.add(ours)
  stopped.addEventListener("abort", destroy)
  ours.once("close", () => {
    connections.delete(ours)
    stopped.removeEventListener("abort", destroy)
    theirs.destroy()
  })
  theirs.once("close", destroy)
  server.emit("connection", theirs)
  theirs.on("data", onPassed)
  return ours
}
