/** Links to what listens in a box: opened, visited and closed, over a server that listens; and connections that stay open. */
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

const at = await ownPreviewWorld()
const PAGE = `<!doctype html>\n<title>${SIMULATED_PAGE_TITLE}</title>\n<p>0 bytes were sent</p>\n`

const begun = (command: string, boxId = at.boxId, { key } = at.company) =>
  at.one.world.call(key, "POST", `${BOXES_PATH}/${boxId}/processes`, { body: { command } })
const closed = (port: number, boxId = at.boxId) =>
  at.one.world.call(at.company.key, "DELETE", `${BOXES_PATH}/${boxId}/previews/${port}`)

describe("a link", () => {
  it("opens a port by a name that nobody guesses, and shows its page", async () => {
    await begun("serve 3000")
    const { status, body } = await at.opened(3_000)
    expect([status, body.port]).toEqual([200, 3_000])
    expect(body.url).toMatch(/^http:\/\/[a-z2-7]{26}\.box\.localhost\/$/)
    expect((await getBox(at.one.world, at.company, at.boxId)).previews).toEqual([body])
    const { host } = new URL(body.url)
    const page = await at.visit(host, { path: "/any/where?a=b" })
    expect([page.status, page.body]).toEqual([200, PAGE])
    expect((await at.visit(`${host.toUpperCase()}:8080`)).status).toBe(200)
    const posted = await at.visit(host, { method: "POST", body: Buffer.alloc(3_000_000) })
    expect(posted.body).toContain("<p>3000000 bytes were sent</p>")
  })

  it("is the same for the same port, and another one once it was closed", async () => {
    const first = await at.hostOf(3_100)
    expect(await at.hostOf(3_100)).toBe(first)
    expect((await at.visit(first)).status).toBe(502)
    expect(await closed(3_100)).toMatchObject({ status: 200, body: { ok: true } })
    expect((await at.visit(first)).status).toBe(404)
    expect((await closed(3_100)).status).toBe(404)
    expect(await at.hostOf(3_100)).not.toBe(first)
    expect((await at.visit(first)).status).toBe(404)
  })

  it("says that nothing listens yet, and looks again; or that it is none", async () => {
    const waiting = await at.visit(await at.hostOf(3_200))
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
      const none = await at.visit(host, { path: "/api/v1/account" })
      expect([host, none.status, none.headers["refresh"]]).toEqual([host, 404, undefined])
      expect(none.headers).toMatchObject({ "cache-control": "no-store" })
      expect(none.body).toContain("This link is closed, or it never existed.")
    }
  })

  it("is refused for a port that is none, and where there are as many as can be", async () => {
    for (const port of [80, 65_536, 3_000.5, "3000"]) {
      expect((await at.opened(port as number)).status, String(port)).toBe(400)
    }
    const boxId = await startBoxAndWait(at.one.world, at.company)
    const ports = Array.from({ length: MAX_BOX_PREVIEWS }, (_, i) => 4_000 + i)
    for (const port of ports) expect((await at.opened(port, boxId)).status).toBe(200)
    expect(await at.opened(5_000, boxId)).toMatchObject({
      status: 409,
      body: { error: "conflict" },
    })
    expect((await at.opened(4_000, boxId)).status).toBe(200)
    await closed(4_000, boxId)
    expect((await at.opened(5_000, boxId)).status).toBe(200)
    await at.one.world.call(at.company.key, "DELETE", `${BOXES_PATH}/${boxId}`)
    await at.one.world.operate("wait")
  })

  it("ends with its box", async () => {
    const boxId = await startBoxAndWait(at.one.world, at.company)
    await begun("serve 3000", boxId)
    const { host } = new URL((await at.opened(3_000, boxId)).body.url)
    expect((await at.visit(host)).status).toBe(200)
    await at.one.world.call(at.company.key, "POST", `${BOXES_PATH}/${boxId}/stop`)
    expect((await at.visit(host)).status).toBe(404)
    expect((await getBox(at.one.world, at.company, boxId)).previews).toEqual([])
    expect(await at.opened(3_000, boxId)).toMatchObject({ body: { error: "box_stopped" } })
  })
})

describe("what passes by a link", () => {
  it("reaches the box under its own name, without what ends at this hop", async () => {
    const seen = Promise.withResolvers<IncomingMessage>()
    await at.listen(
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
    const host = await at.hostOf(3_300)
    const answer = await at.visit(host, {
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

  it("keeps a foreign origin, and says http where nobody said otherwise", async () => {
    const host = await at.hostOf(3_301)
    await at.listen(
      3_301,
      httpSocketHandler(({ headers }, response) => {
        response.end(JSON.stringify([headers.origin, headers["x-forwarded-proto"]]))
      }),
    )
    const headers = { origin: "https://other.test", "x-forwarded-proto": "gopher" }
    expect((await at.visit(host, { headers })).body).toBe('["https://other.test","http"]')
  })

  it.for(["GET", "DELETE", "POST"])("is whole in pieces, too: %s", async (method) => {
    const host = await at.hostOf(3_302)
    await at.listen(
      3_302,
      httpSocketHandler((request, response) => {
        void readText(request).then((text) => response.end(`${request.method} ${text}`))
      }),
    )
    const asked = at.begin(host, { method, headers: { "transfer-encoding": "chunked" } })
    asked.write("one ")
    asked.end("two")
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    expect(await readText(answer)).toBe(`${method} one two`)
  })

  it("is seen as it comes, both ways", async () => {
    const host = await at.hostOf(3_303)
    await at.listen(
      3_303,
      httpSocketHandler((request, response) => void request.pipe(response)),
    )
    const asked = at.begin(host, { method: "POST" })
    const answered = once(asked, "response")
    for (const text of ["one", "two", "three"]) {
      asked.write(text)
      const [answer] = (await answered) as [IncomingMessage]
      const [piece] = (await once(answer, "data")) as [Buffer]
      expect(piece.toString()).toBe(text)
    }
    asked.end()
    const [answer] = (await answered) as [IncomingMessage]
    await once(answer, "end")
  })

  it("keeps a cookie for others to itself", async () => {
    const host = await at.hostOf(3_305)
    const own = {
      "a=1; Domain=box.localhost; Secure": "a=1; Secure",
      "a=1;domain = .localhost": "a=1",
      "a=domain=x; DOMAIN; Path=/domain": "a=domain=x; Path=/domain",
    }
    await at.listen(
      3_305,
      httpSocketHandler((_request, response) =>
        response.writeHead(200, { "set-cookie": Object.keys(own) }).end(),
      ),
    )
    expect((await at.visit(host)).headers["set-cookie"]).toEqual(Object.values(own))
  })

  it("has a body or none, as what listens says", async () => {
    const host = await at.hostOf(3_304)
    await at.listen(
      3_304,
      httpSocketHandler(({ url = "" }, response: ServerResponse) => {
        response.writeHead(Number(url.slice(1)), { "content-length": url === "/200" ? 5 : 0 })
        response.end(url === "/200" ? "hello" : "")
      }),
    )
    const head = await at.visit(host, { method: "HEAD", path: "/200" })
    expect([head.status, head.headers["content-length"], head.body]).toEqual([200, "5", ""])
    expect((await at.visit(host, { path: "/200" })).body).toBe("hello")
    for (const path of ["/204", "/304", "/500"]) {
      expect((await at.visit(host, { path })).status).toBe(Number(path.slice(1)))
    }
  })
})

describe("the API", () => {
  it("is never served by a link, nor a link by its name", async () => {
    const host = await at.hostOf(3_000)
    const headers = { authorization: `Bearer ${at.company.key}` }
    for (const path of ["/api/v1/account", "/livez", "/docs", "/metrics"]) {
      const page = await at.visit(host, { path, headers })
      expect([path, page.body]).toEqual([path, expect.stringContaining(PAGE)])
      expect(page.headers["x-request-id"]).toBeUndefined()
    }
    for (const forged of [{ "x-forwarded-host": host }, { forwarded: `host=${host}` }]) {
      expect((await at.visit("ledger.test", { path: "/livez", headers: forged })).body).toBe("ok\n")
    }
  })

  it("writes one visit of a link down a minute, as nobody's", async () => {
    const company = await makeBoxCompany(at.one)
    const { world } = at.one
    const boxId = await startBoxAndWait(world, company)
    await begun("serve 3000", boxId, company)
    const open = { body: { port: 3_000 } }
    const { body } = await world.call(company.key, "POST", `${BOXES_PATH}/${boxId}/previews`, open)
    const { host } = new URL(body.url)
    const read = async () => {
      const { events } = (await world.call(company.key, "GET", `${BOXES_PATH}/${boxId}/events`))
        .body
      return events.filter(({ action }: { action: string }) => action === "preview")
    }
    await at.visit(host)
    await Promise.all([at.visit(host), at.visit(host)])
    expect(await read()).toMatchObject([{ detail: "3000", result: "opened", apiKeyId: null }])
    await advance(world, "59s")
    await at.visit(host)
    expect(await read()).toHaveLength(1)
    await advance(world, "1s")
    await at.visit(host)
    expect(await read()).toHaveLength(2)
  })
})

const OFFER = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"

/** A box that serves port 3000, and the host name of a link to it. */
async function serving(company: Company, asked: object = {}) {
  const { world } = at.one
  const boxId = await startBoxAndWait(world, company, asked)
  const url = `${BOXES_PATH}/${boxId}`
  await world.call(company.key, "POST", `${url}/processes`, { body: { command: "serve 3000" } })
  const opened = await world.call(company.key, "POST", `${url}/previews`, { body: { port: 3_000 } })
  return { boxId, host: new URL(opened.body.url).host }
}

/** A connection that speaks another protocol by now. */
async function upgraded(host: string) {
  const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
  expect(String(await once(socket, "data"))).toContain("101 Switching Protocols")
  return socket
}

const echoed = async (socket: ReturnType<PreviewWorld["say"]>, text: string) => {
  socket.write(text)
  expect(String(await once(socket, "data"))).toBe(text)
}

it("end once their link is closed, whatever they speak, and those of other links go on", async () => {
  const { world } = at.one
  const company = await makeBoxCompany(at.one)
  const { boxId, host } = await serving(company)
  const socket = await upgraded(host)
  const other = await upgraded((await serving(company)).host)
  await at.listen(
    7_001,
    httpSocketHandler((_request, response) => void response.write("half")),
  )
  const asked = at.begin(await at.hostOf(7_001))
  asked.end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const torn = expect(readText(answer)).rejects.toThrow("aborted")
  const ended = once(socket, "close")
  await world.call(company.key, "DELETE", `${BOXES_PATH}/${boxId}/previews/3000`)
  await world.call(at.company.key, "DELETE", `${BOXES_PATH}/${at.boxId}/previews/7001`)
  await ended
  await torn
  await echoed(other, "well")
  other.destroy()
})

it("keep their box running as long as anything passes, and no longer", async () => {
  const { world } = at.one
  const company = await makeBoxCompany(at.one)
  const [used, unused] = [
    await serving(company, { idleMinutes: 5 }),
    await serving(company, { idleMinutes: 5 }),
  ]
  const socket = await upgraded(used.host)
  await upgraded(unused.host)
  for (let minute = 0; minute < 8; minute += 1) {
    await echoed(socket, `minute ${minute}`)
    await advance(world, "61s")
  }
  const status = async (boxId: BoxId) => (await getBox(world, company, boxId)).status
  expect([await status(used.boxId), await status(unused.boxId)]).toEqual(["running", "stopped"])
  // What passes is in the activity, too, once a minute.
  const seen = async () => {
    const url = `${BOXES_PATH}/${used.boxId}/events`
    const { events } = (await world.call(company.key, "GET", url)).body
    return events.filter(({ action }: { action: string }) => action === "preview").length
  }
  const before = await seen()
  await advance(world, "61s")
  await echoed(socket, "more")
  await expect.poll(seen).toBeGreaterThan(before)
  socket.destroy()
})

it("lead by the link where the box redirects to itself, and nowhere else", async () => {
  const host = await at.hostOf(7_002)
  const places = {
    "http://localhost:7002/a?b#c": "/a?b#c",
    "https://127.0.0.1:7002": "/",
    "http://[::1]:7002?x": "/?x",
    "http://localhost:7003/a": "http://localhost:7003/a",
    "http://localhost:7002.evil.test/": "http://localhost:7002.evil.test/",
    "http://localhost:7002//evil.test": "http://localhost:7002//evil.test",
    "/a": "/a",
  }
  await at.listen(
    7_002,
    httpSocketHandler(({ url = "" }, response) =>
      response.writeHead(302, { location: decodeURIComponent(url.slice(2)) }).end(),
    ),
  )
  for (const [given, shown] of Object.entries(places)) {
    const { headers } = await at.visit(host, { path: `/?${encodeURIComponent(given)}` })
    expect([given, headers.location]).toEqual([given, shown])
  }
})
