/** Reading pages of sites that strangers name: what is accepted, and the limits on size and time. */
import { createHash, randomBytes } from "node:crypto"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { afterEach, describe, expect, it, vi } from "vitest"
import { openTlsConnection } from "../../adapters/providers/sites/page-request.ts"
import type { PublicSitesOptions } from "../../adapters/providers/sites/public-sites.ts"
import { openPublicSites } from "../../adapters/providers/sites/public-sites.ts"
import type { SiteHandler } from "./site-server.ts"
import { PUBLIC_ADDRESS, ManualTime, openSilentServer, openSiteServer } from "./site-server.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const MIB = 1_048_576
const PAGE_URL = "https://acme.example/texts?a=b"
const HTML = "<!doctype html><p>Grüße</p>"
const TYPE = { "content-type": "text/html; charset=utf-8" }

/** A reader of public sites, and a site that answers with `handler`. */
async function openReader(handler: SiteHandler, options: Partial<PublicSitesOptions> = {}) {
  const site = await openSiteServer(handler)
  closing.push(site.close)
  const time = new ManualTime()
  const sites = openPublicSites({
    pacer: time.pacer,
    isOwn: () => false,
    resolve: async () => [PUBLIC_ADDRESS],
    connect: site.connect,
    ...options,
  })
  return { site, time, read: (url = PAGE_URL) => sites.read(url) }
}

/** The result of reading a page that is served with these headers and this body. */
async function readPage(headers: Record<string, string>, body: string | Buffer, status = 200) {
  const { read } = await openReader((_, response) => response.writeHead(status, headers).end(body))
  return read()
}

const problem = (code: string) => ({ kind: "problem", code })

describe("a page of a site", () => {
  it("is fetched once, by a request without cookies or identity, on a connection that is then closed", async () => {
    const { site, time, read } = await openReader((_, response) => {
      response.writeHead(200, { ...TYPE, "set-cookie": "a=b" }).end(HTML)
    })
    const sha256 = createHash("sha256").update(HTML).digest("hex")
    expect(await read()).toEqual({ kind: "page", html: HTML, sha256, url: PAGE_URL })
    expect(await read()).toMatchObject({ kind: "page" })
    const [, again] = site.requests
    expect(again?.url).toBe("/texts?a=b")
    expect(again?.headers).toEqual({
      host: "acme.example",
      accept: "text/html",
      "accept-encoding": "gzip, br, deflate",
      connection: "close",
      "user-agent": expect.stringContaining("company-ledger"),
    })
    await site.until(() => site.openConnections() === 0)
    expect(time.waiting).toBe(0)
  })

  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
  ])("is decompressed from %s", async (encoding, compress) => {
    const head = { ...TYPE, "content-encoding": encoding }
    const plain = await readPage(TYPE, HTML)
    expect(await readPage(head, compress(HTML))).toEqual(plain)
  })

  it.each<[string, string, string]>([
    ["the charset of its header", "text/html; charset=ISO-8859-1", HTML],
    ["the charset of its meta element", "text/html", `<meta charset="latin1">${HTML}`],
    ["UTF-8 if the charset is unknown", "text/html; charset=klingon", "Gruss"],
  ])("is decoded with %s", async (_, type, html) => {
    const answer = await readPage({ "content-type": type }, Buffer.from(html, "latin1"))
    expect(answer).toMatchObject({ kind: "page", html })
  })

  it("of 1 MiB is read, and a page of one byte more is not", async () => {
    const page = Buffer.alloc(MIB, "a")
    const more = Buffer.alloc(MIB + 1, "a")
    expect(await readPage(TYPE, page)).toMatchObject({ kind: "page" })
    expect(await readPage(TYPE, more)).toEqual(problem("too_large"))
    const head = { ...TYPE, "content-encoding": "gzip" }
    expect(await readPage(head, gzipSync(page))).toMatchObject({ kind: "page" })
    expect(await readPage(head, gzipSync(more))).toEqual(problem("too_large"))
    expect(await readPage(head, gzipSync(randomBytes(3 * MIB)))).toEqual(problem("too_large"))
  })

  it.each<[string, string, Record<string, string>, string | Buffer, number]>([
    ["needs a sign-in", "login_needed", TYPE, HTML, 401],
    ["is forbidden", "login_needed", TYPE, HTML, 403],
    ["does not exist", "unreachable", TYPE, HTML, 404],
    ["fails with an error", "unreachable", TYPE, HTML, 500],
    ["redirects without a location", "unreachable", {}, "", 302],
    ["is an image", "unreachable", { "content-type": "image/png" }, HTML, 200],
    ["has no type", "unreachable", {}, HTML, 200],
    [
      "has a type that begins like HTML",
      "unreachable",
      { "content-type": "text/html5" },
      HTML,
      200,
    ],
    ["has an unknown encoding", "unreachable", { ...TYPE, "content-encoding": "zstd" }, HTML, 200],
    ["is not gzip as declared", "unreachable", { ...TYPE, "content-encoding": "gzip" }, HTML, 200],
    [
      "is a gzip bomb",
      "too_large",
      { ...TYPE, "content-encoding": "gzip" },
      gzipSync(Buffer.alloc(200 * MIB)),
      200,
    ],
    [
      "is a Brotli bomb",
      "too_large",
      { ...TYPE, "content-encoding": "br" },
      brotliCompressSync(Buffer.alloc(64 * MIB)),
      200,
    ],
    ["has a huge header", "too_large", { ...TYPE, "x-a": "a".repeat(20_000) }, HTML, 200],
  ])("that %s is %s", async (_, code, head, body, status) => {
    expect(await readPage(head, body, status)).toEqual(problem(code))
  })

  it("that never ends is abandoned after 1 MiB", async () => {
    let sent = 0
    const { site, read } = await openReader((_, response) => {
      response.writeHead(200, TYPE)
      const more = () => {
        while (!response.destroyed && sent < 1_000 * MIB) {
          sent += 65_536
          if (!response.write(Buffer.alloc(65_536, "a"))) return void response.once("drain", more)
        }
      }
      more()
    })
    expect(await read()).toEqual(problem("too_large"))
    await site.until(() => site.openConnections() === 0)
    expect(sent).toBeLessThan(64 * MIB)
  })

  it("is unreachable if its connection breaks in the middle", async () => {
    const { read } = await openReader((request, response) => {
      response.writeHead(200, { ...TYPE, "content-length": "1000" })
      response.write("<p>", () => request.socket.destroy())
    })
    expect(await read()).toEqual(problem("unreachable"))
  })
})

describe("a slow site", () => {
  it("has five seconds to accept the connection", async () => {
    const silence = await openSilentServer()
    closing.push(silence.close)
    const { time, read } = await openReader(() => undefined, { connect: silence.connect })
    const answer = read()
    await silence.until(() => silence.openConnections() === 1)
    time.pass(5_000)
    expect(await answer).toEqual(problem("too_slow"))
    await silence.until(() => silence.openConnections() === 0)
  })

  it("has the same five seconds for its name lookup", async () => {
    const { time, read, site } = await openReader(() => undefined, {
      resolve: () => new Promise(() => undefined),
    })
    const answer = read()
    time.pass(5_000)
    expect(await answer).toEqual(problem("too_slow"))
    expect([site.destinations, time.waiting]).toEqual([[], 0])
  })

  it("has ten seconds for its page, even if bytes keep arriving", async () => {
    const { site, time, read } = await openReader((_, response) => {
      response.writeHead(200, TYPE)
      const drip = () => void (response.destroyed || response.write("a", () => setImmediate(drip)))
      drip()
    })
    const answer = read()
    await site.until(() => site.requests.length === 1)
    // Two timers run until the connection is open, and one after that.
    await time.until(() => time.waiting === 1)
    time.pass(9_999)
    time.pass(1)
    expect(await answer).toEqual(problem("too_slow"))
    await site.until(() => site.openConnections() === 0)
  })

  it("has ten seconds in total, including its redirects", async () => {
    const { site, time, read } = await openReader((request, response) => {
      if (request.url === "/2") return
      time.pass(4_000)
      const next = request.url === "/1" ? "/2" : "/1"
      response.writeHead(302, { location: next }).end()
    })
    const answer = read()
    await site.until(() => site.requests.length === 3)
    time.pass(2_000)
    expect(await answer).toEqual(problem("too_slow"))
  })
})

describe("a certificate", () => {
  it("is rejected if it is for another name", async () => {
    const { read, site } = await openReader((_, response) =>
      response.writeHead(200, TYPE).end(HTML),
    )
    expect(await read("https://other.example/")).toEqual(problem("unreachable"))
    expect(site.requests).toEqual([])
  })

  it("is rejected if no authority signed it, even if the environment turns verification off", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0")
    const site = await openSiteServer((_, response) => response.writeHead(200, TYPE).end(HTML))
    closing.push(site.close)
    const { read } = await openReader(() => undefined, {
      connect: (to) =>
        // The type allows no other port.
        openTlsConnection({ ...to, address: "127.0.0.1", port: site.port as 443 }),
    })
    expect(await read()).toEqual(problem("unreachable"))
    expect(site.requests).toEqual([])
  })
})
