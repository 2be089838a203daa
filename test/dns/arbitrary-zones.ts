/** Random zones: whatever somebody writes, as far as it is accepted. */
import fc from "fast-check"
import type { RecordBody, WrittenRecord, Zone } from "../../domain/domains/records.ts"
import {
  COPIED_TYPES,
  WRITABLE_TYPES,
  clashAmong,
  readRecord,
} from "../../domain/domains/records.ts"
import { zoneWith } from "./serving.ts"

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
const name = fc.oneof(
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
const content = {
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

const written: fc.Arbitrary<WrittenRecord> = fc
  .constantFrom(...WRITABLE_TYPES, ...COPIED_TYPES)
  .chain((type) =>
    fc.record({
      type: fc.constant(type),
      name,
      content: content[type],
      priority: type === "MX" || type === "SRV" ? fc.nat(65_535) : fc.constant(null),
    }),
  )

/** The records that are accepted of some that were written, one after the other. */
function accepted(apex: string, all: readonly WrittenRecord[]): readonly RecordBody[] {
  const records: RecordBody[] = []
  for (const one of all) {
    const read = readRecord(apex, one)
    if ("fault" in read || clashAmong(apex, records, read.record) !== null) continue
    records.push(read.record)
  }
  return records
}

/** Zones of `acme.com`. */
export const zones: fc.Arbitrary<Zone> = fc
  .tuple(fc.array(written, { maxLength: 25 }), fc.nat(2 ** 32 - 1))
  .map(([all, serial]) => {
    const records = accepted("acme.com", all).map((one) => ({ ...one, ttl: 300 }))
    return zoneWith("acme.com", records, serial)
  })
