/** Requests to one route out of the API's own document: right ones, nearly right ones, and nonsense. */
import fc from "fast-check"

/** A schema, as far as the API's document uses them. */
interface Schema {
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
const anyText: fc.Arbitrary<string> = fc.oneof(
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
function valueFitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map(valueFitting))
  if (schema.allOf !== undefined) return allOf(schema.allOf)
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? [])
  if (types.length > 1) return fc.oneof(...types.map((type) => valueFitting({ ...schema, type })))
  switch (types[0]) {
    case "object":
      return objectOf(schema)
    case "array": {
      const { items = {}, minItems = 0, maxItems = minItems + 3 } = schema
      const maxLength = Math.min(maxItems, minItems + 3)
      return fc.array(valueFitting(items), { minLength: minItems, maxLength })
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
  return fc.tuple(...schemas.map(valueFitting)).map((parts) => {
    return Object.assign({}, ...(parts as readonly object[])) as object
  })
}

function objectOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valueFitting(schema)]),
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
function valueNearlyFitting(schema: Schema): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  const name = fc.constantFrom(...names, "__proto__", "constructor", "unknown")
  const change = fc.record({ name, value: anyValue, isLeftOut: fc.boolean() })
  return fc
    .tuple(valueFitting(schema), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) => {
      if (typeof value !== "object" || value === null) return value
      return changes.reduce<object>((changed, one) => {
        const entries = Object.entries(changed).filter(([key]) => key !== one.name)
        const added = one.isLeftOut ? [] : [[one.name, one.value] as const]
        // As own fields, `__proto__` too, which is what a parser of JSON makes of it.
        return Object.fromEntries([...entries, ...added])
      }, value)
    })
}

/** Anything that JSON can say. */
const anyJson: fc.Arbitrary<unknown> = anyValue

/** An operation of the document. */
export interface DocumentOperation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: "query" | "header" | "path"
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: Schema } }
  }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

/** By content type. */
type Content = Readonly<Record<string, { readonly schema: object; readonly examples?: object }>>

/** A request as bytes. */
export interface FuzzRequest {
  /** What stands at the path's names, as it is sent. */
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Buffer | null
}

const CONTENT_TYPES = [
  "application/json",
  "application/json; charset=utf-8",
  "APPLICATION/JSON",
  "text/plain",
  "application/json; charset=latin1",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "application/merge-patch+json",
  "image/png",
  "*/*",
  "nonsense",
  "application/json,text/html",
]

/** Values that HTTP carries; what it does not never reaches a server. */
const headerText = anyText.map((text) => text.replaceAll(/[^\x20-\x7E]/g, "").trim())

/** What may stand in a body's place. */
function payloads(operation: DocumentOperation): fc.Arbitrary<Buffer | null> {
  const schema = operation.requestBody?.content["application/json"].schema ?? { type: "object" }
  const asJson = (value: unknown) => Buffer.from(JSON.stringify(value) ?? "null")
  return fc.oneof(
    { weight: 4, arbitrary: valueFitting(schema).map(asJson) },
    { weight: 4, arbitrary: valueNearlyFitting(schema).map(asJson) },
    { weight: 1, arbitrary: anyJson.map(asJson) },
    { weight: 1, arbitrary: brokenJson(valueFitting(schema).map(asJson)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(null) },
  )
}

/** JSON that was cut off, or has a byte changed. */
function brokenJson(json: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc.tuple(json, fc.nat(), fc.nat(255), fc.boolean()).map(([bytes, at, byte, isCut]) => {
    const place = at % Math.max(1, bytes.length)
    if (isCut) return bytes.subarray(0, place)
    const changed = Buffer.from(bytes)
    changed[place] = byte
    return changed
  })
}

/** Parameters in a place; those that must be there nearly always are. */
function parametersIn(
  operation: DocumentOperation,
  place: "query" | "header" | "path",
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const fields = (operation.parameters ?? []).filter((one) => one.in === place)
  const values = Object.fromEntries(
    fields.map(({ name, schema }) => {
      const right = valueFitting(schema).map((one) => (one === null ? "" : String(one)))
      return [name, fc.oneof({ weight: 3, arbitrary: right }, { weight: 1, arbitrary: anyText })]
    }),
  )
  const requiredKeys = fields.filter(({ required }) => required).map(({ name }) => name)
  const arbitrary = fc.record(values, { requiredKeys }) as fc.Arbitrary<Record<string, string>>
  const without = fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<Record<string, string>>
  // Without what stands in it, it is another path.
  if (place === "path") return arbitrary
  return fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: without })
}

/** Requests to an operation; `keys` are what may stand behind `Bearer`. */
export function fuzzRequestsTo(
  operation: DocumentOperation,
  keys: fc.Arbitrary<string | null>,
): fc.Arbitrary<FuzzRequest> {
  const contentTypes = fc.oneof(
    { weight: 6, arbitrary: fc.constant("application/json") },
    { weight: 1, arbitrary: fc.constantFrom(...CONTENT_TYPES) },
    { weight: 1, arbitrary: headerText },
  )
  return fc
    .record({
      key: keys,
      path: parametersIn(operation, "path"),
      query: parametersIn(operation, "query"),
      more: fc.option(fc.tuple(anyText, anyText), { freq: 8 }),
      headers: parametersIn(operation, "header"),
      odd: fc.dictionary(
        fc.constantFrom("x-person-id", "x-person-time", "x-person-signature", "ledger-position"),
        headerText,
        { maxKeys: 1 },
      ),
      contentType: contentTypes,
      payload: payloads(operation),
    })
    .map(({ key, path, query, more, headers, odd, contentType, payload }) => {
      const entries = [...Object.entries(query), ...(more === null ? [] : [more])]
      const sent = Object.entries({ ...headers, ...odd }).map(([name, value]) => {
        return [name.toLowerCase(), value.replaceAll(/[^\x20-\x7E]/g, "").trim()] as const
      })
      return {
        params: Object.fromEntries(
          Object.entries(path).map(([name, text]) => [name, segment(text)]),
        ),
        query: entries.length === 0 ? "" : `?${entries.map(pair).join("&")}`,
        headers: {
          ...Object.fromEntries(sent),
          ...(payload === null ? {} : { "content-type": contentType }),
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        },
        payload,
      }
    })
}

/** A pair of a query; a text that is not well-formed goes as bytes that are not either. */
function pair([name, value]: readonly [string, string]): string {
  return `${escaped(name)}=${escaped(value)}`
}

/** A segment of a path: one that is empty, leads elsewhere or is not well-formed is a path of nothing. */
function segment(text: string): string {
  return /^\.{0,2}$/.test(text) ? "-" : encodeURIComponent(text.toWellFormed())
}

function escaped(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80"
}
