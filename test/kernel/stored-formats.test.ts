/** Law 10: what is written is read back as it was, and is written in the one canonical way. */
import { readFileSync, readdirSync } from "node:fs"
import canonicalize from "canonicalize"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ChargeRefused, Charged } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec, ledgerFormats } from "../../domain/charging/ledger-formats.ts"
import { refusalCodec, refusalFormats } from "../../domain/charging/refusals.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import { arbitrariesOf } from "./arbitrary-kinds.ts"
import { EVENT_FIELDS, STORED } from "./stored-formats.ts"

const GOLDEN = new URL("../golden/", import.meta.url)

const types = STORED.flatMap(({ category, codec }) =>
  Object.entries(codec.formats).map(([type, { version }]) => ({ category, type, version, codec })),
)
const versions = types.flatMap((one) =>
  Array.from({ length: one.version }, (_, i) => ({ ...one, version: i + 1, current: one.version })),
)

const fileOf = (type: string, version: number) => `${type}.v${version}.json`

/** What is wrong with how a codec writes and reads an event; null where nothing is. */
function unfaithful(codec: Codec<Fact>, event: Fact): string | null {
  const stored = codec.encode(event)
  const read = codec.decode(event.type, codec.version(event.type), stored)
  if (canonicalize(read) !== canonicalize(event))
    return `${stored} is read as ${JSON.stringify(read)}`
  // What is stored is what is hashed: RFC 8785, as another implementation writes it.
  if (stored !== canonicalize(JSON.parse(stored))) return `not canonical: ${stored}`
  return nullsIn(stored) > 0 ? `null is said by leaving a field out: ${stored}` : null
}

function nullsIn(stored: string): number {
  let nulls = 0
  JSON.parse(stored, (_key, value: unknown) => {
    if (value === null) nulls += 1
    return value
  })
  return nulls
}

describe("every event type", () => {
  it.each(types)("$category: $type is read back as it was written", ({ category, type, codec }) => {
    const fields = fc.record(EVENT_FIELDS[category]?.[type] ?? {}, { noNullPrototype: true })
    fc.assert(
      fc.property(fields, (value) => {
        const event = { type, ...value } as unknown as Fact
        expect(unfaithful(codec, event)).toBeNull()
      }),
    )
  })
})

/** The same text with its fields in the other order. */
function reversed(stored: string): string {
  const fields = Object.entries(JSON.parse(stored) as object)
  return JSON.stringify(Object.fromEntries(fields.toReversed()))
}

describe("a codec is seen to be wrong", () => {
  const codec = ledgerCodec as unknown as Codec<Fact>
  const event = { type: "FundsAdded", at: 0, amountMicros: 7, reference: "wire 1" } as Fact
  const bare = { ...event, reference: null } as Fact
  it.each<[string, Fact, Partial<Codec<Fact>>]>([
    [
      "that loses a field",
      event,
      { decode: (...stored) => ({ ...codec.decode(...stored), reference: null }) as Fact },
    ],
    ["that rounds", event, { encode: () => codec.encode({ ...event, amountMicros: 8 } as Fact) }],
    [
      "that writes fields in another order",
      event,
      { encode: (one) => reversed(codec.encode(one)) },
    ],
    ["that writes white space", event, { encode: (one) => `${codec.encode(one)} ` }],
    [
      "that writes null",
      bare,
      {
        encode: (one) => codec.encode(one).replace("}", ',"reference":null}'),
        decode: () => bare,
      },
    ],
  ])("%s", (_what, one, wrong) => {
    expect(unfaithful(codec, one)).toBeNull()
    expect(unfaithful({ ...codec, ...wrong }, one)).not.toBeNull()
  })
})

describe("golden files", () => {
  it.each(versions)("$category: $type v$version is read for ever", (one) => {
    const { category, type, version, current, codec } = one
    // A missing file fails here: write it by hand, from an event that was really stored.
    const file = new URL(`${category}/${fileOf(type, version)}`, GOLDEN)
    const text = readFileSync(file, "utf8").replace(/\n$/, "")
    const event = codec.decode(type, version, text)
    expect(event.type).toBe(type)
    if (version === current) expect(codec.encode(event)).toBe(text)
    expect(Object.keys(event).toSorted()).toEqual(
      ["type", ...Object.keys(EVENT_FIELDS[category]?.[type] ?? {})].toSorted(),
    )
  })

  it("shows a value in every field that can be left out", () => {
    const written = versions.filter(({ version, current }) => version === current)
    const bare = written.flatMap(({ category, type, version, codec }) => {
      const file = new URL(`${category}/${fileOf(type, version)}`, GOLDEN)
      const event = codec.decode(type, version, readFileSync(file, "utf8")) as object
      return Object.entries(event)
        .filter(([, value]) => value === null)
        .map(([field]) => `${category}/${fileOf(type, version)}: ${field}`)
    })
    expect(bare).toEqual([])
  })

  it("are of no event that is unknown", () => {
    const known = versions.map(
      ({ category, type, version }) => `${category}/${fileOf(type, version)}`,
    )
    const found = readdirSync(GOLDEN, { withFileTypes: true }).flatMap((folder) =>
      readdirSync(new URL(`${folder.name}/`, GOLDEN)).map((name) => `${folder.name}/${name}`),
    )
    expect(found.toSorted()).toEqual(known.toSorted())
  })
})

const ledger = arbitrariesOf(ledgerFormats)
const refusals = arbitrariesOf(refusalFormats)

const golden = (path: string): string =>
  readFileSync(new URL(`../golden/${path}`, import.meta.url), "utf8")

/** The stored text as the version before wrote it: without the fields that came later. */
function without(stored: string, ...fields: readonly string[]): string {
  const kept = (key: string, value: unknown): unknown => (fields.includes(key) ? undefined : value)
  return JSON.stringify(JSON.parse(stored, kept))
}

describe("a purchase of version 1", () => {
  it.each(["PurchaseStarted", "PurchasePaid", "PurchaseFailed"])("was a key's: %s", (type) => {
    const event = ledgerCodec.decode(type, 1, golden(`ledger/${type}.v1.json`))
    expect(event).toMatchObject({ keyId: "key_Ab3dE6gH", personId: "per_0001" })
    const byOwner = without(golden(`ledger/${type}.v2.json`), "keyId")
    const now = ledgerCodec.decode(type, 2, byOwner)
    expect(now).toEqual({ ...event, keyId: null })
    expect(ledgerCodec.version("PurchaseStarted")).toBe(2)
  })
})

describe("a failed purchase of version 2", () => {
  it("named no payment", () => {
    const former = golden("ledger/PurchaseFailed.v2.json")
    const event = ledgerCodec.decode("PurchaseFailed", 2, former)
    expect(event).toMatchObject({ code: "declined", paymentId: null })
    const current = golden("ledger/PurchaseFailed.v3.json")
    expect(ledgerCodec.decode("PurchaseFailed", 3, current)).toEqual({
      ...event,
      paymentId: "pi_3Q/ä",
    })
  })
})

describe("a charge of version 1", () => {
  it("was of an id that carried state makes once-only, and weighed by itself", () => {
    const event = ledgerCodec.decode("Charged", 1, golden("ledger/Charged.v1.json"))
    expect(event).toMatchObject({ amountMicros: 18_000, open: true, once: false, weighed: false })
  })

  it("is read as it was written, whatever it was", () => {
    fc.assert(
      fc.property(fc.record(ledger.Charged, { noNullPrototype: true }), (fields) => {
        const event: Charged = { type: "Charged", ...fields, once: false, weighed: false }
        const former = without(ledgerCodec.encode(event), "once", "weighed")
        expect(ledgerCodec.decode("Charged", 1, former)).toEqual(event)
      }),
    )
  })

  it("is of no version 0 or 4, and no text of version 1 is one of version 2", () => {
    const former = golden("ledger/Charged.v1.json")
    expect(() => ledgerCodec.decode("Charged", 0, former)).toThrow(FormatFault)
    expect(() => ledgerCodec.decode("Charged", 4, former)).toThrow(FormatFault)
    expect(() => ledgerCodec.decode("Charged", 2, former)).toThrow(FormatFault)
  })
})

describe("a charge of version 2, and its refusal", () => {
  it("is read as it was written: it knew one exemption less", () => {
    const charged = golden("ledger/Charged.v2.json")
    expect(ledgerCodec.decode("Charged", 2, charged)).toMatchObject({ exempt: "funds", once: true })
    const refused = golden("refusals/ChargeRefused.v2.json")
    const event = refusalCodec.decode("ChargeRefused", 2, refused)
    expect(event).toMatchObject({ exempt: "funds", pendingMicros: 300 })
  })
})

describe("a refused charge of version 1", () => {
  it("was a text's: open, asked for funds, and no limit knew of calls in hand", () => {
    const event = refusalCodec.decode("ChargeRefused", 1, golden("refusals/ChargeRefused.v1.json"))
    expect(event).toMatchObject({ open: true, exempt: null, pendingMicros: 300 })
    expect(event).toHaveProperty("limits.0.pendingMicros", 0)
    expect(event).toHaveProperty("limits.0.usedMicros", 18_000)
  })

  it("is read as it was written, whatever it was", () => {
    fc.assert(
      fc.property(fc.record(refusals.ChargeRefused, { noNullPrototype: true }), (fields) => {
        const limits = fields.limits.map((limit) => ({ ...limit, pendingMicros: 0 }))
        const event: ChargeRefused = {
          type: "ChargeRefused",
          ...fields,
          open: true,
          exempt: null,
          limits,
        }
        const stored = JSON.parse(refusalCodec.encode(event)) as { limits: object[] }
        const bare = stored.limits.map((limit) =>
          JSON.parse(without(JSON.stringify(limit), "pendingMicros")),
        )
        const former = without(JSON.stringify({ ...stored, limits: bare }), "open", "exempt")
        expect(refusalCodec.decode("ChargeRefused", 1, former)).toEqual(event)
      }),
    )
  })
})
