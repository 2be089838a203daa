/** Who the beginning of a connection names. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { namedBy } from "../../src/compose/processes/beginning.ts"
import { homeOf } from "../../adapters/postgres/homes.ts"

const HOST = "ledger.example.com"
const FROM = "192.0.2.7"
const named = (head: string, isProxied = false) => namedBy(head, { ownHost: HOST, isProxied }, FROM)
const headOf = (first: string, ...fields: readonly string[]) =>
  [`${first} HTTP/1.1`, `host: ${HOST}`, ...fields, "", ""].join("\r\n")
const basic = (text: string) => `authorization: Basic ${Buffer.from(text).toString("base64")}`

const CASES = [
  [
    "a key",
    headOf("GET /api/v1/people", "Authorization: Bearer cpk_9O7Rqy_tTS6SGYz_secret"),
    "9O7Rqy",
  ],
  [
    "a key as git sends it",
    headOf("GET /git/acme.git", basic("x:cpk_9O7Rqy_tTS6SGYz_secret")),
    "9O7Rqy",
  ],
  ["a page of the console", headOf("GET /console/co_9O7Rqy/limits"), "9O7Rqy"],
  [
    "what that page asks for",
    headOf("GET /api/v1/people", `referer: https://${HOST}/console/co_9O7Rqy`),
    "9O7Rqy",
  ],
  [
    "a preview's host",
    headOf("GET /").replace(HOST, "Shop.preview.example.com"),
    "shop.preview.example.com",
  ],
  [
    "nobody",
    headOf("GET /docs", "authorization: Bearer cpk__", "x-a: cpk_9O7Rqy_tTS6SGYz_x"),
    FROM,
  ],
  ["nobody, by a field that is none", headOf("POST /webhooks/stripe", "nonsense"), FROM],
] as const

describe("the beginning of a connection", () => {
  it.each(CASES)("goes by %s", (_, head, name) => {
    expect(named(head)).toEqual({ name, process: null })
  })

  it("goes by the address that a proxy says last, where there is one", () => {
    const head = headOf("GET /docs", "x-forwarded-for: 203.0.113.1, 198.51.100.2")
    expect(named(head, true)?.name).toBe("198.51.100.2")
    // Anybody can say it where no proxy stands before us.
    expect(named(head)?.name).toBe(FROM)
    expect(named(headOf("GET /docs"), true)?.name).toBe(FROM)
  })

  it("names the process whose state is asked for", () => {
    const asked = (path: string) => named(headOf(`GET ${path}`))?.process
    expect(asked("/metrics?process=3")).toBe(3)
    expect(asked("/readyz?process=12")).toBe(12)
    expect(asked("/metrics")).toBe(null)
    expect(asked("/api/v1/people?process=3")).toBe(null)
  })

  it("names the same however it is cut, and nobody before it is known", () => {
    const cut = fc.tuple(fc.constantFrom(...CASES), fc.nat())
    fc.assert(
      fc.property(cut, ([[, head, name], at]) => {
        const part = named(head.slice(0, at % (head.length + 1)))
        if (part !== null) expect(part.name).toBe(name)
        expect(named(`${head}{"to":"cpk_other1_x"}`)?.name).toBe(name)
      }),
    )
  })

  it("names nobody wrongly, whatever bytes come", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const found = named(text)
        // More has to be read of what does not end.
        if (!text.includes("\r\n\r\n") && !text.includes("cpk_")) expect(found).toBe(null)
      }),
    )
  })
})

describe("the home of a name", () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `tag${i}`)

  it("is spread evenly", () => {
    for (const processes of [2, 3, 8]) {
      const counts = new Map<number, number>()
      for (const name of names) {
        const home = homeOf(name, processes) ?? 0
        counts.set(home, (counts.get(home) ?? 0) + 1)
      }
      expect(counts.size).toBe(processes)
      for (const count of counts.values()) {
        expect(Math.abs(count / (names.length / processes) - 1)).toBeLessThan(0.15)
      }
    }
  })

  it("moves only where its process is left out, and back", () => {
    const without = (left: number) => (number: number) => number !== left
    for (const name of names.slice(0, 1_000)) {
      const home = homeOf(name, 4) as number
      for (const left of [1, 2, 3, 4]) {
        const now = homeOf(name, 4, without(left)) as number
        expect([1, 2, 3, 4]).toContain(now)
        if (left === home) expect(now).not.toBe(home)
        else expect(now).toBe(home)
      }
    }
    expect(homeOf("any", 4, () => false)).toBe(null)
  })
})
