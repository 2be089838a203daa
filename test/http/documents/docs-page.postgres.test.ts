import { request } from "node:http"
import { expect, it } from "vitest"
import { ownWorld } from "../../support/world.ts"

const world = await ownWorld("store")

const get = (url: string) => world.app.inject({ method: "GET", url })

/** URLs of the scripts, styles and images of a page. */
function assetsOf(html: string): readonly string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url as string)
}

it("the documentation page is served at /docs and /docs/", async () => {
  for (const url of ["/docs", "/docs/"]) {
    const answer = await get(url)
    expect([url, answer.statusCode]).toEqual([url, 200])
    expect(answer.headers["content-type"]).toContain("text/html")
  }
})

it("the documentation page has the product's name in its title and header", async () => {
  const { payload } = await get("/docs/")
  expect(payload).toContain("<title>Company Platform API of company-ledger</title>")
  const { payload: script } = await get("/docs/static/swagger-initializer.js")
  const [, picture = ""] = /data:image\/svg\+xml;base64,([\w+/=]+)/.exec(script) ?? []
  expect(Buffer.from(picture, "base64").toString()).toContain(">company-ledger</text>")
  expect((await get("/openapi.json")).json().info.title).toContain("company-ledger")
})

it("the documentation page loads nothing from another host", async () => {
  const { payload } = await get("/docs/")
  expect(payload).not.toMatch(/https?:\/\//)
  const assets = assetsOf(payload)
  expect(assets.length).toBeGreaterThan(3)
  for (const asset of assets) {
    const url = new URL(asset, "http://ledger.test/docs/")
    expect(url.origin).toBe("http://ledger.test")
    const { statusCode, payload: body } = await get(url.pathname)
    expect([asset, statusCode, body.length > 0]).toEqual([asset, 200, true])
  }
})

it("the documentation page shows the document of /openapi.json", async () => {
  const shown = (await get("/docs/json")).json()
  expect(shown).toEqual((await get("/openapi.json")).json())
})

it("the documentation page may run only its own scripts", async () => {
  const answer = await get("/docs/")
  const policy = String(answer.headers["content-security-policy"])
  expect(policy).toContain("default-src 'none'; script-src 'self';")
  // No other host, and no upgrade to HTTPS, which would break the page on a server without it.
  expect(policy).not.toMatch(/https?:|unsafe|upgrade|\*|swagger/)
  expect(answer.headers["x-content-type-options"]).toBe("nosniff")
  expect(answer.headers["x-request-id"]).toMatch(/^req_/)
})

it("the documentation page sends the document to no validator", async () => {
  const { payload } = await get("/docs/static/swagger-initializer.js")
  expect(payload).toContain('"validatorUrl":null')
})

it("the documentation answers HEAD like GET and rejects other verbs", async () => {
  for (const url of [
    "/docs",
    "/docs/",
    "/docs/json",
    "/docs/yaml",
    "/openapi.json",
    "/docs/static/swagger-ui.css",
    "/docs/static/swagger-initializer.js",
  ]) {
    const [got, head] = [await get(url), await world.app.inject({ method: "HEAD", url })]
    expect([url, got.statusCode, head.statusCode, head.payload]).toEqual([url, 200, 200, ""])
    expect(head.headers["content-type"]).toBe(got.headers["content-type"])
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] as const) {
      const other = await world.app.inject({ method: method as "POST", url })
      const { allow } = other.headers
      expect([url, method, other.statusCode, allow]).toEqual([url, method, 405, "GET, HEAD"])
      expect(other.json()).toMatchObject({ error: "method_not_allowed" })
    }
  }
})

it("the documentation serves only its own files and logs no warning about other paths", async () => {
  await world.app.listen({ host: "127.0.0.1", port: 0 })
  for (const path of [
    "../../../package.json",
    "../../../package.json",
    "%2e%2e%2fpackage.json",
    "%2e%2e/%2e%2e/package.json",
    "..%2f..%2fpackage.json",
    "%5c..%5c..%5cpackage.json",
    "..%5c..%5cpackage.json",
    "%00",
    "x%00.css",
    "..",
    ".env",
    "%2eenv",
    "nothing",
    "%",
    "%zz",
    "%c0%ae%c0%ae/package.json",
    "//etc/passwd",
    "a/../../../package.json",
  ]) {
    const { status, body } = await getRaw(`/docs/static/${path}`)
    expect([path, status, JSON.parse(body)]).toEqual([
      path,
      404,
      { error: "not_found", message: `The path /docs/static/${path} does not exist.` },
    ])
  }
  expect(world.warnings).toEqual([])
})

/** Requests a path exactly as written; a URL would resolve it first. */
async function getRaw(path: string): Promise<{ status: number; body: string }> {
  const { port } = new URL(world.app.listeningOrigin)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const sending = request({ host: "127.0.0.1", port, path, agent: false }, (answer) => {
    answerText(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject)
  })
  sending.on("error", reject).end()
  return promise
}

async function answerText(answer: AsyncIterable<unknown>): Promise<string> {
  let text = ""
  for await (const chunk of answer) text += String(chunk)
  return text
}
