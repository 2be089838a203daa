/** A server's own socket: which addresses it listens on, and callers who hold on to it when it stops. */
import { once } from "node:events"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { ownDatabase } from "../support/world-database.ts"
import { ownPlace } from "../support/server-process.ts"
import { makeSender } from "./company.ts"
import { operateOn } from "./supervised.ts"

const place = await ownPlace({ DATABASE_URL: await ownDatabase(), HOST: "localhost" })

/** Opens a connection and sends what is there of a request. */
async function send(url: string, ...lines: readonly string[]) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname.replace(/^\[(.*)\]$/, "$1"))
  await once(socket, "connect")
  socket.write(lines.join("\r\n"))
  return socket
}

describe("a server", () => {
  it("listens on one address of localhost, and answers bytes that are no request", async () => {
    const server = await place.start()
    const { hostname, port } = new URL(server.url)
    expect(["127.0.0.1", "[::1]"]).toContain(hostname)
    const other = connect(Number(port), hostname === "127.0.0.1" ? "::1" : "127.0.0.1")
    // Refused, or there is no such address here.
    const [error] = (await once(other, "error")) as [NodeJS.ErrnoException]
    expect(["ECONNREFUSED", "EADDRNOTAVAIL"]).toContain(error.code)
    const answer = await text(await send(server.url, "no request at all", "", ""))
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"error":"validation"/)
    expect(await server.end("SIGTERM")).toBe(0)
  })

  it("stops although a caller never ends what it began to send", async () => {
    const server = await place.start()
    const { key } = await makeSender(operateOn(place), "listening")
    const head = ["POST /api/v1/phone/messages HTTP/1.1", "host: ledger.test"]
    const nobody = [...head, "content-type: application/json"]
    const known = [...nobody, `authorization: Bearer ${key}`]
    const bodies = [nobody, known].flatMap((sent) => [
      [...sent, "content-length: 100", "", '{"to":'],
      [...sent, "transfer-encoding: chunked", "", "6", '{"to":', ""],
    ])
    const sockets = await Promise.all(bodies.map((lines) => send(server.url, ...lines)))
    // The server has the requests in hand: its answer to the next one comes behind them.
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404)
    const ended = Promise.all(sockets.map((socket) => text(socket).catch(() => "")))
    // It would be 1, and said so, had a stop given up on them as on calls in hand.
    expect(await server.end("SIGTERM")).toBe(0)
    await ended
    expect(server.log()).toBe("")
  })
})
