/** Zone files loaded by BIND, and our name server queried by dig. */
import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { RecordBody, RecordInput, Zone } from "../../domain/domains/dns-records.ts"
import {
  COPIED_RECORD_TYPES,
  WRITABLE_RECORD_TYPES,
  recordConflict,
  parseRecord,
} from "../../domain/domains/dns-records.ts"
import { zoneWith, dig, missingDnsProgramReason, zoneRecord, serveZones } from "./dns-server.ts"
import { formatZoneFile } from "../../domain/domains/zone-file.ts"
import { readZoneFile } from "../support/zone-file-reader.ts"

const label = fc.constantFrom("www", "a", "b", "_dmarc", "MAIL", "x-1", "*", "1", "a".repeat(63))
const wild = fc.constantFrom(
  "$INCLUDE",
  "a\nb",
  ";",
  '"',
  "a b",
  "foo*",
  "a.*",
  "-a",
  "a..b",
  "b".repeat(64),
  "\\097",
  "",
)
const anyName = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(label, { minLength: 1, maxLength: 4 }).map((all) => all.join(".")),
  },
  { weight: 2, arbitrary: fc.constant("@") },
  { weight: 1, arbitrary: wild },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
)
const host = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("mail.example.net", "A.b.example.org.", "www.acme.com", "."),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("127.0.0.1", "mail", "a\n$INCLUDE x", "a b.example.net"),
  },
)
const anyContent = {
  A: fc.oneof(fc.ipV4(), fc.constantFrom("192.0.2.010", "127.1", "192.0.2.1\n@ A 192.0.2.2")),
  AAAA: fc.oneof(fc.ipV6(), fc.constantFrom("fe80::1%eth0", "::ffff:192.0.2.1", "2001:DB8:0:0::1")),
  CNAME: host,
  MX: host,
  NS: host,
  TXT: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('"', "\\", ";", "\n", "\r", "\t", "漢", "😀", "(", "x") }),
    fc.integer({ min: 200, max: 2_048 }).map((length) => "漢".repeat(length)),
    fc.integer({ min: 250, max: 2_048 }).map((length) => "y".repeat(length)),
  ),
  SRV: fc.tuple(fc.nat(70_000), fc.nat(70_000), host).map((all) => all.join(" ")),
  CAA: fc
    .tuple(fc.nat(300), fc.string({ maxLength: 20 }))
    .map(([flags, value]) => `${flags} issue "${value}"`),
}

const written: fc.Arbitrary<RecordInput> = fc
  .constantFrom(...WRITABLE_RECORD_TYPES, ...COPIED_RECORD_TYPES)
  .chain((type) =>
    fc.record({
      type: fc.constant(type),
      name: anyName,
      content: anyContent[type],
      priority: type === "MX" || type === "SRV" ? fc.nat(65_535) : fc.constant(null),
    }),
  )

/** The records that are accepted when all are added in order. */
function accepted(apex: string, all: readonly RecordInput[]): readonly RecordBody[] {
  const records: RecordBody[] = []
  for (const one of all) {
    const read = parseRecord(apex, one)
    if ("fault" in read || recordConflict(apex, records, read.record) !== null) continue
    records.push(read.record)
  }
  return records
}

/** Zones of `acme.com`. */
const zones: fc.Arbitrary<Zone> = fc
  .tuple(fc.array(written, { maxLength: 25 }), fc.nat(2 ** 32 - 1))
  .map(([all, serial]) => {
    const records = accepted("acme.com", all).map((one) => ({ ...one, ttl: 300 }))
    return zoneWith("acme.com", records, serial)
  })

const absent =
  missingDnsProgramReason("named-checkzone", "-v") ??
  missingDnsProgramReason("named-checkconf", "-v")
const noDig = missingDnsProgramReason("dig", "-v")

/** The records of a zone in a form that can be compared with a zone file. */
const recordsOf = ({ records }: Zone): readonly string[] =>
  records.map(({ name, type, content, priority }) => {
    const text = type === "TXT" ? Buffer.from(content).toString("latin1") : content
    return JSON.stringify([name, type, priority, text])
  })

/** The records of a zone file in the same form. */
function readBack(file: string): readonly string[] {
  const unrooted = (word = "") => (word === "." ? word : word.replace(/\.$/, ""))
  return readZoneFile(file).flatMap(({ name, type, values }) => {
    const [first = "", ...rest] = values
    const record = (content: string, priority: number | null = null) => [
      JSON.stringify([name, type, priority, content]),
    ]
    if (type === "SOA" || (type === "NS" && name === "acme.com")) return []
    if (type === "TXT") return record(values.join(""))
    if (type === "CAA") return record(`${first} ${rest[0]} "${rest.slice(1).join(" ")}"`)
    if (type === "MX") return record(unrooted(rest[0]), Number(first))
    if (type === "SRV") return record(`${rest[0]} ${rest[1]} ${unrooted(rest[2])}`, Number(first))
    return record(type === "A" || type === "AAAA" ? first : unrooted(first))
  })
}

describe("a zone file", () => {
  it("has the records of its zone when an independent parser reads it", () => {
    let count = 0
    fc.assert(
      fc.property(zones, (zone) => {
        count += zone.records.length
        expect(readBack(formatZoneFile(zone))).toEqual(recordsOf(zone))
      }),
      { numRuns: 1_000 },
    )
    expect(count).toBeGreaterThan(2_000)
  })

  it("has one line per record, whatever its content is", () => {
    const text = 'one\n$INCLUDE /etc/passwd\n" ; @ A 192.0.2.1 \\'
    const lines = formatZoneFile(zoneWith("acme.com", [zoneRecord("TXT", "acme.com", text)])).split(
      "\n",
    )
    expect(lines.slice(2)).toEqual([
      "acme.com. 300 IN SOA ns1-61.ns.localhost. hostmaster.ns.localhost. 1 7200 900 1209600 300",
      "acme.com. 300 IN NS ns1-61.ns.localhost.",
      "acme.com. 300 IN NS ns2-61.ns.localhost.",
      String.raw`acme.com. 300 IN TXT "one\010$INCLUDE /etc/passwd\010\" ; @ A 192.0.2.1 \\"`,
      "",
    ])
  })
})

describe("1,000 random zones", () => {
  beforeEach((ctx) => ctx.skip(absent !== null, absent ?? ""))
  let folder = ""
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "zones-"))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it("load: all of them in named-checkconf, and a sample in named-checkzone", async () => {
    const all = fc.sample(zones, 1_000)
    const paths = all.map((_, i) => join(folder, `${i}.zone`))
    await Promise.all(all.map((zone, i) => writeFile(paths[i] ?? "", formatZoneFile(zone))))
    // All zones have one name, so each gets its own view. Names are checked as named-checkzone does by default.
    const views = paths.map(
      (path, i) =>
        `view v${i} { zone "acme.com" { type primary; file "${path}"; check-integrity no; check-names warn; }; };`,
    )
    const settings = join(folder, "named.conf")
    await writeFile(settings, views.join("\n"))
    const done = spawnSync("named-checkconf", ["-z", settings], { encoding: "utf8" })
    const loaded = done.stdout.split("\n").filter((line) => line.includes(": loaded serial"))
    expect(done.stdout.split("\n").filter((line) => line.includes("fail"))).toEqual([])
    expect(done.status).toBe(0)
    expect(loaded.length).toBe(1_000)
    for (const path of paths.slice(0, 10)) {
      const one = spawnSync("named-checkzone", ["-i", "local", "acme.com", path])
      expect(one.status).toBe(0)
    }
  })
})

describe("random zones over our name server", () => {
  beforeEach((ctx) => ctx.skip(noDig !== null, noDig ?? ""))
  it("are answered as their zone files say", async () => {
    for (const zone of fc.sample(zones, 5)) {
      const server = await serveZones([zone])
      const plain = zone.records.filter(
        ({ name, type }) =>
          type !== "NS" &&
          !zone.records.some(
            (one) => one.type === "NS" && (name === one.name || name.endsWith(`.${one.name}`)),
          ),
      )
      for (const { name, type } of plain.slice(0, 4)) {
        const text = await dig(server.port, [
          "-q",
          name,
          "-t",
          type,
          "+noauthority",
          "+noadditional",
        ])
        const count = text.split("\n").filter((line) => line.split(/\s+/)[3] === type).length
        const expected = zone.records.filter((one) => one.name === name && one.type === type)
        expect(count).toBeGreaterThanOrEqual(expected.length)
      }
      await server.close()
      expect(server.faults).toEqual([])
    }
  })
})
const LONG = `${"x".repeat(600)}"\\;漢`
const ZONE = zoneWith(
  "acme.com",
  [
    zoneRecord("A", "acme.com", "192.0.2.1"),
    zoneRecord("AAAA", "acme.com", "2001:db8::1"),
    zoneRecord("MX", "acme.com", "mail.acme.com", 10),
    zoneRecord("TXT", "acme.com", LONG),
    zoneRecord("CAA", "acme.com", '0 issue "ca.example; account=1"'),
    zoneRecord("SRV", "_sip._tcp.acme.com", "0 5060 sip.acme.com", 5),
    zoneRecord("CNAME", "www.acme.com", "app.acme.com"),
    zoneRecord("CNAME", "app.acme.com", "acme.com"),
    zoneRecord("CNAME", "lost.acme.com", "nowhere.acme.com"),
    zoneRecord("CNAME", "away.acme.com", "host.elsewhere.example"),
    ...["a", "b"].map((one, i) => zoneRecord("CNAME", `${one}.acme.com`, `${"ba"[i]}.acme.com`)),
    zoneRecord("A", "deep.between.acme.com", "192.0.2.2"),
    zoneRecord("A", "*.wild.acme.com", "192.0.2.3"),
    zoneRecord("A", "there.wild.acme.com", "192.0.2.4"),
    zoneRecord("NS", "part.acme.com", "ns1.part.acme.com"),
    zoneRecord("A", "ns1.part.acme.com", "192.0.2.9"),
    ...Array.from({ length: 100 }, (_, i) => zoneRecord("A", "many.acme.com", `192.0.2.${i}`)),
    ...["192.0.2.5", "192.0.2.6"].map((one, i) => ({
      ...zoneRecord("A", "uneven.acme.com", one),
      ttl: 60 + i,
    })),
  ],
  7,
)
const SOA =
  "acme.com.\t\t300\tIN\tSOA\tns1-61.ns.localhost. hostmaster.ns.localhost. 7 7200 900 1209600 300"

describe("our name server", () => {
  beforeEach((ctx) => ctx.skip(noDig !== null, noDig ?? ""))
  let server: Awaited<ReturnType<typeof serveZones>>
  beforeAll(async () => {
    server = await serveZones([ZONE])
  })
  afterAll(() => server.close())
  const lines = async (...args: string[]) => {
    const text = await dig(server.port, args)
    const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith(";"))
    const status = /status: (\w+)/.exec(text)?.[1]
    const flags = /flags: ([a-z ]+);/.exec(text)?.[1]
    return { status, flags, rows, text }
  }
  const values = async (...args: string[]) =>
    (await lines(...args)).rows.map((row) => row.split(/\s+/).slice(3).join(" "))

  it("answers dig for each record type", async () => {
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

  it("splits a TXT over 255 bytes into strings that join to one text", async () => {
    const [row = ""] = await values("acme.com", "TXT")
    const strings = [...row.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, one = ""]) => one)
    expect(strings.map((one) => one.length)).toEqual([255, 255, 90 + 2 + 2 + 1 + 12])
    expect(strings.join("")).toBe(`${"x".repeat(600)}\\"\\\\;\\230\\188\\162`)
  })

  it("follows CNAME chains to their end, out of the zone, to a missing name and in a loop", async () => {
    const chain = await values("www.acme.com", "A")
    expect(chain).toEqual(["CNAME app.acme.com.", "CNAME acme.com.", "A 192.0.2.1"])
    expect(await values("away.acme.com")).toEqual(["CNAME host.elsewhere.example."])
    const lost = await lines("lost.acme.com")
    expect(lost).toMatchObject({ status: "NXDOMAIN", rows: [expect.any(String), SOA] })
    expect(await lines("a.acme.com")).toMatchObject({ status: "SERVFAIL", rows: [] })
    expect(await values("www.acme.com", "CNAME")).toEqual(["CNAME app.acme.com."])
  })

  it("answers with the SOA if the name or only its type does not exist", async () => {
    expect(await lines("nope.acme.com")).toMatchObject({ status: "NXDOMAIN", rows: [SOA] })
    expect(await lines("between.acme.com")).toMatchObject({ status: "NOERROR", rows: [SOA] })
    expect(await lines("acme.com", "TYPE65")).toMatchObject({ status: "NOERROR", rows: [SOA] })
  })

  it("expands a wildcard unless the name exists", async () => {
    expect(await values("any.wild.acme.com")).toEqual(["A 192.0.2.3"])
    expect(await values("far.below.wild.acme.com")).toEqual(["A 192.0.2.3"])
    expect(await values("there.wild.acme.com")).toEqual(["A 192.0.2.4"])
    expect((await lines("below.there.wild.acme.com")).status).toBe("NXDOMAIN")
  })

  it("refers to the name servers of a delegated subdomain, without the authority flag", async () => {
    const { flags, rows } = await lines("x.part.acme.com")
    expect(flags).toBe("qr rd")
    expect(rows.map((row) => row.split(/\s+/).slice(3).join(" "))).toEqual([
      "NS ns1.part.acme.com.",
      "A 192.0.2.9",
    ])
    expect(await lines("part.acme.com", "DS")).toMatchObject({ flags: "qr aa rd", rows: [SOA] })
  })

  it("keeps the letter case of the query, and has one TTL per record set", async () => {
    expect((await lines("AcMe.CoM", "A")).rows).toEqual(["AcMe.CoM.\t\t300\tIN\tA\t192.0.2.1"])
    const ttls = (await lines("uneven.acme.com")).rows.map((row) => row.split(/\s+/)[1])
    expect(ttls).toEqual(["60", "60"])
  })

  it("answers over TCP if the reply is too long for UDP", async () => {
    const cut = await lines("many.acme.com", "+ignore")
    expect(cut).toMatchObject({ flags: "qr aa tc rd", rows: [] })
    expect((await lines("many.acme.com")).rows.length).toBe(100)
    expect((await lines("acme.com", "TXT", "+ignore", "+noedns")).flags).toBe("qr aa tc rd")
    expect((await lines("acme.com", "A", "+tcp", "+keepopen")).rows.length).toBe(1)
  })

  it("supports EDNS version 0, and answers BADVERS to other versions", async () => {
    expect((await lines("acme.com", "+dnssec")).text).toContain("flags: do; udp: 1232")
    expect((await lines("acme.com", "+edns=1", "+noednsneg")).status).toBe("BADVERS")
    expect((await lines("acme.com", "+noedns")).text).not.toContain("EDNS")
  })

  it("refuses queries that amplify, and zones that it does not serve", async () => {
    expect(await values("acme.com", "ANY")).toEqual(['HINFO "RFC8482" ""'])
    expect((await lines("acme.com", "AXFR")).status).toBe("REFUSED")
    expect(await lines("other.com")).toMatchObject({ status: "REFUSED", rows: [] })
    expect((await lines("version.bind", "CH", "TXT")).status).toBe("REFUSED")
    expect((await lines("acme.com", "+opcode=2")).status).toBe("NOTIMP")
  })

  it("stops answering for a withdrawn domain, and answers again once it is published", async () => {
    await server.served.withdraw("acme.com")
    expect((await lines("acme.com")).status).toBe("REFUSED")
    await server.served.publish(ZONE)
    expect(await values("acme.com", "A")).toEqual(["A 192.0.2.1"])
    expect(server.faults).toEqual([])
  })
})
