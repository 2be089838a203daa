/** Links to ports of a box: opening, visiting and closing them, and connections that stay open. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { describe, expect, it } from "vitest"
import { SIMULATED_PAGE_TITLE } from "../../adapters/sandbox/boxhost/simulated-box.ts"
import { MAX_BOX_PREVIEWS } from "../../domain/boxes/box-commands.ts"
import { advance } from "../support/world.ts"
import { BOXES_PATH, makeBoxCompany, startBoxAndWait, getBox } from "./box-world.ts"
import type { PreviewWorld } from "./preview-world.ts"
import { httpSocketHandler, ownPreviewWorld, readText } from "./preview-world.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { Company } from "../support/world.ts"

const preview = await ownPreviewWorld()
const PAGE = `<!doctype html>\n<title>${SIMULATED_PAGE_TITLE}</title>\n<p>0 bytes were sent</p>\n`

const startProcess = (command: string, boxId = preview.boxId, { key } = preview.company) =>
  preview.one.world.call(key, "POST", `${BOXES_PATH}/${boxId}/processes`, { body: { command } })
const closeLink = (port: number, boxId = preview.boxId) =>
  preview.one.world.call(preview.company.key, "DELETE", `${BOXES_PATH}/${boxId}/previews/${port}`)

describe("a link", () => {
  it("has an unguessable host name, and shows the page of its port", async () => {
    await startProcess("serve 3000")
    const { status, body } = await preview.openLink(3_000)
    expect([status, body.port]).toEqual([200, 3_000])
    expect(body.url).toMatch(/^http:\/\/[a-z2-7]{26}\.box\.localhost\/$/)
    expect((await getBox(preview.one.world, preview.company, preview.boxId)).previews).toEqual([
      body,
    ])
    const { host } = new URL(body.url)
    const page = await preview.visit(host, { path: "/any/where?a=b" })
    expect([page.status, page.body]).toEqual([200, PAGE])
    expect((await preview.visit(`${host.toUpperCase()}:8080`)).status).toBe(200)
    const posted = await preview.visit(host, { method: "POST", body: Buffer.alloc(3_000_000) })
    expect(posted.body).toContain("<p>3000000 bytes were sent</p>")
  })

  it("stays the same for a port until it is closed", async () => {
    const first = await preview.hostOf(3_100)
    expect(await preview.hostOf(3_100)).toBe(first)
    expect((await preview.visit(first)).status).toBe(502)
    expect(await closeLink(3_100)).toMatchObject({ status: 200, body: { ok: true } })
    expect((await preview.visit(first)).status).toBe(404)
    expect((await closeLink(3_100)).status).toBe(404)
    expect(await preview.hostOf(3_100)).not.toBe(first)
    expect((await preview.visit(first)).status).toBe(404)
  })

  it("shows a page that reloads while nothing listens, and another if the link does not exist", async () => {
    const waiting = await preview.visit(await preview.hostOf(3_200))
    expect(waiting.status).toBe(502)
    expect(waiting.headers).toMatchObject({
      refresh: "2",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
      "content-type": "text/html; charset=utf-8",
    })
    expect(waiting.body).toContain("No program in the box listens on this port.")
    const others = [`${"a".repeat(26)}.box.localhost`, "box.localhost", "x.y.box.localhost"]
    for (const host of others) {
      const missing = await preview.visit(host, { path: "/api/v1/account" })
      expect([host, missing.status, missing.headers["refresh"]]).toEqual([host, 404, undefined])
      expect(missing.headers).toMatchObject({ "cache-control": "no-store" })
      expect(missing.body).toContain("This link is closed, or it never existed.")
    }
  })

  it("is rejected for an invalid port, and beyond the limit of a box", async () => {
    for (const port of [80, 65_536, 3_000.5, "3000"]) {
      expect((await preview.openLink(port as number)).status, String(port)).toBe(400)
    }
    const boxId = await startBoxAndWait(preview.one.world, preview.company)
    const ports = Array.from({ length: MAX_BOX_PREVIEWS }, (_, i) => 4_000 + i)
    for (const port of ports) expect((await preview.openLink(port, boxId)).status).toBe(200)
    expect(await preview.openLink(5_000, boxId)).toMatchObject({
      status: 409,
      body: { error: "conflict" },
    })
    expect((await preview.openLink(4_000, boxId)).status).toBe(200)
    await closeLink(4_000, boxId)
    expect((await preview.openLink(5_000, boxId)).status).toBe(200)
    await preview.one.world.call(preview.company.key, "DELETE", `${BOXES_PATH}/${boxId}`)
    await preview.one.world.operate("wait")
  })

  it("ends with its box", async () => {
    const boxId = await startBoxAndWait(preview.one.world, preview.company)
    await startProcess("serve 3000", boxId)
    const { host } = new URL((await preview.openLink(3_000, boxId)).body.url)
    expect((await preview.visit(host)).status).toBe(200)
    await preview.one.world.call(preview.company.key, "POST", `${BOXES_PATH}/${boxId}/stop`)
    expect((await preview.visit(host)).status).toBe(404)
    expect((await getBox(preview.one.world, preview.company, boxId)).previews).toEqual([])
    expect(await preview.openLink(3_000, boxId)).toMatchObject({ body: { error: "box_stopped" } })
  })
})

describe("a request through a link", () => {
  it("reaches the box with localhost as host name, without hop-by-hop headers", async () => {
    const seen = Promise.withResolvers<IncomingMessage>()
    await preview.listen(
      3_300,
      httpSocketHandler((request, response) => {
        seen.resolve(request)
        response.writeHead(418, "Kettle", {
          connection: "X-Inner, close",
          "x-inner": "1",
          "keep-alive": "timeout=5",
          "set-cookie": ["a=1", "b=2"],
          "x-kept": "2",
          "content-security-policy": "img-src *",
        })
        response.end("tea")
      }),
    )
    const host = await preview.hostOf(3_300)
    const answer = await preview.visit(host, {
      method: "PATCH",
      path: "/a%20b?c=%2F",
      body: "hello",
      headers: {
        connection: "close, X-Secret",
        "x-secret": "1",
        te: "trailers",
        "x-own": "2",
        origin: `http://${host}`,
        cookie: "c=3",
        "proxy-authorization": "Basic YTpi",
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-proto": "https",
        authorization: "B x",
      },
    })
    const { method, url, headers } = await seen.promise
    expect([method, url]).toEqual(["PATCH", "/a%20b?c=%2F"])
    expect(headers).toEqual({
      host: "localhost:3300",
      origin: "http://localhost:3300",
      cookie: "c=3",
      "x-own": "2",
      authorization: "B x",
      connection: "close",
      "content-length": "5",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": host,
      "x-forwarded-proto": "https",
    })
    expect([answer.status, answer.body]).toEqual([418, "tea"])
    expect(answer.headers).toEqual({
      date: expect.any(String) as string,
      connection: "close",
      "x-kept": "2",
      "set-cookie": ["a=1", "b=2"],
      "content-security-policy": "img-src *",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
      "transfer-encoding": "chunked",
    })
  })

  it("keeps a foreign origin, and has http as protocol by default", async () => {
    const host = await preview.hostOf(3_301)
    await preview.listen(
      3_301,
      httpSocketHandler(({ headers }, response) => {
        response.end(JSON.stringify([headers.origin, headers["x-forwarded-proto"]]))
      }),
    )
    const headers = { origin: "https://other.test", "x-forwarded-proto": "gopher" }
    expect((await preview.visit(host, { headers })).body).toBe('["https://other.test","http"]')
  })

  it.for(["GET", "DELETE", "POST"])("may have a chunked body: %s", async (method) => {
    const host = await preview.hostOf(3_302)
    await preview.listen(
      3_302,
      httpSocketHandler((request, response) => {
        void readText(request).then((text) => response.end(`${request.method} ${text}`))
      }),
    )
    const headers = { "transfer-encoding": "chunked" }
    const outgoing = preview.startRequest(host, { method, headers })
    outgoing.write("one ")
    outgoing.end("two")
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    expect(await readText(answer)).toBe(`${method} one two`)
  })

  it("is streamed in both directions", async () => {
    const host = await preview.hostOf(3_303)
    await preview.listen(
      3_303,
      httpSocketHandler((request, response) => void request.pipe(response)),
    )
    const outgoing = preview.startRequest(host, { method: "POST" })
    const answered = once(outgoing, "response")
    for (const text of ["one", "two", "three"]) {
      outgoing.write(text)
      const [answer] = (await answered) as [IncomingMessage]
      const [piece] = (await once(answer, "data")) as [Buffer]
      expect(piece.toString()).toBe(text)
    }
    outgoing.end()
    const [answer] = (await answered) as [IncomingMessage]
    await once(answer, "end")
  })

  it("gets cookies without their domain", async () => {
    const host = await preview.hostOf(3_305)
    const cookies = {
      "a=1; Domain=box.localhost; Secure": "a=1; Secure",
      "a=1;domain = .localhost": "a=1",
      "a=domain=x; DOMAIN; Path=/domain": "a=domain=x; Path=/domain",
    }
    await preview.listen(
      3_305,
      httpSocketHandler((_request, response) =>
        response.writeHead(200, { "set-cookie": Object.keys(cookies) }).end(),
      ),
    )
    expect((await preview.visit(host)).headers["set-cookie"]).toEqual(Object.values(cookies))
  })

  it("gets a body or none, depending on the method and status", async () => {
    const host = await preview.hostOf(3_304)
    await preview.listen(
      3_304,
      httpSocketHandler(({ url = "" }, response: ServerResponse) => {
        response.writeHead(Number(url.slice(1)), { "content-length": url === "/200" ? 5 : 0 })
        response.end(url === "/200" ? "hello" : "")
      }),
    )
    const head = await preview.visit(host, { method: "HEAD", path: "/200" })
    expect([head.status, head.headers["content-length"], head.body]).toEqual([200, "5", ""])
    expect((await preview.visit(host, { path: "/200" })).body).toBe("hello")
    for (const path of ["/204", "/304", "/500"]) {
      expect((await preview.visit(host, { path })).status).toBe(Number(path.slice(1)))
    }
  })
})

describe("the API", () => {
  it("is never served by a link, nor a link by the API's host name", async () => {
    const host = await preview.hostOf(3_000)
    const headers = { authorization: `Bearer ${preview.company.key}` }
    for (const path of ["/api/v1/account", "/livez", "/docs", "/metrics"]) {
      const page = await preview.visit(host, { path, headers })
      expect([path, page.body]).toEqual([path, expect.stringContaining(PAGE)])
      expect(page.headers["x-request-id"]).toBeUndefined()
    }
    for (const forged of [{ "x-forwarded-host": host }, { forwarded: `host=${host}` }]) {
      expect((await preview.visit("ledger.test", { path: "/livez", headers: forged })).body).toBe(
        "ok\n",
      )
    }
  })

  it("records one visit of a link per minute, without a key", async () => {
    const company = await makeBoxCompany(preview.one)
    const { world } = preview.one
    const boxId = await startBoxAndWait(world, company)
    await startProcess("serve 3000", boxId, company)
    const open = { body: { port: 3_000 } }
    const { body } = await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/previews`, open)
    const { host } = new URL(body.url)
    const read = async () => {
      const { events } = (await world.call(company.key, "GET", `${BOXES_PATH}/${boxId}/events`))
        .body
      return events.filter(({ action }: { action: string }) => action === "preview")
    }
    await preview.visit(host)
    await Promise.all([preview.visit(host), preview.visit(host)])
    expect(await read()).toMatchObject([{ detail: "3000", result: "opened", apiKeyId: null }])
    await advance(world, "59s")
    await preview.visit(host)
    expect(await read()).toHaveLength(1)
    await advance(world, "1s")
    await preview.visit(host)
    expect(await read()).toHaveLength(2)
  })
})

const OFFER = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"

/** Starts a box that serves port 3000; returns the host name of a link to it. */
async function startServingBox(company: Company, options: object = {}) {
  const { world } = preview.one
  const boxId = await startBoxAndWait(world, company, options)
  const url = `${BOXES_PATH}/${boxId}`
  await world.call(company.key, "POST", `${url}/processes`, { body: { command: "serve 3000" } })
  const opened = await world.call(company.key, "POST", `${url}/previews`, { body: { port: 3_000 } })
  return { boxId, host: new URL(opened.body.url).host }
}

async function openUpgraded(host: string) {
  const socket = preview.sendRaw(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
  expect(String(await once(socket, "data"))).toContain("101 Switching Protocols")
  return socket
}

const expectEcho = async (socket: ReturnType<PreviewWorld["sendRaw"]>, text: string) => {
  socket.write(text)
  expect(String(await once(socket, "data"))).toBe(text)
}

it("connections end when their link is closed, and those of other links continue", async () => {
  const { world } = preview.one
  const company = await makeBoxCompany(preview.one)
  const { boxId, host } = await startServingBox(company)
  const socket = await openUpgraded(host)
  const other = await openUpgraded((await startServingBox(company)).host)
  await preview.listen(
    7_001,
    httpSocketHandler((_request, response) => void response.write("half")),
  )
  const outgoing = preview.startRequest(await preview.hostOf(7_001))
  outgoing.end()
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  const torn = expect(readText(answer)).rejects.toThrow("aborted")
  const ended = once(socket, "close")
  await world.call(company.key, "DELETE", `${BOXES_PATH}/${boxId}/previews/3000`)
  await world.call(preview.company.key, "DELETE", `${BOXES_PATH}/${preview.boxId}/previews/7001`)
  await ended
  await torn
  await expectEcho(other, "well")
  other.destroy()
})

it("connections keep their box running only while data passes", async () => {
  const { world } = preview.one
  const company = await makeBoxCompany(preview.one)
  const [used, unused] = [
    await startServingBox(company, { idleMinutes: 5 }),
    await startServingBox(company, { idleMinutes: 5 }),
  ]
  const socket = await openUpgraded(used.host)
  await openUpgraded(unused.host)
  for (let minute = 0; minute < 8; minute += 1) {
    await expectEcho(socket, `minute ${minute}`)
    await advance(world, "61s")
  }
  const status = async (boxId: BoxId) => (await getBox(world, company, boxId)).status
  expect([await status(used.boxId), await status(unused.boxId)]).toEqual(["running", "stopped"])
  // Data that passes is in the box's activity, once a minute.
  const visitCount = async () => {
    const url = `${BOXES_PATH}/${used.boxId}/events`
    const { events } = (await world.call(company.key, "GET", url)).body
    return events.filter(({ action }: { action: string }) => action === "preview").length
  }
  const before = await visitCount()
  await advance(world, "61s")
  await expectEcho(socket, "more")
  await expect.poll(visitCount).toBeGreaterThan(before)
  socket.destroy()
})

it("redirects of the box to its own port lead to the link, and others stay unchanged", async () => {
  const host = await preview.hostOf(7_002)
  const redirects = {
    "http://localhost:7002/a?b#c": "/a?b#c",
    "https://127.0.0.1:7002": "/",
    "http://[::1]:7002?x": "/?x",
    "http://localhost:7003/a": "http://localhost:7003/a",
    "http://localhost:7002.evil.test/": "http://localhost:7002.evil.test/",
    "http://localhost:7002//evil.test": "http://localhost:7002//evil.test",
    "/a": "/a",
  }
  await preview.listen(
    7_002,
    httpSocketHandler(({ url = "" }, response) =>
      response.writeHead(302, { location: decodeURIComponent(url.slice(2)) }).end(),
    ),
  )
  for (const [given, shown] of Object.entries(redirects)) {
    const { headers } = await preview.visit(host, { path: `/?${encodeURIComponent(given)}` })
    expect([given, headers.location]).toEqual([given, shown])
  }
})
