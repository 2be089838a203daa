/** Law 10: every stored event is read unchanged and is written in exactly one canonical form. */
import { readFileSync, readdirSync } from "node:fs"
import canonicalize from "canonicalize"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import { FormatFault } from "../../domain/kernel/event-format.ts"
import { EVENT_FIELD_ARBITRARIES, STORED_CATEGORIES } from "./stored-formats.ts"
import { testOnlyFact, partialFake } from "../support/partial-fake.ts"

const GOLDEN = new URL("../golden/", import.meta.url)

const types = STORED_CATEGORIES.flatMap(({ category, codec }) =>
  Object.entries(codec.formats).map(([type, { version }]) => ({ category, type, version, codec })),
)
const versions = types.flatMap((one) =>
  Array.from({ length: one.version }, (_, i) => ({ ...one, version: i + 1, current: one.version })),
)

const fileOf = (type: string, version: number) => `${type}.v${version}.json`

/** Describes how a codec fails to write and read an event; null if it does not fail. */
function unfaithful(codec: Codec<Fact>, event: Fact): string | null {
  const stored = codec.encode(event)
  const read = codec.decode(event.type, codec.version(event.type), stored)
  if (canonicalize(read) !== canonicalize(event))
    return `${stored} is read as ${JSON.stringify(read)}`
  // The stored text is hashed, so it must equal RFC 8785 text from an independent implementation.
  if (stored !== canonicalize(JSON.parse(stored))) return `not canonical: ${stored}`
  return nullsIn(stored) > 0 ? `a null field must be omitted: ${stored}` : null
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
  it.each(types)("$category: $type is read unchanged", ({ category, type, codec }) => {
    const fields = fc.record(EVENT_FIELD_ARBITRARIES[category]?.[type] ?? {}, {
      noNullPrototype: true,
    })
    fc.assert(
      fc.property(fields, (value) => {
        const event = testOnlyFact({ type, ...value })
        expect(unfaithful(codec, event)).toBeNull()
      }),
    )
  })
})

/** The same text with its fields in reverse order. */
function reversed(stored: string): string {
  const fields = Object.entries(JSON.parse(stored) as object)
  return JSON.stringify(Object.fromEntries(fields.toReversed()))
}

describe("the check detects a codec", () => {
  const codec = partialFake<Codec<Fact>>(ledgerCodec)
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
  ])("%s", (_case, one, wrong) => {
    expect(unfaithful(codec, one)).toBeNull()
    expect(unfaithful({ ...codec, ...wrong }, one)).not.toBeNull()
  })
})

describe("golden files", () => {
  it.each(versions)("$category: $type v$version can be read", (one) => {
    const { category, type, version, current, codec } = one
    // If a file is missing, write it by hand from an event that was really stored.
    const file = new URL(`${category}/${fileOf(type, version)}`, GOLDEN)
    const text = readFileSync(file, "utf8").replace(/\n$/, "")
    const event = codec.decode(type, version, text)
    expect(event.type).toBe(type)
    if (version === current) expect(codec.encode(event)).toBe(text)
    expect(Object.keys(event).toSorted()).toEqual(
      ["type", ...Object.keys(EVENT_FIELD_ARBITRARIES[category]?.[type] ?? {})].toSorted(),
    )
  })

  it("have a value in every optional field", () => {
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

  it("belong to known event types", () => {
    const known = versions.map(
      ({ category, type, version }) => `${category}/${fileOf(type, version)}`,
    )
    const found = readdirSync(GOLDEN, { withFileTypes: true }).flatMap((folder) =>
      readdirSync(new URL(`${folder.name}/`, GOLDEN)).map((name) => `${folder.name}/${name}`),
    )
    expect(found.toSorted()).toEqual(known.toSorted())
  })
})

describe("the current version of a format", () => {
  it("is the only readable version if none has an upgrade", () => {
    const stored = readFileSync(new URL("ledger/Charged.v1.json", GOLDEN), "utf8")
    expect(ledgerCodec.decode("Charged", 1, stored).type).toBe("Charged")
    expect(() => ledgerCodec.decode("Charged", 0, stored)).toThrow(FormatFault)
    expect(() => ledgerCodec.decode("Charged", 2, stored)).toThrow(FormatFault)
  })
})
