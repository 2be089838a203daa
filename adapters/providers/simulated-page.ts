/** The page that simulated boxes and previews serve, with a WebSocket echo. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { Duplex } from "node:stream"
import { duplexPair } from "node:stream"

export interface SimulatedPage {
  /** Opens a connection to the page; `onPassed` is called for each chunk that the visitor sends. */
  readonly connect: (onPassed: () => void) => Duplex
  readonly disconnectAll: () => void
}

export interface SimulatedPageText {
  readonly title: string
  /** The paragraph for a request whose body has this many bytes. */
  readonly paragraph: (bytes: number) => string
}

/** Opens a page that answers every path with the same content. */
export function openSimulatedPage({ title, paragraph }: SimulatedPageText): SimulatedPage {
  const connections = new Set<Duplex>()
  const server = createServer((request, response) => {
    let bytes = 0
    request.on("data", (chunk: Buffer) => (bytes += chunk.length))
    request.on("end", () => {
      response.setHeader("content-type", "text/html; charset=utf-8")
      response.end(`<!doctype html>\n<title>${title}</title>\n<p>${paragraph(bytes)}</p>\n`)
    })
  })
  server.on("upgrade", (request, socket) => {
    const key = request.headers["sec-websocket-key"] ?? ""
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accept.digest("base64")}\r\n\r\n`,
    )
    // The bytes return unchanged, so a visitor reads its own frames.
    socket.pipe(socket)
  })
  return {
    connect: (onPassed) => {
      const [ours, theirs] = duplexPair()
      connections.add(ours)
      ours.once("close", () => {
        connections.delete(ours)
        theirs.destroy()
      })
      theirs.once("close", () => ours.destroy())
      server.emit("connection", theirs)
      theirs.on("data", onPassed)
      return ours
    },
    disconnectAll: () => connections.forEach((connection) => connection.destroy()),
  }
}
