/** Static sites: the file of a path, the answer, and files that are never served. */
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { describe, expect, it } from "vitest"
import { ownPreviewSiteWorld } from "./preview-site-world.ts"

const SCRIPT = "console.log('hello')\n".repeat(200)
const LARGE = Buffer.alloc(700_000, "0123456789")
const FILES = {
  "index.html": "<h1>home</h1>",
  "about.html": "<h1>about</h1>",
  "blog/index.html": "<h1>blog</h1>",
  "blog/a b.txt": "spaces",
  "caf\u00e9.txt": "letters",
  "100%.txt": "percent",
  "a%2Fb.txt": "encoded",
  "empty.txt": "",
  "assets/app-3f2a9c1b.js": SCRIPT,
  "data.bin": Buffer.from([0, 1, 2, 3]),
  "large.bin": LARGE,
  "large.txt": LARGE,
  ".env": "SECRET=1",
  ".git/config": "secret",
  ".well-known/security.txt": "contact",
  ".well-known/.hidden": "secret",
  "deep/.htpasswd": "secret",
  ["__proto__"]: "a file like others",
}

const site = await ownPreviewSiteWorld()
site.publishSite(FILES)

describe("a path", () => {
  it.for([
    ["/", "<h1>home</h1>"],
    ["/index.html", "<h1>home</h1>"],
    ["/?a=b", "<h1>home</h1>"],
    ["/about", "<h1>about</h1>"],
    ["/about.html?x", "<h1>about</h1>"],
    ["/blog/", "<h1>blog</h1>"],
    ["/blog/a%20b.txt", "spaces"],
    ["/caf%C3%A9.txt", "letters"],
    ["/100%25.txt", "percent"],
    ["/a%252Fb.txt", "encoded"],
    ["/empty.txt", ""],
    ["/.well-known/security.txt", "contact"],
    ["/__proto__", "a file like others"],
  ])("%s serves a file", async ([path, body]) => {
    expect(await site.see(path ?? "")).toMatchObject({ status: 200, body })
  })

  it.for([
    "/nowhere",
    "/about/",
    "/blog",
    "/../etc/passwd",
    "/%2e%2e/etc/passwd",
    "/blog/../about.html",
    "/.env",
    "/%2eenv",
    "/.git/config",
    "/.well-known/.hidden",
    "/deep/.htpasswd",
    "//index.html",
    "/a/b.txt",
    "/a%2Fb.txt",
    "/constructor",
    "/toString",
    "/index.html%00",
    "/blog%5Cindex.html",
    "/INDEX.HTML",
    "/.WELL-KNOWN/security.txt",
  ])("%s serves no file", async (path) => {
    const { status, body } = await site.see(path)
    // A folder without its slash is redirected.
    expect([path, status]).toEqual([path, path === "/blog" ? 302 : 404])
    expect(body).not.toMatch(/secret|SECRET|home|root:/)
  })

  it.for(["/%", "/%zz", "/%C3", "/a%E0%80"])("%s is rejected for its encoding", async (path) => {
    expect((await site.see(path)).status).toBe(400)
  })

  it("of a folder redirects by a relative URL, and never to another host", async () => {
    const { status, headers } = await site.see("/blog?a=b")
    expect([status, headers.location]).toEqual([302, "./blog/?a=b"])
    site.publishSite({
      "evil.test/index.html": "no",
      "/evil.test/index.html": "no",
      "a/j:x/index.html": "x",
    })
    for (const path of ["/evil.test", "//evil.test", "/%2Fevil.test", "/a/j:x"]) {
      const { location } = (await site.see(path)).headers
      const to = new URL(location ?? "/", `http://${site.host}${path}`)
      expect([path, to.host]).toEqual([path, site.host])
      expect(location ?? "../missing/").toMatch(/^\.\/[\w.%]*(\/|$)/)
    }
    site.publishSite(FILES)
  })

  it("without a file serves the fallback to requests for HTML", async () => {
    site.publishSite({ "index.html": "<h1>app</h1>", "404.html": "<h1>none</h1>" }, "index.html")
    const opened = { headers: { accept: "text/html,*/*" } }
    expect(await site.see("/some/where", opened)).toMatchObject({
      status: 200,
      body: "<h1>app</h1>",
    })
    expect(await site.see("/app.js")).toMatchObject({ status: 404, body: "<h1>none</h1>" })
    site.publishSite({ "404.html": "<h1>none</h1>" }, "gone.html")
    expect(await site.see("/some/where", opened)).toMatchObject({
      status: 404,
      body: "<h1>none</h1>",
    })
    const again = { headers: { "if-none-match": "*", range: "bytes=0-1" } }
    expect(await site.see("/app.js", again)).toMatchObject({ status: 404, body: "<h1>none</h1>" })
    site.publishSite(FILES)
  })
})

describe("an answer", () => {
  it("has the content type and the cache rules of the file", async () => {
    const { headers } = await site.see("/assets/app-3f2a9c1b.js")
    expect(headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=31536000, immutable",
      "x-robots-tag": "noindex",
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
      vary: "Accept-Encoding",
    })
    const page = (await site.see("/")).headers
    expect(page).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-cache",
    })
    expect(page["content-security-policy"]).toBeUndefined()
    expect((await site.see("/data.bin")).headers["content-type"]).toBe("application/octet-stream")
    expect((await site.see("/__proto__")).headers["content-type"]).toBe("application/octet-stream")
  })

  it("is 304 for a known ETag, in any compression", async () => {
    const { etag = "" } = (await site.see("/assets/app-3f2a9c1b.js")).headers
    const known = ["*", etag, `W/${etag}`, `"x", ${etag}`, etag.replace(/"$/, '-br"')]
    for (const tag of known) {
      const headers = { "if-none-match": tag, "accept-encoding": "gzip" }
      const answer = await site.see("/assets/app-3f2a9c1b.js", { headers })
      expect([tag, answer.status, answer.body]).toEqual([tag, 304, ""])
      expect(answer.headers).toMatchObject({
        etag: etag.replace(/"$/, '-gzip"'),
        vary: "Accept-Encoding",
      })
      expect(answer.headers["content-type"]).toBeUndefined()
    }
    for (const tag of ['"x"', etag.slice(1, -1), ""]) {
      const headers = { "if-none-match": tag }
      expect((await site.see("/assets/app-3f2a9c1b.js", { headers })).status).toBe(200)
    }
  })

  it("has headers and no body for HEAD, and is 405 for other methods", async () => {
    for (const path of ["/", "/large.bin"]) {
      const [get, head] = [await site.see(path), await site.see(path, { method: "HEAD" })]
      expect([head.status, head.body]).toEqual([200, ""])
      expect({ ...head.headers, date: "" }).toEqual({ ...get.headers, date: "" })
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]) {
      const { status, headers } = await site.see("/", { method })
      expect([method, status, headers.allow]).toEqual([method, 405, "GET, HEAD"])
    }
  })

  it.for([
    ["bytes=0-3", 206, "0123", "bytes 0-3/700000"],
    ["bytes=699998-", 206, "89", "bytes 699998-699999/700000"],
    ["bytes=-2", 206, "89", "bytes 699998-699999/700000"],
    ["bytes=699999-99999999", 206, "9", "bytes 699999-699999/700000"],
    ["bytes=700000-", 416, "", "bytes */700000"],
    ["bytes=-0", 416, "", "bytes */700000"],
  ] as const)("is the requested range: %s", async ([range, status, body, contentRange]) => {
    for (const path of ["/large.bin", "/large.txt"]) {
      const headers = { range, "accept-encoding": "br, gzip" }
      const part = await site.see(path, { headers })
      expect([part.status, part.body, part.headers["content-range"]]).toEqual([
        status,
        body,
        contentRange,
      ])
      expect(part.headers["content-encoding"]).toBeUndefined()
    }
  })

  it.for(["bytes=3-1", "bytes=0-1,3-4", "bytes=a-b", "bytes=-", "items=0-1", "bytes"])(
    "is the whole file for an invalid range: %s",
    async (range) => {
      const { status, body } = await site.see("/large.bin", { headers: { range } })
      expect([status, body.length]).toEqual([200, LARGE.length])
    },
  )

  it("is a range only if the visitor's ETag matches", async () => {
    const { etag = "" } = (await site.see("/large.bin")).headers
    const ask = (known: string) =>
      site.see("/large.bin", { headers: { range: "bytes=0-3", "if-range": known } })
    expect((await ask(etag)).status).toBe(206)
    for (const known of ['"x"', `W/${etag}`, "Tue, 24 Nov 2026 00:00:00 GMT"]) {
      expect((await ask(known)).status).toBe(200)
    }
  })

  it("is compressed if it is text, large enough, and the visitor accepts it", async () => {
    const encodings = [
      ["br, gzip", "br"],
      ["gzip, deflate", "gzip"],
      ["GZIP;q=0.5", "gzip"],
      ["br;q=0, gzip", "gzip"],
      ["br;q=0.0", undefined],
      ["identity", undefined],
    ] as const
    for (const [accepted, encoding] of encodings) {
      const { bytes, headers } = await bytesOf("/assets/app-3f2a9c1b.js", accepted)
      expect([accepted, headers["content-encoding"]]).toEqual([accepted, encoding])
      const decompress = { br: brotliDecompressSync, gzip: gunzipSync }
      const plain = encoding === undefined ? bytes : decompress[encoding](bytes)
      expect(plain.toString()).toBe(SCRIPT)
      expect(Number(headers["content-length"])).toBe(bytes.length)
    }
    for (const path of ["/", "/large.bin", "/empty.txt"]) {
      const { headers } = await bytesOf(path, "br, gzip")
      expect([path, headers["content-encoding"]]).toEqual([path, undefined])
    }
    const text = await bytesOf("/large.txt", "br")
    expect(brotliDecompressSync(text.bytes).equals(LARGE)).toBe(true)
  })

  it("is read once and then served from memory; a large file is read each time", async () => {
    site.publishSite({
      "small.txt": "small text of this test",
      "big.bin": Buffer.alloc(300_000, 7),
    })
    const before = site.reads.count
    await Promise.all(Array.from({ length: 10 }, () => site.see("/small.txt")))
    await site.see("/small.txt")
    expect(site.reads.count - before).toBe(1)
    await site.see("/big.bin")
    await site.see("/big.bin")
    expect(site.reads.count - before).toBe(3)
    site.publishSite(FILES)
  })

  it("that cannot be read to its end is aborted, with a warning", async () => {
    site.publishSite({ "torn.bin": Buffer.alloc(400_000) })
    site.reads.tornAfter = 300_000
    await expect(site.see("/torn.bin")).rejects.toThrow("aborted")
    site.reads.tornAfter = Infinity
    expect(site.warnings.filter((one) => one.includes("torn"))).toHaveLength(1)
    site.publishSite(FILES)
  })
})

async function bytesOf(path: string, encoding: string) {
  const headers = { cookie: site.cookie, "accept-encoding": encoding }
  const outgoing = site.startRequest(site.host, { path, headers })
  outgoing.end()
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  return { headers: answer.headers, bytes: Buffer.concat(pieces) }
}

describe("a visitor who disconnects in the middle of a file", () => {
  it("causes no warning", async () => {
    const before = site.warnings.length
    const outgoing = site.startRequest(site.host, {
      path: "/large.bin",
      headers: { cookie: site.cookie },
    })
    outgoing.end()
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    answer.on("error", () => undefined)
    await once(answer, "data")
    outgoing.destroy()
    await site.see("/")
    expect(site.warnings.slice(before)).toEqual([])
  })
})
