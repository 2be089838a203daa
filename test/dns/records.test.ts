/** Parsing of records, registrar lookups by RDAP, and PowerDNS by its responses. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { once } from "node:events"
import { describe, expect, it, afterEach, afterAll, beforeEach } from "vitest"
import { companyNameServers, isOurNameServer } from "../../domain/domains/domain-views.ts"
import type { RecordType } from "../../domain/domains/dns-records.ts"
import { recordConflict, parseRecord } from "../../domain/domains/dns-records.ts"
import { zoneRecord, zoneWith } from "./dns-server.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import { newSignal } from "../support/signal.ts"
import { openRdap } from "../../adapters/providers/dns/rdap.ts"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"

const read = (type: RecordType, name: string, content: string, priority: number | null = null) => {
  const found = parseRecord("acme.com", { type, name, content, priority })
  return "record" in found ? found.record : found.fault
}
const A = "192.0.2.1"

describe("a record that a caller wrote", () => {
  it("has a relative or a full name, which is lowercased", () => {
    const names = { "@": "acme.com", "": "acme.com", "acme.com": "acme.com", WWW: "www.acme.com" }
    const more = { "a.b": "a.b.acme.com", "www.acme.com.": "www.acme.com", "*": "*.acme.com" }
    for (const [written, name] of Object.entries({ ...names, ...more })) {
      expect(read("A", written, A)).toMatchObject({ name })
    }
  })

  it("is rejected if a zone file or a server could read its name as another one", () => {
    const odd = ["a\nb", "$INCLUDE", "$a", ";", '"', "a b", "foo*", "a.*", "**", "-a", "a..b", "."]
    for (const name of [...odd, "b".repeat(64), "evil.com.", "x.evilacme.com.", "é", "a\\.b"]) {
      expect(read("A", name, A)).toMatchObject({ field: "name" })
    }
  })

  it("has a name of at most 253 characters, including its domain", () => {
    const nameOf = (length: number) => {
      const text = Array(5).fill("x".repeat(60)).join(".")
      const name = `y${text.slice(text.length - (length - 1 - ".acme.com".length))}`.replace(
        "y.",
        "yy",
      )
      return `${name}.acme.com.`
    }
    expect(nameOf(253).length).toBe(254)
    expect(read("A", nameOf(253), A)).toMatchObject({ type: "A" })
    expect(read("A", nameOf(254), A)).toMatchObject({ field: "name" })
  })

  it("has content that is valid for its type, in canonical form", () => {
    expect(read("AAAA", "@", "2001:DB8:0:0::1")).toMatchObject({ content: "2001:db8::1" })
    expect(read("AAAA", "@", "::ffff:192.0.2.1")).toMatchObject({ content: "::ffff:c000:201" })
    expect(read("AAAA", "@", "1:0:0:2:0:0:0:3")).toMatchObject({ content: "1:0:0:2::3" })
    expect(read("CNAME", "www", "App.Example.com.")).toMatchObject({ content: "app.example.com" })
    expect(read("MX", "@", ".", 0)).toMatchObject({ content: ".", priority: 0 })
    const invalid: readonly (readonly [RecordType, string])[] = [
      ...["192.0.2.010", "127.1", "0x7f.1", "1.2.3.256", "1.2.3.4\n", "::1"].map(
        (one) => ["A", one] as const,
      ),
      ...["fe80::1%eth0", "1::2::3", ":::", "1:2:3:4:5:6:7:8:9", "g::1", A].map(
        (one) => ["AAAA", one] as const,
      ),
      ...["127.0.0.1", "mail", "a b.com", "a\n.com", "www.acme.com"].map(
        (one) => ["CNAME", one] as const,
      ),
      ...["", "x".repeat(2_049), "a\0b", "\ud800"].map((one) => ["TXT", one] as const),
    ]
    for (const [type, content] of invalid) {
      expect(read(type, "www", content)).toMatchObject({ field: "content" })
    }
    expect(read("MX", "@", "127.0.0.1", 1)).toMatchObject({ field: "content" })
  })

  it("has a priority if and only if it is an MX", () => {
    const field = "priority"
    for (const priority of [null, -1, 65_536, 1.5]) {
      expect(read("MX", "@", "mail.acme.com", priority)).toMatchObject({ field })
    }
    expect(read("A", "@", A, 1)).toMatchObject({ field })
    expect(read("MX", "@", "mail.acme.com", 65_535)).toMatchObject({ priority: 65_535 })
  })
})

describe("among other records", () => {
  const a = zoneRecord("A", "www.acme.com", A)
  const alias = zoneRecord("CNAME", "www.acme.com", "app.example.com")

  it("a CNAME is the only record of its name, and is never at the apex", () => {
    expect(recordConflict("acme.com", [a], alias)).toContain("only record")
    expect(recordConflict("acme.com", [alias], a)).toContain("only record")
    const other = zoneRecord("CNAME", "www.acme.com", "other.example.com")
    expect(recordConflict("acme.com", [alias], other)).toContain("only record")
    const apex = zoneRecord("CNAME", "acme.com", "app.example.com")
    expect(recordConflict("acme.com", [], apex)).toContain("cannot have a CNAME")
    expect(
      recordConflict("acme.com", [a], zoneRecord("CNAME", "x.acme.com", "y.example.com")),
    ).toBeNull()
  })

  it("a duplicate is rejected, and another record of the same name and type is accepted", () => {
    expect(recordConflict("acme.com", [a], a)).toBe("The same record already exists.")
    expect(recordConflict("acme.com", [a], zoneRecord("A", "www.acme.com", "192.0.2.2"))).toBeNull()
  })

  it("all records of one name and type fit into one reply", () => {
    const texts = Array.from({ length: 5 }, (_, i) =>
      zoneRecord("TXT", "acme.com", `${i}漢`.repeat(1_000)),
    )
    const more = texts.map((one, i) => ({ ...one, content: `${one.content}${i}` }))
    expect(recordConflict("acme.com", texts, zoneRecord("TXT", "acme.com", "x"))).toBeNull()
    expect(
      recordConflict("acme.com", [...texts, ...more], zoneRecord("TXT", "acme.com", "x")),
    ).toContain("larger than 32768 bytes")
  })
})

describe("our name servers", () => {
  it("differ for each company, even if tags differ only in case", () => {
    expect(companyNameServers("aB3xYz", "ns.localhost")).toEqual([
      "ns1-61423378597a.ns.localhost",
      "ns2-61423378597a.ns.localhost",
    ])
    expect(companyNameServers("ab3xyz", "ns.localhost")).not.toEqual(
      companyNameServers("aB3xYz", "ns.localhost"),
    )
    expect(isOurNameServer("ns1-1.ns.localhost", "ns.localhost")).toBe(true)
    expect(isOurNameServer("ns1.evilns.localhost", "ns.localhost")).toBe(false)
  })
})

const CARD = [
  "vcard",
  [
    ["version", {}, "text", "4.0"],
    ["fn", {}, "text", "Some Registrar, Inc."],
  ],
]
const ANSWER = { entities: [{ roles: ["abuse"] }, { roles: ["registrar"], vcardArray: CARD }] }

describe("the registrar of a domain by RDAP", () => {
  let close = async (): Promise<void> => undefined
  afterEach(() => close())

  const open = async (answer: unknown, pacer: Pacer = machinePacer, onSilence = () => {}) => {
    const requests: string[] = []
    const server = createServer((request, response) => {
      requests.push(request.url ?? "")
      if (request.url === "/silent/domain/acme.net") return onSilence()
      const { port } = server.address() as AddressInfo
      const services = [
        [["com", "org"], [`http://127.0.0.1:${port}/rdap`]],
        [["net"], [`http://127.0.0.1:${port}/silent/`]],
      ]
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify(request.url === "/dns.json" ? { services } : answer))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    close = async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
    const { port } = server.address() as AddressInfo
    return {
      requests,
      registrar: openRdap({ pacer, bootstrapUrl: `http://127.0.0.1:${port}/dns.json` }),
    }
  }

  it("is looked up at the server that the bootstrap list names, and the list is cached", async () => {
    const { requests, registrar } = await open(ANSWER)
    expect(await registrar.findRegistrarName("acme.com")).toBe("Some Registrar, Inc.")
    expect(await registrar.findRegistrarName("acme.org")).toBe("Some Registrar, Inc.")
    expect(requests).toEqual(["/dns.json", "/rdap/domain/acme.com", "/rdap/domain/acme.org"])
  })

  it("is null if no server is listed, or its answer has another form or is late", async () => {
    const silence = newSignal()
    let isSilent = false
    // The lookup times out once the server has received the request that it never answers.
    const pacer = { ...machinePacer, pause: () => silence.until(() => isSilent) }
    const { registrar } = await open({ entities: [{ roles: ["registrar"] }] }, pacer, () => {
      isSilent = true
      silence.notify()
    })
    expect(await registrar.findRegistrarName("acme.example")).toBeNull()
    expect(await registrar.findRegistrarName("acme.com")).toBeNull()
    expect(isSilent).toBe(false)
    expect(await registrar.findRegistrarName("acme.net")).toBeNull()
    expect(isSilent).toBe(true)
  })
})

/** Methods of the requests so far, and the zones that exist. */
const methods: string[] = []
const zones = new Set<string>()
/** Status of the next response to a method; the call has taken effect all the same. */
const next = new Map<string, number>()

const ANSWERS: Readonly<Record<string, number>> = { GET: 200, PATCH: 204, DELETE: 204 }
const server = createServer((request, response) => {
  const method = request.method ?? ""
  methods.push(method)
  const status = next.get(method) ?? ANSWERS[method] ?? (zones.has("zone") ? 409 : 201)
  next.delete(method)
  if (method === "POST") zones.add("zone")
  if (method === "DELETE") zones.clear()
  request.resume()
  response.writeHead(status, { "content-type": "application/json" })
  response.end(status === 204 ? undefined : JSON.stringify({ rrsets: [] }))
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const { port } = server.address() as AddressInfo
const powerDns = openPowerDns({ url: `http://127.0.0.1:${port}`, key: "KEY1" })
beforeEach(() => {
  methods.length = 0
  zones.clear()
  next.clear()
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const ZONE = zoneWith("one.example", [zoneRecord("A", "one.example", "192.0.2.1")], 1)

describe("PowerDNS", () => {
  it("creates a zone once, and treats 409 as success", async () => {
    await powerDns.publish(ZONE)
    await powerDns.publish(ZONE)
    expect(methods).toEqual(["POST", "GET", "PATCH", "POST", "GET", "PATCH"])
  })

  it.each([307, 408, 425, 500, 502, 503, 504])(
    "may have applied a call that it answers with %i, and a retry succeeds",
    async (status) => {
      for (const method of ["POST", "PATCH"]) {
        next.set(method, status)
        await expect(powerDns.publish(ZONE)).rejects.toThrow(ProviderOutcomeUnknown)
        await powerDns.publish(ZONE)
        expect([...zones]).toEqual(["zone"])
      }
      next.set("DELETE", status)
      await expect(powerDns.withdraw("one.example")).rejects.toThrow(ProviderOutcomeUnknown)
      await powerDns.withdraw("one.example")
      expect([...zones]).toEqual([])
    },
  )

  it.each([400, 401, 422, 429])(
    "has not applied a call that it answers with %i",
    async (status) => {
      next.set("PATCH", status)
      await expect(powerDns.publish(ZONE)).rejects.toThrow(ProviderUnavailable)
      next.set("DELETE", status)
      await expect(powerDns.withdraw("one.example")).rejects.toThrow(ProviderUnavailable)
    },
  )
})
