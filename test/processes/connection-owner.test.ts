/** The first bytes of a connection decide which process serves it. */
import fc from "fast-check"
import { once } from "node:events"
import { METHODS } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import {
  readConnectionStart,
  openRoutingKeyReader,
} from "../../src/bootstrap/processes/connection-routing.ts"
import { homeWorkerOf } from "../../adapters/postgres/home-worker.ts"

const HOST = "ledger.example.com"
const FROM = "192.0.2.7"
const openReader = (isProxied = false) => openRoutingKeyReader({ ownHost: HOST, isProxied }, FROM)
const routingKeyOf = (head: string, isProxied = false) =>
  openReader(isProxied)(Buffer.from(head, "latin1"))
const UNKNOWN_CALLER = { name: FROM, workerNumber: null }
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
    "a request of that page",
    headOf("GET /api/v1/people", `referer: https://${HOST}/console/co_9O7Rqy`),
    "9O7Rqy",
  ],
  [
    "a preview's host",
    headOf("GET /").replace(HOST, "Shop.preview.example.com"),
    "shop.preview.example.com",
  ],
  [
    "its address if it has no key",
    headOf("GET /docs", "authorization: Bearer cpk__", "x-a: cpk_9O7Rqy_tTS6SGYz_x"),
    FROM,
  ],
  ["its address if a header line is malformed", headOf("POST /webhooks/stripe", "nonsense"), FROM],
] as const

describe("a connection's first bytes", () => {
  it.each(CASES)("identify the caller by %s", (_, head, name) => {
    expect(routingKeyOf(head)).toEqual({ name, workerNumber: null })
  })

  it("identify the caller by the last address that a trusted proxy names", () => {
    const head = headOf("GET /docs", "x-forwarded-for: 203.0.113.1, 198.51.100.2")
    expect(routingKeyOf(head, true)?.name).toBe("198.51.100.2")
    // Without a proxy, any client can send this header.
    expect(routingKeyOf(head)?.name).toBe(FROM)
    expect(routingKeyOf(headOf("GET /docs"), true)?.name).toBe(FROM)
  })

  it("name the process whose metrics or health is requested", () => {
    const asked = (path: string) => routingKeyOf(headOf(`GET ${path}`))?.workerNumber
    expect(asked("/metrics?process=3")).toBe(3)
    expect(asked("/readyz?process=12")).toBe(12)
    expect(asked("/livez?verbose&process=2")).toBe(2)
    expect(asked("/livez?process=none")).toBeNaN()
    expect(asked("/metrics")).toBe(null)
    expect(asked("/api/v1/people?process=3")).toBe(null)
    const byKey = headOf("GET /metrics?process=3", "authorization: Bearer cpk_9O7Rqy_tTS6SGYz_x")
    expect(routingKeyOf(byKey)?.workerNumber).toBe(3)
  })

  it("identify the same caller however they are split, and no caller before the end of the head", () => {
    const cut = fc.tuple(fc.constantFrom(...CASES), fc.array(fc.nat(40)))
    fc.assert(
      fc.property(cut, ([[, head, name], sizes]) => {
        const read = openReader()
        const bytes = Buffer.from(`${head}{"to":"cpk_other1_x"}`)
        let found = null
        for (let at = 0, i = 0; found === null && at < bytes.length; i++) {
          const size = 1 + (sizes[i % sizes.length] ?? 0)
          found = read(bytes.subarray(at, at + size))
          at += size
        }
        expect(found?.name).toBe(name)
      }),
    )
  })

  it.each([
    ["a TLS greeting", "\x16\x03\x01\x02\x00\x01"],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n"],
    ["an unknown verb", "GEX"],
    ["a request line with an unknown verb", "GEX / HTTP/1.1\r\n"],
    ["a request line without a version", "GET /\r\n"],
    ["a malformed header line", "GET / HTTP/1.1\r\nnonsense\r\n"],
  ])("go to any process immediately if they are %s", (_, head) => {
    expect(routingKeyOf(head)).toEqual(UNKNOWN_CALLER)
  })

  it("are read to the end of the head if they may be a request", () => {
    for (const verb of METHODS) {
      const read = openReader()
      for (const byte of `\r\n${verb} /a HTTP/1.1\r\nhost: ${HOST}\r\n`) {
        expect(read(Buffer.from(byte)), verb).toBe(null)
      }
      expect(read(Buffer.from("\r\n"))).toEqual(UNKNOWN_CALLER)
    }
  })

  it("are decoded once each, up to the maximum size of a head", () => {
    const decoded = vi.spyOn(Buffer.prototype, "toString")
    onTestFinished(() => decoded.mockRestore())
    const read = openReader()
    let found = null
    let sent = 0
    for (const byte of `GET /${"a".repeat(4_000)} HTTP/1.1\r\nx-a: ${"b".repeat(20_000)}`) {
      if (found !== null) break
      found = read(Buffer.from(byte))
      sent += 1
    }
    expect(found).toEqual(UNKNOWN_CALLER)
    expect(sent).toBe(16_384)
    expect(openReader()(Buffer.alloc(1_000_000, "GET /"))).toEqual(UNKNOWN_CALLER)
    const bytes = decoded.mock.results.map(({ value }) => String(value).length)
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBe(2 * 16_384)
  })

  it("identify no caller in random bytes", () => {
    const noise = fc.string({ unit: "binary", maxLength: 300 })
    fc.assert(
      fc.property(noise, fc.boolean(), (text, isRequest) => {
        const found = routingKeyOf(isRequest ? `GET / HTTP/1.1\r\n${text}` : text)
        if (!/cpk_|host|\/console/i.test(text) && found !== null)
          expect(found).toEqual(UNKNOWN_CALLER)
      }),
    )
  })
})

it("reads nothing of a connection after the head", async () => {
  const server = createServer({ highWaterMark: 0 }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").setNoDelay(true)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  const [socket] = (await once(server, "connection")) as [Socket]
  const start = readConnectionStart(socket, { ownHost: HOST, isProxied: false })
  const head = headOf("POST /docs")
  for (const byte of head) client.write(byte)
  expect((await start)?.head.toString()).toBe(head)
  await new Promise((resolve) => client.write("a body", resolve))
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
  expect(socket.bytesRead).toBe(head.length)
})

describe("the home process of a name", () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `tag${i}`)

  it("is spread evenly", () => {
    for (const processes of [2, 3, 8]) {
      const counts = new Map<number, number>()
      for (const name of names) {
        const home = homeWorkerOf(name, processes) ?? 0
        counts.set(home, (counts.get(home) ?? 0) + 1)
      }
      expect(counts.size).toBe(processes)
      for (const count of counts.values()) {
        expect(Math.abs(count / (names.length / processes) - 1)).toBeLessThan(0.15)
      }
    }
  })

  it("changes only while its process is excluded", () => {
    const without = (excluded: number) => (number: number) => number !== excluded
    for (const name of names.slice(0, 1_000)) {
      const home = homeWorkerOf(name, 4) as number
      for (const excluded of [1, 2, 3, 4]) {
        const now = homeWorkerOf(name, 4, without(excluded)) as number
        expect([1, 2, 3, 4]).toContain(now)
        if (excluded === home) expect(now).not.toBe(home)
        else expect(now).toBe(home)
      }
    }
    expect(homeWorkerOf("any", 4, () => false)).toBe(null)
  })
})
