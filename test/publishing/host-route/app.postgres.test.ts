/** Server apps behind the host route: requests, answers, upgrades and reused connections. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { waitUntilDrained, visitCount } from "../../../src/publishing/host-route/visits.ts"
import { httpSocketHandler, readText } from "../../boxes/preview-world.ts"
import { PREVIEW_COOKIE_NAME, ownPreviewSiteWorld } from "./preview-site-world.ts"

const site = await ownPreviewSiteWorld()

const running = site.runApp

/** Runs an app that answers any request with these bytes. */
const answerWith = (bytes: string) =>
  running((socket) => socket.once("data", () => socket.end(bytes, "latin1")))

describe("a request", () => {
  it("reaches the app with the preview's host name and the person, without the sign-in cookie", async () => {
    const seen = Promise.withResolvers<IncomingMessage>()
    await running(
      httpSocketHandler((request, response) => {
        seen.resolve(request)
        response.writeHead(201, { "set-cookie": ["a=1; Domain=preview.localhost"], "x-kept": "1" })
        response.end("made")
      }),
    )
    const answer = await site.see("/%zz?a=%2F", {
      method: "PATCH",
      body: "hello",
      headers: {
        cookie: `a=1; ${site.cookie}; b=2; ${PREVIEW_COOKIE_NAME}=x`,
        origin: `http://${site.host}`,
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
      host: site.host,
      origin: `http://${site.host}`,
      cookie: "a=1; b=2",
      "x-own": "2",
      "content-length": "5",
      connection: "close",
      "x-forwarded-proto": "http",
      "x-forwarded-host": site.host,
      "x-preview-person": site.company.ownerId,
    })
    expect([answer.status, answer.body]).toEqual([201, "made"])
    expect(answer.headers).toMatchObject({
      "set-cookie": ["a=1"],
      "x-kept": "1",
      "x-robots-tag": "noindex",
    })
    expect(answer.headers["x-request-id"]).toBeUndefined()
  })

  it("has no cookie header if the sign-in cookie was the only one", async () => {
    await running(
      httpSocketHandler(({ headers }, response) => response.end(JSON.stringify(headers))),
    )
    expect(JSON.parse((await site.see("/")).body)).not.toHaveProperty("cookie")
  })

  it("never reaches the API, and the sign-in pages never reach the app", async () => {
    await running(httpSocketHandler(({ url }, response) => response.end(`app ${url}`)))
    for (const path of ["/api/v1/account", "/livez", "/docs", "/metrics", "/git/x.git/info/refs"]) {
      const headers = { authorization: `Bearer ${site.company.key}` }
      expect((await site.see(path, { headers })).body).toBe(`app ${path}`)
    }
    for (const path of [
      "/.preview",
      "/.preview/",
      "/.preview/code",
      "/.preview/x",
      "/.preview?a",
    ]) {
      expect((await site.see(path)).body).not.toContain("app ")
    }
    expect((await site.see("/.previewed")).body).toBe("app /.previewed")
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
  ])("cannot set the sign-in cookie: %s", async (cookie) => {
    await answerWith(
      `HTTP/1.1 200 OK\r\nset-cookie: ${cookie}\r\nset-cookie: b=${PREVIEW_COOKIE_NAME}\r\n\r\nok`,
    )
    const { headers, body } = await site.see("/")
    expect([body, headers["set-cookie"]]).toEqual(["ok", [`b=${PREVIEW_COOKIE_NAME}`]])
    await answerWith(`HTTP/1.1 200 OK\r\nset-cookie: ${cookie}\r\n\r\nok`)
    expect((await site.see("/")).headers["set-cookie"]).toBeUndefined()
  })

  it.for([
    ["nothing", ""],
    ["something other than HTTP", "hello\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    [
      "a length and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["an invalid header", "HTTP/1.1 200 OK\r\nx y: 1\r\n\r\n"],
    ["a line feed in a header", "HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n"],
    ["endless headers", `HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1_000)}\r\n`.repeat(40)}`],
    ["an upgrade that was not requested", "HTTP/1.1 101 Yes\r\nupgrade: x\r\n\r\n"],
  ])("with %s is treated as no answer", async ([, bytes]) => {
    await answerWith(bytes ?? "")
    const { status, body, headers } = await site.see("/")
    expect([status, headers["refresh"]]).toEqual([502, "2"])
    expect(body).toContain("does not answer on its PORT")
  })

  it("is passed on once, even if the app sends several", async () => {
    await answerWith(
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok" +
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    )
    const head = `host: ${site.host}\r\ncookie: ${site.cookie}\r\n`
    const two = `GET /1 HTTP/1.1\r\n${head}\r\nGET /2 HTTP/1.1\r\n${head}connection: close\r\n\r\n`
    const answers = await readText(site.sendRaw(two))
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(answers).not.toContain("evil")
  })
})

describe("an upgraded connection", () => {
  const offer = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"
  const accept = "HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
  const head = () =>
    `GET /live HTTP/1.1\r\nhost: ${site.host}\r\ncookie: ${site.cookie}\r\n${offer}\r\n`

  it("is passed on byte for byte, without the sign-in cookie in either direction", async () => {
    const received = Promise.withResolvers<string>()
    const publishId = await running((inner) => {
      inner.once("data", (piece) => {
        received.resolve(piece.toString("latin1"))
        inner.write(`${accept}set-cookie: ${PREVIEW_COOKIE_NAME}=stolen\r\n\r\n`)
        inner.pipe(inner)
      })
    })
    const socket = site.sendRaw(head())
    const upgraded = String(await once(socket, "data"))
    expect(upgraded).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(upgraded.toLowerCase()).not.toContain("set-cookie")
    const upgradeRequest = await received.promise
    expect(upgradeRequest).toMatch(/^GET \/live HTTP\/1\.1\r\n/)
    expect(upgradeRequest).toContain(`x-preview-person: ${site.company.ownerId}\r\n`)
    expect(upgradeRequest).not.toContain(PREVIEW_COOKIE_NAME)
    socket.write("\0\x01ping")
    expect(String(await once(socket, "data"))).toBe("\0\x01ping")
    expect(visitCount(site.ports, publishId)).toBe(1)
    const over = waitUntilDrained(site.ports, publishId, new AbortController().signal)
    socket.destroy()
    await over
    expect(visitCount(site.ports, publishId)).toBe(0)
  })

  it("is rejected by a static site", async () => {
    site.publishSite({ "index.html": "home" })
    expect(await readText(site.sendRaw(head()))).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
  })

  it("is rejected if the app does not answer", async () => {
    await answerWith("")
    expect(await readText(site.sendRaw(head()))).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
  })
})

/** An app that answers with the number of the connection of each request. */
async function runCountingApp(also: (socket: Socket, n: number) => void = () => undefined) {
  const sockets: Socket[] = []
  await site.runApp((socket) => {
    const n = sockets.push(socket)
    httpSocketHandler((_request, response) => response.end(String(n)))(socket)
    also(socket, n)
  })
  return { sockets, ask: async (method = "GET") => site.see("/", { method }) }
}

it("connections are reused for GET requests, but not for other methods or requests with a body", async () => {
  const { ask } = await runCountingApp()
  const answers = []
  for (const method of ["GET", "GET", "POST", "GET"]) answers.push((await ask(method)).body)
  expect(answers).toEqual(["1", "1", "2", "1"])
  const body = await site.see("/", { body: "hello", headers: { "content-length": "5" } })
  expect(body.body).toBe("3")
})

it("a connection that the app has ended is replaced", async () => {
  const { sockets, ask } = await runCountingApp()
  expect((await ask()).body).toBe("1")
  const ended = new Promise((resolve) => sockets[0]?.once("close", resolve))
  sockets[0]?.destroy()
  await ended
  await expect.poll(async () => (await ask()).body).toBe("2")
})

it("a request on a reused connection that ends is repeated once", async () => {
  let dying = Number.NaN
  const { ask } = await runCountingApp((socket, n) => {
    // The first connection ends at its second request, later ones at any request.
    let requests = 0
    socket.prependListener("data", () => {
      requests += 1
      if ((n === 1 && requests === 2) || n >= dying) socket.destroy()
    })
  })
  expect((await ask()).body).toBe("1")
  expect(await ask()).toMatchObject({ status: 200, body: "2" })
  dying = 2
  expect((await ask()).status).toBe(502)
})

it("a connection of a replaced version is never reused", async () => {
  const former = await runCountingApp()
  expect((await former.ask()).body).toBe("1")
  const { sockets } = await runCountingApp()
  expect(sockets).toHaveLength(0)
  expect((await site.see("/")).body).toBe("1")
  expect(sockets).toHaveLength(1)
})
