/** The built pages of the console as the server sends them, and as the package contains them. */
import { execFile } from "node:child_process"
import { readFileSync, readdirSync } from "node:fs"
import { resolve } from "node:path"
import { promisify } from "node:util"
import { brotliDecompressSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import { sharedWorld } from "../support/world.ts"

const ROOT = resolve(import.meta.dirname, "../..")

const code = await buildConsoleIfNeeded()
if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
const world = await sharedWorld()

const get = (url: string, headers: Record<string, string> = {}) =>
  world.app.inject({ method: "GET", url, headers: { host: "localhost:3000", ...headers } })

describe("the page", () => {
  it("is the same at every address of the console, with a new nonce in each response", async () => {
    const nonces: string[] = []
    for (const path of ["", "/", "/co_0000aa", "/co_0000aa/keys/key_12345678?from=list"]) {
      const { statusCode, headers, body } = await get(`/console${path}`)
      expect([statusCode, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"])
      expect(headers["cache-control"]).toBe("no-store")
      const policy = String(headers["content-security-policy"])
      const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1] ?? ""
      expect(policy).toMatch(/default-src 'self';.* script-src 'self';.*frame-ancestors 'none'/)
      expect(body).toContain(`nonce="${nonce}"`)
      expect(body).not.toContain("__CSP_NONCE__")
      nonces.push(nonce)
    }
    expect(new Set(nonces).size).toBe(4)
  })

  it("has no inline script, and loads files from its own origin only", async () => {
    const { body } = await get("/console")
    const scripts = [...body.matchAll(/<script\b([^>]*)>([^<]*)<\/script>/g)]
    expect(scripts.length).toBeGreaterThan(0)
    for (const [, attributes, text] of scripts) {
      expect([/ src="\/console\/assets\//.test(String(attributes)), text]).toEqual([true, ""])
    }
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//)
  })
})

describe("an asset of the page", () => {
  it("is cached for a year, and is sent compressed to clients that accept it", async () => {
    const { body } = await get("/console")
    const paths = [...body.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(
      ([, path = ""]) => path,
    )
    expect(paths.length).toBeGreaterThan(1)
    for (const path of paths) {
      expect(path).toMatch(/-[\w-]{8}\.\w+$/)
      const plain = await get(path)
      expect(plain.statusCode).toBe(200)
      expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable")
      expect(plain.headers["content-encoding"]).toBeUndefined()
      const file = readFileSync(resolve(ROOT, "console/dist", path.replace("/console/", "")))
      expect(plain.rawPayload.equals(file)).toBe(true)
      if (!/\.(js|css|svg)$/.test(path)) continue
      const compressed = await get(path, { "accept-encoding": "gzip, br" })
      expect(compressed.headers["content-encoding"]).toBe("br")
      expect(brotliDecompressSync(compressed.rawPayload).equals(file)).toBe(true)
    }
  })

  it("contains the production build of React, even if NODE_ENV is test", () => {
    expect(process.env["NODE_ENV"]).toBe("test")
    const assets = resolve(ROOT, "console/dist/assets")
    const scripts = readdirSync(assets).filter((name) => name.endsWith(".js"))
    const bundle = scripts.map((name) => readFileSync(resolve(assets, name), "utf8")).join("\n")
    // Only the production build shortens its errors to addresses of react.dev.
    expect(bundle).toContain("https://react.dev/errors/")
    expect(bundle).not.toContain("React DevTools")
  })

  it.each([
    "..%2findex.html",
    "..%2f..%2fpackage.json",
    "%2e%2e%2f.sources",
    "..%5cindex.html",
    ".sources",
    "%00",
    "assets%2f..%2f..%2findex.html",
    "gone-12345678.js",
  ])("is never a file outside its folder: %s", async (name) => {
    const { statusCode, body } = await get(`/console/assets/${name}`)
    expect(statusCode === 404 || statusCode === 400).toBe(true)
    expect(body).not.toMatch(/company-ledger|<div id="root"|^[0-9a-f]{64}\n$/)
  })
})

it("is in the package, built, and without its sources", async () => {
  const npm = promisify(execFile)
  const { stdout } = await npm("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    maxBuffer: 16_000_000,
  })
  const output = JSON.parse(stdout) as unknown
  const [packed] = (Array.isArray(output) ? output : Object.values(output as object)) as {
    files: readonly { readonly path: string }[]
  }[]
  const paths = packed?.files.map(({ path }) => path) ?? []
  // test/packed checks the other files of the package.
  const packedFiles = ["LICENSE", "README.md", "bin/company-ledger.mjs", "console/dist/index.html"]
  expect(paths).toEqual(expect.arrayContaining(packedFiles))
  expect(paths.some((path) => /^console\/dist\/assets\/.+\.js$/.test(path))).toBe(true)
  expect(paths.filter((path) => /^(test|bench)\/|^console\/(?!dist\/)/.test(path))).toEqual([])
})
