/** Values that fit a JSON Schema, and values that nearly do. */
import fc from "fast-check"

/** A schema, as far as the API's document uses them. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly multipleOf?: number
}

/** Texts that have broken programs: of other scripts, of no script, of code. */
const ODD_TEXTS = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\uD800",
  "x\uDFFFy",
  "\u202Egnp.exe",
  "\uFEFF",
  "e\u0301",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "undefined",
  "NaN",
  "-0",
  "1e309",
  "0x10",
  "'; drop table read.messages; --",
  "$1",
  "%s%n",
  "../../etc/passwd",
  "{{7*7}}",
  "${7*7}",
  "=1+1",
  "<script>alert(1)</script>",
  "\r\nX-Injected: 1",
  "😀".repeat(70),
  "+14155550123",
]

/** Any code point. The unit "binary" of fast-check makes a map of all of them first, which takes two seconds. */
const anyCharacter = fc.nat({ max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code))

/** Any text, mostly short, sometimes one that is known to hurt. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ maxLength: 20 }),
)

/** Any JSON value, also of names that are an object's own. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.constantFrom(0, -1, 1, -0, 1.5, 1e21, 9_007_199_254_740_992, 1e308, true, false, null),
  fc.constantFrom({}, [], [[]], { length: 1e9 }, { toString: null }),
  fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown),
)

/** A value that fits, as far as the schema says; formats and rules beyond it are not known here. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map(fitting))
  if (schema.allOf !== undefined) return allOf(schema.allOf)
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? [])
  if (types.length > 1) return fc.oneof(...types.map((type) => fitting({ ...schema, type })))
  switch (types[0]) {
    case "object":
      return objectOf(schema)
    case "array": {
      const { items = {}, minItems = 0, maxItems = minItems + 3 } = schema
      const maxLength = Math.min(maxItems, minItems + 3)
      return fc.array(fitting(items), { minLength: minItems, maxLength })
    }
    case "string":
      return textOf(schema)
    case "integer":
    case "number":
      return numberOf(schema)
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    default:
      return anyValue
  }
}

function allOf(schemas: readonly Schema[]): fc.Arbitrary<unknown> {
  return fc.tuple(...schemas.map(fitting)).map((parts) => {
    return Object.assign({}, ...(parts as readonly object[])) as object
  })
}

function objectOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, fitting(schema)]),
  )
  return fc.record(fields, { requiredKeys: required.filter((name) => name in fields) })
}

function textOf({ pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, "u"))
  const most = Math.min(maxLength, Math.max(minLength, 40))
  return fc.oneof(
    fc.string({ minLength, maxLength: most }),
    fc.constantFrom("+14155550123", "a@example.com", "2.0.0", "2026-03-01T00:00:00.000Z"),
  )
}

function numberOf(schema: Schema): fc.Arbitrary<number> {
  const { type, minimum, maximum, exclusiveMinimum, multipleOf } = schema
  const min = minimum ?? exclusiveMinimum ?? -1_000
  const max = Math.min(maximum ?? min + 10_000, Number.MAX_SAFE_INTEGER)
  if (type === "integer") return fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
  if (multipleOf !== undefined) {
    const parts = { min: Math.ceil(min / multipleOf), max: Math.floor(max / multipleOf) }
    return fc.integer(parts).map((count) => Number((count * multipleOf).toFixed(9)))
  }
  return fc.double({ min, max, noNaN: true })
}

/** A value that nearly fits: a field left out, another value in one, a field too many. */
export function nearlyFitting(schema: Schema): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  const name = fc.constantFrom(...names, "__proto__", "constructor", "unknown")
  const change = fc.record({ name, value: anyValue, isLeftOut: fc.boolean() })
  return fc
    .tuple(fitting(schema), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) => {
      if (typeof value !== "object" || value === null) return value
      return changes.reduce<object>((changed, one) => {
        const entries = Object.entries(changed).filter(([key]) => key !== one.name)
        const added = one.isLeftOut ? [] : [[one.name, one.value] as const]
        // As own fields, `__proto__` too, which is what a parser of JSON makes of it.
        return Object.fromEntries([...entries, ...added]) as object
      }, value)
    })
}

/** Anything that JSON can say. */
export const anyJson: fc.Arbitrary<unknown> = anyValue
