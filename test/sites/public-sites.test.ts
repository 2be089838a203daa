/** What is read of sites that strangers name, and how much of it at most. */
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
const URL_OF_IT = "https://acme.example/texts?a=b"
const HTML = "<!doctype html><p>Grüße</p>"
const TYPE = { "content-type": "text/html; charset=utf-8" }

/** What is read of a site. */
async function reading(answering: SiteHandler, more: Partial<PublicSitesOptions> = {}) {
  const stand = await openSiteServer(answering)
  closing.push(stand.close)
  const time = new ManualTime()
  const sites = openPublicSites({
    pacer: time.pacer,
    isOwn: () => false,
    resolve: async () => [PUBLIC_ADDRESS],
    connect: stand.connect,
    ...more,
  })
  return { stand, time, read: (url = URL_OF_IT) => sites.read(url) }
}

/** What comes of a page that is answered so. */
async function readOf(head: Record<string, string>, body: string | Buffer, status = 200) {
  const { read } = await reading((_, response) => response.writeHead(status, head).end(body))
  return read()
}

const problem = (code: string) => ({ kind: "problem", code })

describe("a page of a site", () => {
  it("is read once, by a request that says nothing of who asked, and the connection is closed", async () => {
    const { stand, time, read } = await reading((_, response) => {
      response.writeHead(200, { ...TYPE, "set-cookie": "a=b" }).end(HTML)
    })
    const sha256 = createHash("sha256").update(HTML).digest("hex")
    expect(await read()).toEqual({ kind: "page", html: HTML, sha256, url: URL_OF_IT })
    expect(await read()).toMatchObject({ kind: "page" })
    const [, again] = stand.requests
    expect(again?.url).toBe("/texts?a=b")
    expect(again?.headers).toEqual({
      host: "acme.example",
      accept: "text/html",
      "accept-encoding": "gzip, br, deflate",
      connection: "close",
      "user-agent": expect.stringContaining("company-ledger"),
    })
    await stand.until(() => stand.openConnections() === 0)
    expect(time.waiting).toBe(0)
  })

  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
  ])("is read where it is compressed by %s", async (encoding, compress) => {
    const head = { ...TYPE, "content-encoding": encoding }
    const plain = await readOf(TYPE, HTML)
    expect(await readOf(head, compress(HTML))).toEqual(plain)
  })

  it.each<[string, string, string]>([
    ["its head", "text/html; charset=ISO-8859-1", HTML],
    ["itself", "text/html", `<meta charset="latin1">${HTML}`],
    ["nothing it knows", "text/html; charset=klingon", "Gruss"],
  ])("is in the characters that %s says", async (_, type, html) => {
    const answer = await readOf({ "content-type": type }, Buffer.from(html, "latin1"))
    expect(answer).toMatchObject({ kind: "page", html })
  })

  it("of a megabyte is read, and of a byte more is not", async () => {
    const page = Buffer.alloc(MIB, "a")
    const more = Buffer.alloc(MIB + 1, "a")
    expect(await readOf(TYPE, page)).toMatchObject({ kind: "page" })
    expect(await readOf(TYPE, more)).toEqual(problem("too_large"))
    const head = { ...TYPE, "content-encoding": "gzip" }
    expect(await readOf(head, gzipSync(page))).toMatchObject({ kind: "page" })
    expect(await readOf(head, gzipSync(more))).toEqual(problem("too_large"))
    expect(await readOf(head, gzipSync(randomBytes(3 * MIB)))).toEqual(problem("too_large"))
  })

  it.each<[string, string, Record<string, string>, string | Buffer, number]>([
    ["needs a sign-in", "login_needed", TYPE, HTML, 401],
    ["is forbidden", "login_needed", TYPE, HTML, 403],
    ["is not there", "unreachable", TYPE, HTML, 404],
    ["is broken", "unreachable", TYPE, HTML, 500],
    ["is a redirect to nowhere", "unreachable", {}, "", 302],
    ["is a picture", "unreachable", { "content-type": "image/png" }, HTML, 200],
    ["is of no type", "unreachable", {}, HTML, 200],
    ["is of a longer type", "unreachable", { "content-type": "text/html5" }, HTML, 200],
    ["is compressed otherwise", "unreachable", { ...TYPE, "content-encoding": "zstd" }, HTML, 200],
    ["is not what it says", "unreachable", { ...TYPE, "content-encoding": "gzip" }, HTML, 200],
    [
      "is a bomb",
      "too_large",
      { ...TYPE, "content-encoding": "gzip" },
      gzipSync(Buffer.alloc(200 * MIB)),
      200,
    ],
    [
      "is a bomb of another kind",
      "too_large",
      { ...TYPE, "content-encoding": "br" },
      brotliCompressSync(Buffer.alloc(64 * MIB)),
      200,
    ],
    ["has a head without an end", "too_large", { ...TYPE, "x-a": "a".repeat(20_000) }, HTML, 200],
  ])("that %s is %s", async (_, code, head, body, status) => {
    expect(await readOf(head, body, status)).toEqual(problem(code))
  })

  it("that never ends is left behind a megabyte", async () => {
    let sent = 0
    const { stand, read } = await reading((_, response) => {
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
    await stand.until(() => stand.openConnections() === 0)
    expect(sent).toBeLessThan(64 * MIB)
  })

  it("whose connection breaks in the middle is unreachable", async () => {
    const { read } = await reading((request, response) => {
      response.writeHead(200, { ...TYPE, "content-length": "1000" })
      response.write("<p>", () => request.socket.destroy())
    })
    expect(await read()).toEqual(problem("unreachable"))
  })
})

describe("a site that takes its time", () => {
  it("has five seconds for the connection", async () => {
    const silence = await openSilentServer()
    closing.push(silence.close)
    const { time, read } = await reading(() => undefined, { connect: silence.connect })
    const answer = read()
    await silence.until(() => silence.openConnections() === 1)
    time.pass(5_000)
    expect(await answer).toEqual(problem("too_slow"))
    await silence.until(() => silence.openConnections() === 0)
  })

  it("has five seconds for its name as well", async () => {
    const { time, read, stand } = await reading(() => undefined, {
      resolve: () => new Promise(() => undefined),
    })
    const answer = read()
    time.pass(5_000)
    expect(await answer).toEqual(problem("too_slow"))
    expect([stand.destinations, time.waiting]).toEqual([[], 0])
  })

  it("has ten seconds for its page, however it comes", async () => {
    const { stand, time, read } = await reading((_, response) => {
      response.writeHead(200, TYPE)
      const drip = () => void (response.destroyed || response.write("a", () => setImmediate(drip)))
      drip()
    })
    const answer = read()
    await stand.until(() => stand.requests.length === 1)
    // Two are waited for until the connection stands, and one from then on.
    await time.until(() => time.waiting === 1)
    time.pass(9_999)
    time.pass(1)
    expect(await answer).toEqual(problem("too_slow"))
    await stand.until(() => stand.openConnections() === 0)
  })

  it("has ten seconds in all, wherever it leads", async () => {
    const { stand, time, read } = await reading((request, response) => {
      if (request.url === "/2") return
      time.pass(4_000)
      const next = request.url === "/1" ? "/2" : "/1"
      response.writeHead(302, { location: next }).end()
    })
    const answer = read()
    await stand.until(() => stand.requests.length === 3)
    time.pass(2_000)
    expect(await answer).toEqual(problem("too_slow"))
  })
})

describe("a certificate", () => {
  it("of another name is none", async () => {
    const { read, stand } = await reading((_, response) => response.writeHead(200, TYPE).end(HTML))
    expect(await read("https://other.example/")).toEqual(problem("unreachable"))
    expect(stand.requests).toEqual([])
  })

  it("that nobody vouches for is none, whatever the environment says", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0")
    const stand = await openSiteServer((_, response) => response.writeHead(200, TYPE).end(HTML))
    closing.push(stand.close)
    const { read } = await reading(() => undefined, {
      connect: (to) =>
        // The type says that there is no other port.
        openTlsConnection({ ...to, address: "127.0.0.1", port: stand.port as 443 }),
    })
    expect(await read()).toEqual(problem("unreachable"))
    expect(stand.requests).toEqual([])
  })
})
