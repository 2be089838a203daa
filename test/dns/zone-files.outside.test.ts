import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Zone } from "../../domain/domains/records.ts"
import { zoneFile } from "../../domain/domains/zone-file.ts"
import { readZoneFile } from "../support/zone-file-reader.ts"
import { zones } from "./arbitrary-zones.ts"
import { dig, missingProgram, record, serving, zoneWith } from "./serving.ts"

const absent = missingProgram("named-checkzone", "-v") ?? missingProgram("named-checkconf", "-v")
const noDig = missingProgram("dig", "-v")

/** What records say, in the words of a zone file. */
const saidBy = ({ records }: Zone): readonly string[] =>
  records.map(({ name, type, content, priority }) => {
    const text = type === "TXT" ? Buffer.from(content).toString("latin1") : content
    return JSON.stringify([name, type, priority, text])
  })

/** The same, of a file that was read. */
function readBack(file: string): readonly string[] {
  const unrooted = (word = "") => (word === "." ? word : word.replace(/\.$/, ""))
  return readZoneFile(file).flatMap(({ name, type, words }) => {
    const [first = "", ...rest] = words
    const said = (content: string, priority: number | null = null) => [
      JSON.stringify([name, type, priority, content]),
    ]
    if (type === "SOA" || (type === "NS" && name === "acme.com")) return []
    if (type === "TXT") return said(words.join(""))
    if (type === "CAA") return said(`${first} ${rest[0]} "${rest.slice(1).join(" ")}"`)
    if (type === "MX") return said(unrooted(rest[0]), Number(first))
    if (type === "SRV") return said(`${rest[0]} ${rest[1]} ${unrooted(rest[2])}`, Number(first))
    return said(type === "A" || type === "AAAA" ? first : unrooted(first))
  })
}

describe("a zone file", () => {
  it("says what the records say, read by a reader of its own", () => {
    let count = 0
    fc.assert(
      fc.property(zones, (zone) => {
        count += zone.records.length
        expect(readBack(zoneFile(zone))).toEqual(saidBy(zone))
      }),
      { numRuns: 1_000 },
    )
    expect(count).toBeGreaterThan(2_000)
  })

  it("has a line a record, whatever stands in it", () => {
    const text = 'one\n$INCLUDE /etc/passwd\n" ; @ A 192.0.2.1 \\'
    const lines = zoneFile(zoneWith("acme.com", [record("TXT", "acme.com", text)])).split("\n")
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

  it("load: some in named-checkzone, all in named-checkconf, which loads them as that does", async () => {
    const all = fc.sample(zones, 1_000)
    const places = all.map((_, i) => join(folder, `${i}.zone`))
    await Promise.all(all.map((zone, i) => writeFile(places[i] ?? "", zoneFile(zone))))
    // One name for all of them: a view each. Names are checked as named-checkzone does by itself.
    const views = places.map(
      (place, i) =>
        `view v${i} { zone "acme.com" { type primary; file "${place}"; check-integrity no; check-names warn; }; };`,
    )
    const settings = join(folder, "named.conf")
    await writeFile(settings, views.join("\n"))
    const done = spawnSync("named-checkconf", ["-z", settings], { encoding: "utf8" })
    const loaded = done.stdout.split("\n").filter((line) => line.includes(": loaded serial"))
    expect(done.stdout.split("\n").filter((line) => line.includes("fail"))).toEqual([])
    expect(done.status).toBe(0)
    expect(loaded.length).toBe(1_000)
    for (const place of places.slice(0, 10)) {
      const one = spawnSync("named-checkzone", ["-i", "local", "acme.com", place])
      expect(one.status).toBe(0)
    }
  })
})

describe("random zones over our name server", () => {
  beforeEach((ctx) => ctx.skip(noDig !== null, noDig ?? ""))
  it("are answered as their files say", async () => {
    for (const zone of fc.sample(zones, 5)) {
      const server = await serving([zone])
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
