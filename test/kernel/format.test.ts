import fc from "fast-check"
import { describe, expect, expectTypeOf, it } from "vitest"
import type { FactOf, EventFormats, FieldType } from "../../domain/kernel/event-format.ts"
import {
  FormatFault,
  codecOf,
  flag,
  integer,
  list,
  micros,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../../domain/kernel/event-format.ts"

const formats = {
  Sample: { version: 1, fields: { at: instant, b: optional(integer), a: asciiText } },
  Other: { version: 1, fields: { at: instant, list: list(record({ word: enumOf("x", "y") })) } },
} satisfies EventFormats
const codec = codecOf(formats)

/** Per field type: values that cannot be written, and stored values that cannot be read. */
const faults: readonly {
  readonly name: string
  readonly kind: Pick<FieldType<never>, "write"> & Pick<FieldType<unknown>, "read">
  readonly unwritable: readonly unknown[]
  readonly unreadable: readonly unknown[]
}[] = [
  {
    name: "text",
    kind: text,
    unwritable: ["\ud800", "a\udc00b", 1],
    unreadable: [1, null, "\ud83d"],
  },
  {
    name: "plain",
    kind: asciiText,
    unwritable: ['"', "\\", "é", "a\nb", "a\n", "a/b"],
    unreadable: ["a\n", "ü", 1, undefined],
  },
  {
    name: "int",
    kind: integer,
    unwritable: [1.5, Number.NaN, Infinity, 2 ** 53, "1"],
    unreadable: ["1", 1.5, 2 ** 53, null],
  },
  {
    name: "micros",
    kind: micros,
    unwritable: [0.5, Number.NaN, -Infinity, 2 ** 53, "9"],
    unreadable: [9, "09", "-0", "1.0", "1e3", "", " 1", "+1", "9007199254740993", null],
  },
  {
    name: "time",
    kind: instant,
    unwritable: [0.5, Number.NaN, 8.64e15 + 1, "2026-01-01"],
    unreadable: [
      "2026-01-01",
      "2026-01-01T00:00:00Z",
      "2026-01-01T00:00:00.000",
      "2026-01-01T01:00:00.000+01:00",
      "2026-02-30T00:00:00.000Z",
      "Thu Jan 01 2026",
      1_767_225_600_000,
    ],
  },
  { name: "flag", kind: flag, unwritable: ["yes", 1, null], unreadable: ["true", 1, null] },
  {
    name: "one of a list",
    kind: enumOf("day", "week"),
    unwritable: ["month", "", "__proto__"],
    unreadable: ["month", 1, null],
  },
  {
    name: "list",
    kind: list(micros),
    unwritable: [[1, 0.5]],
    unreadable: [["1", 1], "1", {}, null],
  },
  {
    name: "record",
    kind: record({ a: integer }),
    unwritable: [{ a: 0.5 }, {}],
    unreadable: [{ a: "1" }, {}, [1], null, "a"],
  },
]

describe("field types", () => {
  it.each(faults)("$name rejects writing values that it could not read", ({ kind, unwritable }) => {
    for (const value of unwritable) {
      expect(() => Reflect.apply(kind.write, kind, [value]), String(value)).toThrow(FormatFault)
    }
  })

  it.each(faults)(
    "$name rejects reading values that it would not write",
    ({ kind, unreadable }) => {
      for (const raw of unreadable) {
        expect(() => kind.read(raw), JSON.stringify(raw)).toThrow(FormatFault)
      }
    },
  )

  it("write money as decimal text, exactly", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (amount) => {
        expect(micros.read(JSON.parse(micros.write(amount)))).toBe(amount + 0)
        expect(micros.write(amount)).toBe(`"${BigInt(amount)}"`)
      }),
    )
  })
})

describe("a codec", () => {
  it("orders fields by name and omits nulls", () => {
    expect(codec.encode({ type: "Sample", at: 0, a: "x", b: null })).toBe(
      '{"a":"x","at":"1970-01-01T00:00:00.000Z"}',
    )
    expect(codec.encode({ type: "Sample", b: 7, a: "x", at: 1 })).toBe(
      '{"a":"x","at":"1970-01-01T00:00:00.001Z","b":7}',
    )
  })

  it("reads an omitted field as null", () => {
    const event = codec.decode("Sample", 1, '{"a":"x","at":"1970-01-01T00:00:00.000Z"}')
    expect(event).toEqual({ type: "Sample", at: 0, a: "x", b: null })
  })

  it.each([
    ["an unknown type", "Another", 1, "{}"],
    ["an unknown version", "Sample", 2, '{"a":"x","at":"1970-01-01T00:00:00.000Z"}'],
    ["version 0", "Sample", 0, '{"a":"x","at":"1970-01-01T00:00:00.000Z"}'],
    ["a missing field", "Sample", 1, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["a null field", "Sample", 1, '{"a":"x","at":"1970-01-01T00:00:00.000Z","b":null}'],
    ["a value that is not an object", "Sample", 1, "null"],
    ["a list", "Sample", 1, "[]"],
    ["invalid JSON", "Sample", 1, '{"a":'],
  ])("rejects %s", (_case, type, version, body) => {
    expect(() => codec.decode(type, version, body)).toThrow(FormatFault)
  })

  it("names the invalid field", () => {
    const body = '{"a":1,"at":"1970-01-01T00:00:00.000Z"}'
    expect(() => codec.decode("Sample", 1, body)).toThrow(/^a: expected plain text, found 1$/)
  })

  it("upgrades old versions step by step", () => {
    const lifted = codecOf({
      Sample: {
        version: 3,
        fields: { at: instant, a: asciiText, b: optional(integer) },
        upcasters: {
          1: ({ name, ...rest }: Record<string, unknown>) => ({ ...rest, title: name }),
          2: ({ title, ...rest }: Record<string, unknown>) => ({ ...rest, a: title, b: 3 }),
        },
      },
    })
    const at = "1970-01-01T00:00:00.000Z"
    expect(lifted.version("Sample")).toBe(3)
    expect(lifted.decode("Sample", 1, JSON.stringify({ at, name: "x" }))).toEqual({
      type: "Sample",
      at: 0,
      a: "x",
      b: 3,
    })
    expect(lifted.decode("Sample", 2, JSON.stringify({ at, title: "x" }))).toMatchObject({ a: "x" })
  })
})

describe("a fact", () => {
  it("has the type of its format, field by field", () => {
    const at = "1970-01-01T00:00:00.000Z"
    const facts = [
      codec.decode("Sample", 1, JSON.stringify({ a: "x", at })),
      codec.decode("Other", 1, JSON.stringify({ at, list: [{ word: "y" }] })),
    ]
    expectTypeOf(facts).items.toEqualTypeOf<
      | {
          readonly type: "Sample"
          readonly at: number
          readonly a: string
          readonly b: number | null
        }
      | {
          readonly type: "Other"
          readonly at: number
          readonly list: readonly { readonly word: "x" | "y" }[]
        }
    >()
    expect(facts).toEqual([
      { type: "Sample", at: 0, a: "x", b: null },
      { type: "Other", at: 0, list: [{ word: "y" }] },
    ] satisfies FactOf<typeof formats>[])
  })
})
