import { describe, expect, it } from "vitest"
import { nameServersOf, isOurNameServer } from "../../domain/domains/name-servers.ts"
import type { RecordType } from "../../domain/domains/records.ts"
import { clashAmong, readRecord } from "../../domain/domains/records.ts"
import { record } from "./serving.ts"

const read = (type: RecordType, name: string, content: string, priority: number | null = null) => {
  const found = readRecord("acme.com", { type, name, content, priority })
  return "record" in found ? found.record : found.fault
}
const A = "192.0.2.1"

describe("a record that somebody wrote", () => {
  it("has its name relative to the domain, or whole, in small letters", () => {
    const names = { "@": "acme.com", "": "acme.com", "acme.com": "acme.com", WWW: "www.acme.com" }
    const more = { "a.b": "a.b.acme.com", "www.acme.com.": "www.acme.com", "*": "*.acme.com" }
    for (const [written, name] of Object.entries({ ...names, ...more })) {
      expect(read("A", written, A)).toMatchObject({ name })
    }
  })

  it("has no name that a zone file or a server would read as another", () => {
    const odd = ["a\nb", "$INCLUDE", "$a", ";", '"', "a b", "foo*", "a.*", "**", "-a", "a..b", "."]
    for (const name of [...odd, "b".repeat(64), "evil.com.", "x.evilacme.com.", "é", "a\\.b"]) {
      expect(read("A", name, A)).toMatchObject({ field: "name" })
    }
  })

  it("has a name of 253 characters at most, its domain included", () => {
    const of = (length: number) => {
      const text = Array(5).fill("x".repeat(60)).join(".")
      const name = `y${text.slice(text.length - (length - 1 - ".acme.com".length))}`.replace(
        "y.",
        "yy",
      )
      return `${name}.acme.com.`
    }
    expect(of(253).length).toBe(254)
    expect(read("A", of(253), A)).toMatchObject({ type: "A" })
    expect(read("A", of(254), A)).toMatchObject({ field: "name" })
  })

  it("has a content of its type, in the one form of it", () => {
    expect(read("AAAA", "@", "2001:DB8:0:0::1")).toMatchObject({ content: "2001:db8::1" })
    expect(read("AAAA", "@", "::ffff:192.0.2.1")).toMatchObject({ content: "::ffff:c000:201" })
    expect(read("AAAA", "@", "1:0:0:2:0:0:0:3")).toMatchObject({ content: "1:0:0:2::3" })
    expect(read("CNAME", "www", "App.Example.com.")).toMatchObject({ content: "app.example.com" })
    expect(read("MX", "@", ".", 0)).toMatchObject({ content: ".", priority: 0 })
    const wrong: readonly (readonly [RecordType, string])[] = [
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
    for (const [type, content] of wrong) {
      expect(read(type, "www", content)).toMatchObject({ field: "content" })
    }
    expect(read("MX", "@", "127.0.0.1", 1)).toMatchObject({ field: "content" })
  })

  it("has a priority where it is an MX, and else none", () => {
    const field = "priority"
    for (const priority of [null, -1, 65_536, 1.5]) {
      expect(read("MX", "@", "mail.acme.com", priority)).toMatchObject({ field })
    }
    expect(read("A", "@", A, 1)).toMatchObject({ field })
    expect(read("MX", "@", "mail.acme.com", 65_535)).toMatchObject({ priority: 65_535 })
  })
})

describe("beside other records", () => {
  const a = record("A", "www.acme.com", A)
  const alias = record("CNAME", "www.acme.com", "app.example.com")

  it("a CNAME stands alone, and never at the domain itself", () => {
    expect(clashAmong("acme.com", [a], alias)).toContain("stands alone")
    expect(clashAmong("acme.com", [alias], a)).toContain("stands alone")
    const other = record("CNAME", "www.acme.com", "other.example.com")
    expect(clashAmong("acme.com", [alias], other)).toContain("stands alone")
    const apex = record("CNAME", "acme.com", "app.example.com")
    expect(clashAmong("acme.com", [], apex)).toContain("can have none")
    expect(clashAmong("acme.com", [a], record("CNAME", "x.acme.com", "y.example.com"))).toBeNull()
  })

  it("the same one is not there twice, and another of its kind is", () => {
    expect(clashAmong("acme.com", [a], a)).toBe("The same record is there already.")
    expect(clashAmong("acme.com", [a], record("A", "www.acme.com", "192.0.2.2"))).toBeNull()
  })

  it("those of one name and type fit into an answer", () => {
    const texts = Array.from({ length: 5 }, (_, i) =>
      record("TXT", "acme.com", `${i}漢`.repeat(1_000)),
    )
    const more = texts.map((one, i) => ({ ...one, content: `${one.content}${i}` }))
    expect(clashAmong("acme.com", texts, record("TXT", "acme.com", "x"))).toBeNull()
    expect(clashAmong("acme.com", [...texts, ...more], record("TXT", "acme.com", "x"))).toContain(
      "too long",
    )
  })
})

describe("our name servers", () => {
  it("are each company's own: tags that differ in case alone do not share them", () => {
    expect(nameServersOf("aB3xYz", "ns.localhost")).toEqual([
      "ns1-61423378597a.ns.localhost",
      "ns2-61423378597a.ns.localhost",
    ])
    expect(nameServersOf("ab3xyz", "ns.localhost")).not.toEqual(
      nameServersOf("aB3xYz", "ns.localhost"),
    )
    expect(isOurNameServer("ns1-1.ns.localhost", "ns.localhost")).toBe(true)
    expect(isOurNameServer("ns1.evilns.localhost", "ns.localhost")).toBe(false)
  })
})
