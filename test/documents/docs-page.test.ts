import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(async () => {
  await world.close()
})

const get = (url: string) => world.app.inject({ method: "GET", url })

/** What a page asks the browser for. */
function assetsOf(html: string): readonly string[] {
  return [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url as string)
}

describe("the page of the document", () => {
  it("is served where people look for it", async () => {
    for (const url of ["/docs", "/docs/"]) {
      const answer = await get(url)
      expect([url, answer.statusCode]).toEqual([url, 200])
      expect(answer.headers["content-type"]).toContain("text/html")
    }
  })

  it("needs nothing from another host", async () => {
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

  it("reads the same document", async () => {
    const shown = (await get("/docs/json")).json()
    expect(shown).toEqual((await get("/openapi.json")).json())
  })

  it("may run its own scripts only", async () => {
    const answer = await get("/docs/")
    const policy = String(answer.headers["content-security-policy"])
    expect(policy).toContain("default-src 'none'; script-src 'self';")
    // No other host, and no switch to HTTPS, which would break the page where there is none.
    expect(policy).not.toMatch(/https?:|unsafe|upgrade|\*|swagger/)
    expect(answer.headers["x-content-type-options"]).toBe("nosniff")
    expect(answer.headers["x-request-id"]).toMatch(/^req_/)
  })

  it("asks nobody whether the document is valid", async () => {
    const { payload } = await get("/docs/static/swagger-initializer.js")
    expect(payload).toContain('"validatorUrl":null')
  })

  it("shows no file but its own", async () => {
    for (const path of ["/docs/static/../../package.json", "/docs/static/%2e%2e%2fpackage.json"]) {
      const { statusCode, payload } = await get(path)
      expect(statusCode).toBe(404)
      expect(payload).not.toContain("dependencies")
    }
  })
})
