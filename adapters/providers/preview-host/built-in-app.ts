/** What answers for an app of a built-in preview: a page that says of which version it is, and an echo for web sockets. */
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { Duplex } from "node:stream"
import { duplexPair } from "node:stream"

/** A version that runs in memory. */
export interface MemoryApp {
  /** A connection to it; it counts whenever anything passes. */
  readonly dial: (onPassed: () => void) => Duplex
  /** Breaks its connections off. */
  readonly end: () => void
}

/** An app that says these words on every page, and where it was asked. */
export function openMemoryApp(words: string): MemoryApp {
  const connections = new Set<Duplex>()
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      response.setHeader("content-type", "text/html; charset=utf-8")
      response.end(`<!doctype html>\n<title>A page of an app</title>\n<p>${words}</p>\n`)
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
  return {
    dial: (onPassed) => {
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
    end: () => connections.forEach((connection) => connection.destroy()),
  }
}
