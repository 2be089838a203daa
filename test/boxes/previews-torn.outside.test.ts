/** Links whose box or visitor fails, disconnects or sends something other than HTTP, without effect on others. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { MAX_PREVIEW_CONNECTIONS } from "../../src/boxes/preview-connections.ts"
import { BOXES_PATH, makeBoxCompany, startBoxAndWait } from "./box-world.ts"
import { httpSocketHandler, ownPreviewWorld, readText } from "./preview-world.ts"

const preview = await ownPreviewWorld()

let lastPort = 6_000
/** Listens on a new port of the box; returns the host name of a link to it. */
async function linkTo(handle: (socket: Socket) => void): Promise<string> {
  lastPort += 1
  // A box has a limited number of links: the oldest one is closed.
  await preview.one.world.call(
    preview.company.key,
    "DELETE",
    `${BOXES_PATH}/${preview.boxId}/previews/${lastPort - 5}`,
  )
  await preview.listen(lastPort, handle)
  return preview.hostOf(lastPort)
}

/** Answers any request with these bytes; returns the host name of a link to it. */
const answerWith = (bytes: string) =>
  linkTo((socket) => socket.once("data", () => socket.end(bytes, "latin1")))

describe("a box that answers", () => {
  it.for([
    ["nothing", ""],
    ["something other than HTTP", "hello\n"],
    ["half a header", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["an invalid status", "HTTP/1.1 007 OK\r\n\r\n"],
    ["with an upgrade that was not requested", "HTTP/1.1 101 Yes\r\nupgrade: x\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ["an invalid header", "HTTP/1.1 200 OK\r\nx y: 1\r\n\r\n"],
    ...["\0", "\x01", "\x7f"].map((byte) => [
      `a header with ${JSON.stringify(byte)}`,
      `HTTP/1.1 200 OK\r\nx: a${byte}b\r\n\r\n`,
    ]),
    ["endless headers", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(40)}`],
  ])("%s is treated as one that does not answer", async ([, bytes]) => {
    const answer = await preview.visit(await answerWith(bytes ?? ""))
    expect([answer.status, answer.headers["refresh"]]).toEqual([502, "2"])
  })

  it("an invalid status text or bytes in a header is passed on", async () => {
    const host = await answerWith("HTTP/1.1 200 \x01\x7f\r\nx-name: J\xfcrg\r\n\r\nhello")
    const { status, headers, body } = await preview.visit(host)
    expect([status, headers["x-name"], body]).toEqual([200, "J\xfcrg", "hello"])
  })

  it.for([
    ["fewer bytes than its length", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"],
    ["invalid chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"],
    ["no last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
  ])("%s aborts the answer", async ([, bytes]) => {
    const outgoing = preview.startRequest(await answerWith(bytes ?? ""))
    outgoing.end()
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    await expect(readText(answer)).rejects.toThrow("aborted")
  })

  it("before it has read the whole request is passed on, and may close the connection", async () => {
    const host = await linkTo((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 413 No\r\ncontent-length: 4\r\nconnection: close\r\n\r\nmuch")
        socket.resetAndDestroy()
      }),
    )
    const refused = await linkTo((socket) =>
      socket.once("data", () => {
        socket.end("HTTP/1.1 413 No\r\ncontent-length: 4\r\nconnection: close\r\n\r\nmuch")
      }),
    )
    const body = Buffer.alloc(4_000_000)
    const outgoing = preview.startRequest(refused, { method: "POST" })
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>
    outgoing.on("error", () => undefined)
    outgoing.write(body)
    const [answer] = await answered
    expect([answer.statusCode, await readText(answer)]).toEqual([413, "much"])
    outgoing.end(body)
    // The answer of one that resets may be lost, but the request ends in any case.
    const reset = preview.startRequest(host, { method: "POST" })
    reset.end(body)
    const ended = Promise.withResolvers<unknown>()
    reset.on("response", (torn) => torn.resume().on("close", ended.resolve))
    reset.on("error", ended.resolve)
    await ended.promise
  })

  it("two requests on one connection is passed on for both", async () => {
    const host = await linkTo(
      httpSocketHandler((_request, response) => response.writeHead(401).end("no")),
    )
    const head = `host: ${host}\r\n`
    const socket = preview.sendRaw(
      `POST / HTTP/1.1\r\n${head}content-length: 100000\r\n\r\n${"x".repeat(100_000)}` +
        `GET / HTTP/1.1\r\n${head}connection: close\r\n\r\n`,
    )
    const answers = await readText(socket)
    expect(answers.match(/HTTP\/1\.1 401 Unauthorized/g)).toHaveLength(2)
  })
})

describe("a visitor who disconnects", () => {
  it("during an answer ends it in the box", async () => {
    const gone = Promise.withResolvers<unknown>()
    const host = await linkTo(
      httpSocketHandler((_request, response) => {
        response.on("close", () => gone.resolve(response.writableFinished))
        response.write("one")
      }),
    )
    const outgoing = preview.startRequest(host)
    outgoing.end()
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    await once(answer, "data")
    answer.on("error", () => undefined)
    outgoing.destroy()
    expect(await gone.promise).toBe(false)
  })

  it("during the request or before the answer ends the connection in the box", async () => {
    for (const start of ["POST / HTTP/1.1\r\ncontent-length: 9\r\n", "GET / HTTP/1.1\r\n"]) {
      const received = Promise.withResolvers<unknown>()
      const gone = Promise.withResolvers<unknown>()
      const host = await linkTo((inner) => {
        inner.once("data", received.resolve)
        inner.on("close", gone.resolve)
      })
      const socket = preview.sendRaw(`${start}host: ${host}\r\n\r\n`)
      await received.promise
      socket.resetAndDestroy()
      // The connection in the box closes, with or without an error.
      expect(typeof (await gone.promise)).toBe("boolean")
    }
  })

  it("while the connection to the box is made leaves no connection behind", async () => {
    const { boxHost } = preview.one.world.ports
    for (const headers of ["", "connection: upgrade\r\nupgrade: x\r\n"]) {
      const gone = Promise.withResolvers<unknown>()
      const host = await linkTo((inner) => inner.on("close", gone.resolve).resume())
      const [found, left] = [Promise.withResolvers<null>(), Promise.withResolvers<unknown>()]
      const { find } = boxHost
      const slow: { find: typeof find } = boxHost
      slow.find = async (boxId) => {
        slow.find = find
        found.resolve(null)
        await left.promise
        return find(boxId)
      }
      const server = once(preview.one.world.app.server, "connection") as Promise<[Socket]>
      const socket = preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`)
      const [other] = await server
      await found.promise
      socket.resetAndDestroy()
      const closed = Promise.withResolvers<unknown>()
      other.once("close", closed.resolve)
      if (!other.destroyed) await closed.promise
      left.resolve(null)
      expect(typeof (await gone.promise)).toBe("boolean")
    }
  })
})

const OFFER = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"
const ACCEPT = "HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
/** The answer that visitors get to an accepted upgrade. */
const UPGRADED =
  "HTTP/1.1 101 Switching Protocols\r\nreferrer-policy: no-referrer\r\nx-robots-tag: noindex\r\n" +
  "connection: Upgrade\r\nupgrade: websocket\r\n\r\n"

describe("an upgraded connection", () => {
  it("is passed on byte for byte, with localhost as host name", async () => {
    const received = Promise.withResolvers<string>()
    const host = await linkTo((inner) => {
      inner.once("data", (piece) => {
        received.resolve(piece.toString("latin1"))
        inner.write(ACCEPT)
        inner.pipe(inner)
      })
    })
    const socket = preview.sendRaw(
      `GET /hot?a=b HTTP/1.1\r\nhost: ${host}\r\norigin: http://${host}\r\n${OFFER}x-n: J\u00fcrg\r\n\r\n`,
    )
    expect(String(await once(socket, "data"))).toBe(UPGRADED)
    const fields = (await received.promise).split("\r\n")
    expect(fields[0]).toBe("GET /hot?a=b HTTP/1.1")
    expect(fields).toEqual(
      expect.arrayContaining([
        `host: localhost:${lastPort}`,
        `origin: http://localhost:${lastPort}`,
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-key: abc",
        `x-forwarded-host: ${host}`,
        `x-n: ${Buffer.from("J\u00fcrg").toString("latin1")}`,
      ]),
    )
    socket.write("\0\x01ping")
    expect(String(await once(socket, "data"))).toBe("\0\x01ping")
    socket.end()
    await once(socket, "close")
  })

  it("gets everything that the box sends, and ends with it", async () => {
    const text = "bye".repeat(500_000)
    const host = await linkTo((inner) => inner.once("data", () => inner.end(ACCEPT + text)))
    const socket = preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    expect(await readText(socket)).toBe(UPGRADED + text)
  })

  it("gets an ordinary answer if the box rejects the upgrade, without cookies for other hosts", async () => {
    const cookies = "set-cookie: a=1; Domain=box.localhost; Path=/\r\n"
    const refusal = `HTTP/1.1 426 \x01No\r\n${cookies}transfer-encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n`
    const refused = `GET / HTTP/1.1\r\nhost: ${await answerWith(refusal)}\r\n${OFFER}\r\n`
    expect(await readText(preview.sendRaw(refused))).toBe(
      "HTTP/1.1 426 Upgrade Required\r\nset-cookie: a=1; Path=/\r\nreferrer-policy: no-referrer\r\n" +
        "x-robots-tag: noindex\r\nconnection: close\r\n\r\nno",
    )
    const unanswered = `GET / HTTP/1.1\r\nhost: ${await answerWith("")}\r\n${OFFER}\r\n`
    expect(await readText(preview.sendRaw(unanswered))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
  })

  it("ends in the box when the visitor disconnects", async () => {
    const gone = Promise.withResolvers<unknown>()
    const host = await linkTo((inner) => {
      inner.on("close", gone.resolve)
      inner.once("data", () => inner.write(ACCEPT))
    })
    const socket = preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    await once(socket, "data")
    socket.resetAndDestroy()
    expect(typeof (await gone.promise)).toBe("boolean")
  })

  it("ends when its box stops", async () => {
    const company = await makeBoxCompany(preview.one)
    const { world } = preview.one
    const boxId = await startBoxAndWait(world, company)
    const url = `${BOXES_PATH}/${boxId}`
    const body = { command: "serve 3000" }
    await world.call(company.key, "POST", `${url}/processes`, { body })
    const opened = await world.call(company.key, "POST", `${url}/previews`, {
      body: { port: 3_000 },
    })
    const { host } = new URL(opened.body.url)
    const socket = preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    expect(String(await once(socket, "data"))).toContain("101 Switching Protocols")
    const ended = once(socket, "close")
    await world.call(company.key, "POST", `${url}/stop`)
    await world.operate("wait")
    await ended
  })

  it("is rejected if nothing listens, or if the link does not exist", async () => {
    const answerOf = (host: string) =>
      readText(preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`))
    expect(await answerOf(await preview.hostOf(5_999))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
    expect(await answerOf(`${"a".repeat(26)}.box.localhost`)).toMatch(
      /^HTTP\/1\.1 404 Not Found\r\n/,
    )
  })
})

describe("a link with too many visitors", () => {
  it("rejects more than a hundred concurrent connections, until some of them end", async () => {
    let received = 0
    const isFull = Promise.withResolvers<null>()
    const host = await linkTo((inner) => {
      inner.once("data", () => {
        received += 1
        if (received === MAX_PREVIEW_CONNECTIONS) isFull.resolve(null)
        if (received > MAX_PREVIEW_CONNECTIONS) inner.end("HTTP/1.1 204 No\r\n\r\n")
      })
    })
    const head = `GET / HTTP/1.1\r\nhost: ${host}\r\n`
    const sockets = Array.from({ length: MAX_PREVIEW_CONNECTIONS }, () =>
      preview.sendRaw(`${head}\r\n`),
    )
    await isFull.promise
    const refused = await preview.visit(host)
    expect([refused.status, refused.headers["refresh"]]).toEqual([503, "2"])
    expect(await readText(preview.sendRaw(`${head}${OFFER}\r\n`))).toMatch(/^HTTP\/1\.1 503 /)
    expect((await preview.visit(await answerWith(""))).status).toBe(502)
    for (const socket of sockets) socket.destroy()
    await expect.poll(async () => (await preview.visit(host)).status).toBe(204)
  })
})

describe("the failures above", () => {
  it("log no warning", () => {
    expect(preview.one.world.warnings).toEqual([])
  })
})
