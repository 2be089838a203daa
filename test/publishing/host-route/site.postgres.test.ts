/** Static sites: which file a path means, what is answered of it, and nothing beside it. */
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

const at = await ownPreviewSiteWorld()
at.publishSite(FILES)

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
  ])("%s is a file", async ([path, body]) => {
    expect(await at.see(path ?? "")).toMatchObject({ status: 200, body })
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
  ])("%s is none", async (path) => {
    const { status, body } = await at.see(path)
    // A folder is asked for with its slash.
    expect([path, status]).toEqual([path, path === "/blog" ? 302 : 404])
    expect(body).not.toMatch(/secret|SECRET|home|root:/)
  })

  it.for(["/%", "/%zz", "/%C3", "/a%E0%80"])("%s is not encoded as paths are", async (path) => {
    expect((await at.see(path)).status).toBe(400)
  })

  it("of a folder leads to it by a relative address, and to no other host", async () => {
    const { status, headers } = await at.see("/blog?a=b")
    expect([status, headers.location]).toEqual([302, "./blog/?a=b"])
    at.publishSite({
      "evil.test/index.html": "no",
      "/evil.test/index.html": "no",
      "a/j:x/index.html": "x",
    })
    for (const path of ["/evil.test", "//evil.test", "/%2Fevil.test", "/a/j:x"]) {
      const { location } = (await at.see(path)).headers
      const to = new URL(location ?? "/", `http://${at.host}${path}`)
      expect([path, to.host]).toEqual([path, at.host])
      expect(location ?? "../door/").toMatch(/^\.\/[\w.%]*(\/|$)/)
    }
    at.publishSite(FILES)
  })

  it("that is known to the site alone shows its fallback, to people who open it", async () => {
    at.publishSite({ "index.html": "<h1>app</h1>", "404.html": "<h1>none</h1>" }, "index.html")
    const opened = { headers: { accept: "text/html,*/*" } }
    expect(await at.see("/some/where", opened)).toMatchObject({ status: 200, body: "<h1>app</h1>" })
    expect(await at.see("/app.js")).toMatchObject({ status: 404, body: "<h1>none</h1>" })
    at.publishSite({ "404.html": "<h1>none</h1>" }, "gone.html")
    expect(await at.see("/some/where", opened)).toMatchObject({
      status: 404,
      body: "<h1>none</h1>",
    })
    const again = { headers: { "if-none-match": "*", range: "bytes=0-1" } }
    expect(await at.see("/app.js", again)).toMatchObject({ status: 404, body: "<h1>none</h1>" })
    at.publishSite(FILES)
  })
})

describe("an answer", () => {
  it("says what the file is, and who may keep it", async () => {
    const { headers } = await at.see("/assets/app-3f2a9c1b.js")
    expect(headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=31536000, immutable",
      "x-robots-tag": "noindex",
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
      vary: "Accept-Encoding",
    })
    const page = (await at.see("/")).headers
    expect(page).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-cache",
    })
    expect(page["content-security-policy"]).toBeUndefined()
    expect((await at.see("/data.bin")).headers["content-type"]).toBe("application/octet-stream")
    expect((await at.see("/__proto__")).headers["content-type"]).toBe("application/octet-stream")
  })

  it("is 304 to who has it, however it was compressed", async () => {
    const { etag = "" } = (await at.see("/assets/app-3f2a9c1b.js")).headers
    const known = ["*", etag, `W/${etag}`, `"x", ${etag}`, etag.replace(/"$/, '-br"')]
    for (const tag of known) {
      const headers = { "if-none-match": tag, "accept-encoding": "gzip" }
      const { status, body, headers: told } = await at.see("/assets/app-3f2a9c1b.js", { headers })
      expect([tag, status, body]).toEqual([tag, 304, ""])
      expect(told).toMatchObject({ etag: etag.replace(/"$/, '-gzip"'), vary: "Accept-Encoding" })
      expect(told["content-type"]).toBeUndefined()
    }
    for (const tag of ['"x"', etag.slice(1, -1), ""]) {
      const headers = { "if-none-match": tag }
      expect((await at.see("/assets/app-3f2a9c1b.js", { headers })).status).toBe(200)
    }
  })

  it("has a head and no body for HEAD, and nothing for other verbs", async () => {
    for (const path of ["/", "/large.bin"]) {
      const [get, head] = [await at.see(path), await at.see(path, { method: "HEAD" })]
      expect([head.status, head.body]).toEqual([200, ""])
      expect({ ...head.headers, date: "" }).toEqual({ ...get.headers, date: "" })
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"]) {
      const { status, headers } = await at.see("/", { method })
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
  ] as const)("is the part that is asked for: %s", async ([range, status, body, told]) => {
    for (const path of ["/large.bin", "/large.txt"]) {
      const headers = { range, "accept-encoding": "br, gzip" }
      const part = await at.see(path, { headers })
      expect([part.status, part.body, part.headers["content-range"]]).toEqual([status, body, told])
      expect(part.headers["content-encoding"]).toBeUndefined()
    }
  })

  it.for(["bytes=3-1", "bytes=0-1,3-4", "bytes=a-b", "bytes=-", "items=0-1", "bytes"])(
    "is the whole where no part is asked for: %s",
    async (range) => {
      const { status, body } = await at.see("/large.bin", { headers: { range } })
      expect([status, body.length]).toEqual([200, LARGE.length])
    },
  )

  it("is a part only of what the visitor has the rest of", async () => {
    const { etag = "" } = (await at.see("/large.bin")).headers
    const ask = (known: string) =>
      at.see("/large.bin", { headers: { range: "bytes=0-3", "if-range": known } })
    expect((await ask(etag)).status).toBe(206)
    for (const known of ['"x"', `W/${etag}`, "Tue, 24 Nov 2026 00:00:00 GMT"]) {
      expect((await ask(known)).status).toBe(200)
    }
  })

  it("is compressed where it is text, large enough, and the visitor takes it", async () => {
    const encodings = [
      ["br, gzip", "br"],
      ["gzip, deflate", "gzip"],
      ["GZIP;q=0.5", "gzip"],
      ["br;q=0, gzip", "gzip"],
      ["br;q=0.0", undefined],
      ["identity", undefined],
    ] as const
    for (const [taken, encoding] of encodings) {
      const { bytes, headers } = await bytesOf("/assets/app-3f2a9c1b.js", taken)
      expect([taken, headers["content-encoding"]]).toEqual([taken, encoding])
      const opened = { br: brotliDecompressSync, gzip: gunzipSync }
      const plain = encoding === undefined ? bytes : opened[encoding](bytes)
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

  it("is read once, and then answered from memory; what is large is read each time", async () => {
    at.publishSite({ "small.txt": "small text of this test", "big.bin": Buffer.alloc(300_000, 7) })
    const before = at.reads.count
    await Promise.all(Array.from({ length: 10 }, () => at.see("/small.txt")))
    await at.see("/small.txt")
    expect(at.reads.count - before).toBe(1)
    await at.see("/big.bin")
    await at.see("/big.bin")
    expect(at.reads.count - before).toBe(3)
    at.publishSite(FILES)
  })

  it("that cannot be read to its end is not taken for whole, and told of", async () => {
    at.publishSite({ "torn.bin": Buffer.alloc(400_000) })
    at.reads.tornAfter = 300_000
    await expect(at.see("/torn.bin")).rejects.toThrow("aborted")
    at.reads.tornAfter = Infinity
    expect(at.warnings.filter((one) => one.includes("torn"))).toHaveLength(1)
    at.publishSite(FILES)
  })
})

async function bytesOf(path: string, encoding: string) {
  const headers = { cookie: at.cookie, "accept-encoding": encoding }
  const asked = at.startRequest(at.host, { path, headers })
  asked.end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  return { headers: answer.headers, bytes: Buffer.concat(pieces) }
}

describe("a visitor who leaves in the middle of a file", () => {
  it("is no fault of the house", async () => {
    const before = at.warnings.length
    const asked = at.startRequest(at.host, { path: "/large.bin", headers: { cookie: at.cookie } })
    asked.end()
    const [answer] = (await once(asked, "response")) as [IncomingMessage]
    answer.on("error", () => undefined)
    await once(answer, "data")
    asked.destroy()
    await at.see("/")
    expect(at.warnings.slice(before)).toEqual([])
  })
})
