/** Links whose sides fail, leave or say something else than HTTP: nothing of it reaches anybody else. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { MAX_PREVIEW_CONNECTIONS } from "../../src/boxes/preview-connections.ts"
import { BOXES_PATH, makeBoxCompany, startBoxAndWait } from "./box-world.ts"
import { httpSocketHandler, ownPreviewWorld, readText } from "./preview-world.ts"

const at = await ownPreviewWorld()

let last = 6_000
/** A port of its own where this listens; with the link to it. */
async function linkTo(handle: (socket: Socket) => void): Promise<string> {
  last += 1
  // A box has no more than ten at once.
  await at.one.world.call(
    at.company.key,
    "DELETE",
    `${BOXES_PATH}/${at.boxId}/previews/${last - 5}`,
  )
  await at.listen(last, handle)
  return at.hostOf(last)
}

/** What listens and answers these bytes to whatever comes. */
const saying = (bytes: string) =>
  linkTo((socket) => socket.once("data", () => socket.end(bytes, "latin1")))

describe("a box that answers", () => {
  it.for([
    ["nothing", ""],
    ["no HTTP", "hello\n"],
    ["half a head", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["a status that is none", "HTTP/1.1 007 OK\r\n\r\n"],
    ["a protocol that nobody asked for", "HTTP/1.1 101 Yes\r\nupgrade: x\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    ["a header that is none", "HTTP/1.1 200 OK\r\nx y: 1\r\n\r\n"],
    ...["\0", "\x01", "\x7f"].map((byte) => [
      `a header with ${JSON.stringify(byte)}`,
      `HTTP/1.1 200 OK\r\nx: a${byte}b\r\n\r\n`,
    ]),
    ["headers without end", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(40)}`],
  ])("%s is shown as one that does not", async ([, bytes]) => {
    const answer = await at.visit(await saying(bytes ?? ""))
    expect([answer.status, answer.headers["refresh"]]).toEqual([502, "2"])
  })

  it("a phrase that cannot be said, or bytes in a header, is heard", async () => {
    const host = await saying("HTTP/1.1 200 \x01\x7f\r\nx-name: J\xfcrg\r\n\r\nhello")
    const { status, headers, body } = await at.visit(host)
    expect([status, headers["x-name"], body]).toEqual([200, "J\xfcrg", "hello"])
  })

  it.for([
    ["less than it said", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"],
    [
      "pieces that are none",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
    ],
    ["no last piece", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
  ])("%s is not taken for whole", async ([, bytes]) => {
    const asked = at.begin(await saying(bytes ?? ""))
    asked.end()
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    await expect(readText(answer)).rejects.toThrow("aborted")
  })

  it("before it has read all is heard, and hangs up on the rest", async () => {
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
    const asked = at.begin(refused, { method: "POST" })
    const answered = once(asked, "response") as Promise<[IncomingMessage]>
    asked.on("error", () => undefined)
    asked.write(body)
    const [answer] = await answered
    expect([answer.statusCode, await readText(answer)]).toEqual([413, "much"])
    asked.end(body)
    // One that resets may be heard or not: it ends in any case.
    const reset = at.begin(host, { method: "POST" })
    reset.end(body)
    const ended = Promise.withResolvers<unknown>()
    reset.on("response", (torn) => torn.resume().on("close", ended.resolve))
    reset.on("error", ended.resolve)
    await ended.promise
  })

  it("a visitor whose next request comes on the same connection is answered that, too", async () => {
    const host = await linkTo(
      httpSocketHandler((_request, response) => response.writeHead(401).end("no")),
    )
    const head = `host: ${host}\r\n`
    const socket = at.say(
      `POST / HTTP/1.1\r\n${head}content-length: 100000\r\n\r\n${"x".repeat(100_000)}` +
        `GET / HTTP/1.1\r\n${head}connection: close\r\n\r\n`,
    )
    const heard = await readText(socket)
    expect(heard.match(/HTTP\/1\.1 401 Unauthorized/g)).toHaveLength(2)
  })
})

describe("a visitor who leaves", () => {
  it("in the middle of an answer ends it in the box", async () => {
    const gone = Promise.withResolvers<unknown>()
    const host = await linkTo(
      httpSocketHandler((_request, response) => {
        response.on("close", () => gone.resolve(response.writableFinished))
        response.write("one")
      }),
    )
    const asked = at.begin(host)
    asked.end()
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    await once(answer, "data")
    answer.on("error", () => undefined)
    asked.destroy()
    expect(await gone.promise).toBe(false)
  })

  it("in the middle of what they send, or before it is answered, too", async () => {
    for (const begun of ["POST / HTTP/1.1\r\ncontent-length: 9\r\n", "GET / HTTP/1.1\r\n"]) {
      const came = Promise.withResolvers<unknown>()
      const gone = Promise.withResolvers<unknown>()
      const host = await linkTo((inner) => {
        inner.once("data", came.resolve)
        inner.on("close", gone.resolve)
      })
      const socket = at.say(`${begun}host: ${host}\r\n\r\n`)
      await came.promise
      socket.resetAndDestroy()
      // Reset or ended: whether with an error is the box's affair.
      expect(typeof (await gone.promise)).toBe("boolean")
    }
  })

  it("while their connection is made leaves none behind", async () => {
    const { boxHost } = at.one.world.ports
    const asks = ["", "connection: upgrade\r\nupgrade: x\r\n"]
    for (const more of asks) {
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
      const server = once(at.one.world.app.server, "connection") as Promise<[Socket]>
      const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${more}\r\n`)
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
/** The same as visitors hear it: in the house's own words. */
const AGREED =
  "HTTP/1.1 101 Switching Protocols\r\nreferrer-policy: no-referrer\r\nx-robots-tag: noindex\r\n" +
  "connection: Upgrade\r\nupgrade: websocket\r\n\r\n"

describe("a connection that speaks another protocol", () => {
  it("is passed on byte for byte, by the name that the box knows itself by", async () => {
    const asked = Promise.withResolvers<string>()
    const host = await linkTo((inner) => {
      inner.once("data", (piece) => {
        asked.resolve(piece.toString("latin1"))
        inner.write(ACCEPT)
        inner.pipe(inner)
      })
    })
    const socket = at.say(
      `GET /hot?a=b HTTP/1.1\r\nhost: ${host}\r\norigin: http://${host}\r\n${OFFER}x-n: J\u00fcrg\r\n\r\n`,
    )
    expect(String(await once(socket, "data"))).toBe(AGREED)
    const fields = (await asked.promise).split("\r\n")
    expect(fields[0]).toBe("GET /hot?a=b HTTP/1.1")
    expect(fields).toEqual(
      expect.arrayContaining([
        `host: localhost:${last}`,
        `origin: http://localhost:${last}`,
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

  it("hears all that the box said last, and ends with it", async () => {
    const said = "bye".repeat(500_000)
    const host = await linkTo((inner) => inner.once("data", () => inner.end(ACCEPT + said)))
    const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    expect(await readText(socket)).toBe(AGREED + said)
  })

  it("is answered as any other where the box does not agree to it, and says no cookie for others", async () => {
    const cookies = "set-cookie: a=1; Domain=box.localhost; Path=/\r\n"
    const no = `HTTP/1.1 426 \x01No\r\n${cookies}transfer-encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n`
    const refused = `GET / HTTP/1.1\r\nhost: ${await saying(no)}\r\n${OFFER}\r\n`
    expect(await readText(at.say(refused))).toBe(
      "HTTP/1.1 426 Upgrade Required\r\nset-cookie: a=1; Path=/\r\nreferrer-policy: no-referrer\r\n" +
        "x-robots-tag: noindex\r\nconnection: close\r\n\r\nno",
    )
    const mute = `GET / HTTP/1.1\r\nhost: ${await saying("")}\r\n${OFFER}\r\n`
    expect(await readText(at.say(mute))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
  })

  it("ends in the box where the visitor leaves", async () => {
    const gone = Promise.withResolvers<unknown>()
    const host = await linkTo((inner) => {
      inner.on("close", gone.resolve)
      inner.once("data", () => inner.write(ACCEPT))
    })
    const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    await once(socket, "data")
    socket.resetAndDestroy()
    expect(typeof (await gone.promise)).toBe("boolean")
  })

  it("ends where its box stops, as an answer does that goes on", async () => {
    const company = await makeBoxCompany(at.one)
    const { world } = at.one
    const boxId = await startBoxAndWait(world, company)
    const url = `${BOXES_PATH}/${boxId}`
    const body = { command: "serve 3000" }
    await world.call(company.key, "POST", `${url}/processes`, { body })
    const opened = await world.call(company.key, "POST", `${url}/previews`, {
      body: { port: 3_000 },
    })
    const { host } = new URL(opened.body.url)
    const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
    expect(String(await once(socket, "data"))).toContain("101 Switching Protocols")
    const ended = once(socket, "close")
    await world.call(company.key, "POST", `${url}/stop`)
    await world.operate("wait")
    await ended
  })

  it("is refused where nothing listens, and where the link is none", async () => {
    const asked = (host: string) =>
      readText(at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`))
    expect(await asked(await at.hostOf(5_999))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
    expect(await asked(`${"a".repeat(26)}.box.localhost`)).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
  })
})

describe("a link that too many visit", () => {
  it("is refused to more than a hundred at once, and open again once they leave", async () => {
    let came = 0
    const all = Promise.withResolvers<null>()
    const host = await linkTo((inner) => {
      inner.once("data", () => {
        came += 1
        if (came === MAX_PREVIEW_CONNECTIONS) all.resolve(null)
        if (came > MAX_PREVIEW_CONNECTIONS) inner.end("HTTP/1.1 204 No\r\n\r\n")
      })
    })
    const head = `GET / HTTP/1.1\r\nhost: ${host}\r\n`
    const sockets = Array.from({ length: MAX_PREVIEW_CONNECTIONS }, () => at.say(`${head}\r\n`))
    await all.promise
    const refused = await at.visit(host)
    expect([refused.status, refused.headers["refresh"]]).toEqual([503, "2"])
    expect(await readText(at.say(`${head}${OFFER}\r\n`))).toMatch(/^HTTP\/1\.1 503 /)
    expect((await at.visit(await saying(""))).status).toBe(502)
    for (const socket of sockets) socket.destroy()
    await expect.poll(async () => (await at.visit(host)).status).toBe(204)
  })
})

describe("whatever a box or a visitor does", () => {
  it("is no fault of the house, and warns nobody", () => {
    expect(at.one.world.warnings).toEqual([])
  })
})
