/** Server apps behind the door: what passes, what each side is told, and connections that are kept. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { waitUntilDrained, visitCount } from "../../../src/publishing/host-route/visits.ts"
import { httpSocketHandler, readText } from "../../boxes/preview-world.ts"
import { PREVIEW_COOKIE_NAME, ownPreviewSiteWorld } from "./preview-site-world.ts"

const at = await ownPreviewSiteWorld()

const running = at.runApp

/** What listens and answers these bytes to whatever comes. */
const saying = (bytes: string) =>
  running((socket) => socket.once("data", () => socket.end(bytes, "latin1")))

describe("a request", () => {
  it("reaches the app by the preview's own name, with who asks, and without the house's cookie", async () => {
    const seen = Promise.withResolvers<IncomingMessage>()
    await running(
      httpSocketHandler((request, response) => {
        seen.resolve(request)
        response.writeHead(201, { "set-cookie": ["a=1; Domain=preview.localhost"], "x-kept": "1" })
        response.end("made")
      }),
    )
    const answer = await at.see("/%zz?a=%2F", {
      method: "PATCH",
      body: "hello",
      headers: {
        cookie: `a=1; ${at.cookie}; b=2; ${PREVIEW_COOKIE_NAME}=x`,
        origin: `http://${at.host}`,
        "x-preview-person": "per_forged",
        "x-preview-admin": "1",
        forwarded: "for=1.2.3.4",
        "x-forwarded-for": "1.2.3.4",
        "x-forwarded-proto": "gopher",
        "x-forwarded-host": "evil",
        connection: "close, X-Secret",
        "x-secret": "1",
        te: "trailers",
        "x-own": "2",
      },
    })
    const { method, url, headers } = await seen.promise
    expect([method, url]).toEqual(["PATCH", "/%zz?a=%2F"])
    expect(headers).toEqual({
      host: at.host,
      origin: `http://${at.host}`,
      cookie: "a=1; b=2",
      "x-own": "2",
      "content-length": "5",
      connection: "close",
      "x-forwarded-proto": "http",
      "x-forwarded-host": at.host,
      "x-preview-person": at.company.ownerId,
    })
    expect([answer.status, answer.body]).toEqual([201, "made"])
    expect(answer.headers).toMatchObject({
      "set-cookie": ["a=1"],
      "x-kept": "1",
      "x-robots-tag": "noindex",
    })
    expect(answer.headers["x-request-id"]).toBeUndefined()
  })

  it("has no cookie where the house's was the only one", async () => {
    await running(
      httpSocketHandler(({ headers }, response) => response.end(JSON.stringify(headers))),
    )
    expect(JSON.parse((await at.see("/")).body)).not.toHaveProperty("cookie")
  })

  it("is never the API's, nor are the pages of the house the app's", async () => {
    await running(httpSocketHandler(({ url }, response) => response.end(`app ${url}`)))
    for (const path of ["/api/v1/account", "/livez", "/docs", "/metrics", "/git/x.git/info/refs"]) {
      const headers = { authorization: `Bearer ${at.company.key}` }
      expect((await at.see(path, { headers })).body).toBe(`app ${path}`)
    }
    for (const path of [
      "/.preview",
      "/.preview/",
      "/.preview/code",
      "/.preview/x",
      "/.preview?a",
    ]) {
      expect((await at.see(path)).body).not.toContain("app ")
    }
    expect((await at.see("/.previewed")).body).toBe("app /.previewed")
  })
})

describe("an answer", () => {
  it.for([
    `${PREVIEW_COOKIE_NAME}=stolen; Path=/`,
    `${PREVIEW_COOKIE_NAME.toUpperCase()}=stolen`,
    ` ${PREVIEW_COOKIE_NAME} =stolen`,
    `=${PREVIEW_COOKIE_NAME}=stolen`,
    `= ${PREVIEW_COOKIE_NAME}=stolen; Secure`,
    PREVIEW_COOKIE_NAME,
  ])("sets no cookie of the house: %s", async (cookie) => {
    await saying(
      `HTTP/1.1 200 OK\r\nset-cookie: ${cookie}\r\nset-cookie: b=${PREVIEW_COOKIE_NAME}\r\n\r\nok`,
    )
    const { headers, body } = await at.see("/")
    expect([body, headers["set-cookie"]]).toEqual(["ok", [`b=${PREVIEW_COOKIE_NAME}`]])
    await saying(`HTTP/1.1 200 OK\r\nset-cookie: ${cookie}\r\n\r\nok`)
    expect((await at.see("/")).headers["set-cookie"]).toBeUndefined()
  })

  it.for([
    ["nothing", ""],
    ["no HTTP", "hello\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    [
      "a length and pieces",
      "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a header that is none", "HTTP/1.1 200 OK\r\nx y: 1\r\n\r\n"],
    ["a line feed in a header", "HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n"],
    ["headers without end", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(40)}`],
    ["a protocol that nobody asked for", "HTTP/1.1 101 Yes\r\nupgrade: x\r\n\r\n"],
  ])("of %s is none", async ([, bytes]) => {
    await saying(bytes ?? "")
    const { status, body, headers } = await at.see("/")
    expect([status, headers["refresh"]]).toEqual([502, "2"])
    expect(body).toContain("does not answer on its PORT")
  })

  it("is one, however many the app says", async () => {
    await saying(
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok" +
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    )
    const head = `host: ${at.host}\r\ncookie: ${at.cookie}\r\n`
    const two = `GET /1 HTTP/1.1\r\n${head}\r\nGET /2 HTTP/1.1\r\n${head}connection: close\r\n\r\n`
    const heard = await readText(at.sendRaw(two))
    expect(heard.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(heard).not.toContain("evil")
  })
})

describe("another protocol", () => {
  const offer = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"
  const accept = "HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
  const head = () =>
    `GET /live HTTP/1.1\r\nhost: ${at.host}\r\ncookie: ${at.cookie}\r\n${offer}\r\n`

  it("passes byte for byte, without the house's cookie either way", async () => {
    const asked = Promise.withResolvers<string>()
    const publishId = await running((inner) => {
      inner.once("data", (piece) => {
        asked.resolve(piece.toString("latin1"))
        inner.write(`${accept}set-cookie: ${PREVIEW_COOKIE_NAME}=stolen\r\n\r\n`)
        inner.pipe(inner)
      })
    })
    const socket = at.sendRaw(head())
    const agreed = String(await once(socket, "data"))
    expect(agreed).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(agreed.toLowerCase()).not.toContain("set-cookie")
    const told = await asked.promise
    expect(told).toMatch(/^GET \/live HTTP\/1\.1\r\n/)
    expect(told).toContain(`x-preview-person: ${at.company.ownerId}\r\n`)
    expect(told).not.toContain(PREVIEW_COOKIE_NAME)
    socket.write("\0\x01ping")
    expect(String(await once(socket, "data"))).toBe("\0\x01ping")
    expect(visitCount(at.ports, publishId)).toBe(1)
    const over = waitUntilDrained(at.ports, publishId, new AbortController().signal)
    socket.destroy()
    await over
    expect(visitCount(at.ports, publishId)).toBe(0)
  })

  it("is none of a static site's", async () => {
    at.publishSite({ "index.html": "home" })
    expect(await readText(at.sendRaw(head()))).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
  })

  it("is refused where the app does not answer", async () => {
    await saying("")
    expect(await readText(at.sendRaw(head()))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
  })
})

/** An app whose connections are counted; it answers with the number of the one it was asked over. */
async function counted(also: (socket: Socket, n: number) => void = () => undefined) {
  const sockets: Socket[] = []
  await at.runApp((socket) => {
    const n = sockets.push(socket)
    httpSocketHandler((_request, response) => response.end(String(n)))(socket)
    also(socket, n)
  })
  return { sockets, ask: async (method = "GET") => at.see("/", { method }) }
}

it("are of the next page, and never of what does something or has a body", async () => {
  const { ask } = await counted()
  const asked = []
  for (const method of ["GET", "GET", "POST", "GET"]) asked.push((await ask(method)).body)
  expect(asked).toEqual(["1", "1", "2", "1"])
  const body = await at.see("/", { body: "hello", headers: { "content-length": "5" } })
  expect(body.body).toBe("3")
})

it("are another's once the app has ended them", async () => {
  const { sockets, ask } = await counted()
  expect((await ask()).body).toBe("1")
  const ended = new Promise((resolve) => sockets[0]?.once("close", resolve))
  sockets[0]?.destroy()
  await ended
  await expect.poll(async () => (await ask()).body).toBe("2")
})

it("that end as they are asked are asked again, once", async () => {
  let dying = Number.NaN
  const { ask } = await counted((socket, n) => {
    // Every second question over one, and any over those behind it.
    let questions = 0
    socket.prependListener("data", () => {
      questions += 1
      if ((n === 1 && questions === 2) || n >= dying) socket.destroy()
    })
  })
  expect((await ask()).body).toBe("1")
  expect(await ask()).toMatchObject({ status: 200, body: "2" })
  dying = 2
  expect((await ask()).status).toBe(502)
})

it("are never of a version that another took the place of", async () => {
  const former = await counted()
  expect((await former.ask()).body).toBe("1")
  const { sockets } = await counted()
  expect(sockets).toHaveLength(0)
  expect((await at.see("/")).body).toBe("1")
  expect(sockets).toHaveLength(1)
})
