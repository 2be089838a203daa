import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { dig, missingProgram, record, serving, zoneWith } from "./serving.ts"

const absent = missingProgram("dig", "-v")
const LONG = `${"x".repeat(600)}"\\;漢`
const ZONE = zoneWith(
  "acme.com",
  [
    record("A", "acme.com", "192.0.2.1"),
    record("AAAA", "acme.com", "2001:db8::1"),
    record("MX", "acme.com", "mail.acme.com", 10),
    record("TXT", "acme.com", LONG),
    record("CAA", "acme.com", '0 issue "ca.example; account=1"'),
    record("SRV", "_sip._tcp.acme.com", "0 5060 sip.acme.com", 5),
    record("CNAME", "www.acme.com", "app.acme.com"),
    record("CNAME", "app.acme.com", "acme.com"),
    record("CNAME", "lost.acme.com", "nowhere.acme.com"),
    record("CNAME", "away.acme.com", "host.elsewhere.example"),
    ...["a", "b"].map((one, i) => record("CNAME", `${one}.acme.com`, `${"ba"[i]}.acme.com`)),
    record("A", "deep.between.acme.com", "192.0.2.2"),
    record("A", "*.wild.acme.com", "192.0.2.3"),
    record("A", "there.wild.acme.com", "192.0.2.4"),
    record("NS", "part.acme.com", "ns1.part.acme.com"),
    record("A", "ns1.part.acme.com", "192.0.2.9"),
    ...Array.from({ length: 100 }, (_, i) => record("A", "many.acme.com", `192.0.2.${i}`)),
    ...["192.0.2.5", "192.0.2.6"].map((one, i) => ({
      ...record("A", "uneven.acme.com", one),
      ttl: 60 + i,
    })),
  ],
  7,
)
const SOA =
  "acme.com.\t\t300\tIN\tSOA\tns1-61.ns.localhost. hostmaster.ns.localhost. 7 7200 900 1209600 300"

describe("dig asks our name server", () => {
  beforeEach((ctx) => ctx.skip(absent !== null, absent ?? ""))
  let server: Awaited<ReturnType<typeof serving>>
  beforeAll(async () => {
    server = await serving([ZONE])
  })
  afterAll(() => server.close())
  const lines = async (...words: string[]) => {
    const text = await dig(server.port, words)
    const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith(";"))
    const status = /status: (\w+)/.exec(text)?.[1]
    const flags = /flags: ([a-z ]+);/.exec(text)?.[1]
    return { status, flags, rows, text }
  }
  const values = async (...words: string[]) =>
    (await lines(...words)).rows.map((row) => row.split(/\s+/).slice(3).join(" "))

  it("for each type", async () => {
    expect(await values("acme.com", "A")).toEqual(["A 192.0.2.1"])
    expect(await values("acme.com", "AAAA")).toEqual(["AAAA 2001:db8::1"])
    expect(await values("acme.com", "MX")).toEqual(["MX 10 mail.acme.com."])
    expect(await values("acme.com", "CAA")).toEqual(['CAA 0 issue "ca.example; account=1"'])
    expect(await values("_sip._tcp.acme.com", "SRV")).toEqual(["SRV 5 0 5060 sip.acme.com."])
    expect(await values("acme.com", "NS")).toEqual([
      "NS ns1-61.ns.localhost.",
      "NS ns2-61.ns.localhost.",
    ])
    expect((await lines("acme.com", "SOA")).rows).toEqual([SOA])
  })

  it("for a TXT over 255 bytes, as strings that are one text", async () => {
    const [row = ""] = await values("acme.com", "TXT")
    const strings = [...row.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, one = ""]) => one)
    expect(strings.map((one) => one.length)).toEqual([255, 255, 90 + 2 + 2 + 1 + 12])
    expect(strings.join("")).toBe(`${"x".repeat(600)}\\"\\\\;\\230\\188\\162`)
  })

  it("through chains of CNAME: to their end, out of the zone, into nothing and round", async () => {
    const chain = await values("www.acme.com", "A")
    expect(chain).toEqual(["CNAME app.acme.com.", "CNAME acme.com.", "A 192.0.2.1"])
    expect(await values("away.acme.com")).toEqual(["CNAME host.elsewhere.example."])
    const lost = await lines("lost.acme.com")
    expect(lost).toMatchObject({ status: "NXDOMAIN", rows: [expect.any(String), SOA] })
    expect(await lines("a.acme.com")).toMatchObject({ status: "SERVFAIL", rows: [] })
    expect(await values("www.acme.com", "CNAME")).toEqual(["CNAME app.acme.com."])
  })

  it("for what is not there: the name, or the type alone, with the SOA", async () => {
    expect(await lines("nope.acme.com")).toMatchObject({ status: "NXDOMAIN", rows: [SOA] })
    expect(await lines("between.acme.com")).toMatchObject({ status: "NOERROR", rows: [SOA] })
    expect(await lines("acme.com", "TYPE65")).toMatchObject({ status: "NOERROR", rows: [SOA] })
  })

  it("below a wildcard, unless the name is there", async () => {
    expect(await values("any.wild.acme.com")).toEqual(["A 192.0.2.3"])
    expect(await values("far.below.wild.acme.com")).toEqual(["A 192.0.2.3"])
    expect(await values("there.wild.acme.com")).toEqual(["A 192.0.2.4"])
    expect((await lines("below.there.wild.acme.com")).status).toBe("NXDOMAIN")
  })

  it("for a part that is served elsewhere: who that is, without authority", async () => {
    const { flags, rows } = await lines("x.part.acme.com")
    expect(flags).toBe("qr rd")
    expect(rows.map((row) => row.split(/\s+/).slice(3).join(" "))).toEqual([
      "NS ns1.part.acme.com.",
      "A 192.0.2.9",
    ])
    expect(await lines("part.acme.com", "DS")).toMatchObject({ flags: "qr aa rd", rows: [SOA] })
  })

  it("in the letters in which it asked, with one TTL for a set", async () => {
    expect((await lines("AcMe.CoM", "A")).rows).toEqual(["AcMe.CoM.\t\t300\tIN\tA\t192.0.2.1"])
    const ttls = (await lines("uneven.acme.com")).rows.map((row) => row.split(/\s+/)[1])
    expect(ttls).toEqual(["60", "60"])
  })

  it("over TCP where the answer is too long for UDP", async () => {
    const cut = await lines("many.acme.com", "+ignore")
    expect(cut).toMatchObject({ flags: "qr aa tc rd", rows: [] })
    expect((await lines("many.acme.com")).rows.length).toBe(100)
    expect((await lines("acme.com", "TXT", "+ignore", "+noedns")).flags).toBe("qr aa tc rd")
    expect((await lines("acme.com", "A", "+tcp", "+keepopen")).rows.length).toBe(1)
  })

  it("with EDNS of ours, and is told of others", async () => {
    expect((await lines("acme.com", "+dnssec")).text).toContain("flags: do; udp: 1232")
    expect((await lines("acme.com", "+edns=1", "+noednsneg")).status).toBe("BADVERS")
    expect((await lines("acme.com", "+noedns")).text).not.toContain("EDNS")
  })

  it("and gets nothing that amplifies, and nothing of others", async () => {
    expect(await values("acme.com", "ANY")).toEqual(['HINFO "RFC8482" ""'])
    expect((await lines("acme.com", "AXFR")).status).toBe("REFUSED")
    expect(await lines("other.com")).toMatchObject({ status: "REFUSED", rows: [] })
    expect((await lines("version.bind", "CH", "TXT")).status).toBe("REFUSED")
    expect((await lines("acme.com", "+opcode=2")).status).toBe("NOTIMP")
  })

  it("no more for a domain that is withdrawn, and again once it is published", async () => {
    await server.served.withdraw("acme.com")
    expect((await lines("acme.com")).status).toBe("REFUSED")
    await server.served.publish(ZONE)
    expect(await values("acme.com", "A")).toEqual(["A 192.0.2.1"])
    expect(server.faults).toEqual([])
  })
})
