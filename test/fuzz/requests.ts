/** Generates requests to a route from the OpenAPI document: valid ones, nearly valid ones, and nonsense. */
import fc from "fast-check"

/** The part of JSON Schema that the API's document uses. */
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

/** Texts that often break programs: control characters, broken Unicode, code, paths. */
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

/** Any code point. The unit "binary" of fast-check first builds a map of all of them, which takes two seconds. */
const anyCharacter = fc.nat({ max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code))

/** Any text: mostly short, sometimes one of the odd texts. */
const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ maxLength: 20 }),
)

/** Any JSON value, including objects with names such as `toString`. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.constantFrom(0, -1, 1, -0, 1.5, 1e21, 9_007_199_254_740_992, 1e308, true, false, null),
  fc.constantFrom({}, [], [[]], { length: 1e9 }, { toString: null }),
  fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown),
)

/** A value that is valid by its schema; rules outside the schema are not known here. */
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

/** A nearly valid value: fields are missing, have other values, or are unknown. */
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
        // Own fields, including `__proto__`, as a JSON parser creates them.
        return Object.fromEntries([...entries, ...added])
      }, value)
    })
}

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

type Content = Readonly<Record<string, { readonly schema: object; readonly examples?: object }>>

/** A request as bytes. */
export interface FuzzRequest {
  /** Encoded values of the path parameters. */
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

/** Values of printable ASCII: HTTP clients cannot send others in headers. */
const headerText = anyText.map((text) => text.replaceAll(/[^\x20-\x7E]/g, "").trim())

/** Bodies: valid, nearly valid, other JSON, broken JSON, bytes, or none. */
function payloads(operation: DocumentOperation): fc.Arbitrary<Buffer | null> {
  const schema = operation.requestBody?.content["application/json"].schema ?? { type: "object" }
  const asJson = (value: unknown) => Buffer.from(JSON.stringify(value) ?? "null")
  return fc.oneof(
    { weight: 4, arbitrary: valueFitting(schema).map(asJson) },
    { weight: 4, arbitrary: valueNearlyFitting(schema).map(asJson) },
    { weight: 1, arbitrary: anyValue.map(asJson) },
    { weight: 1, arbitrary: brokenJson(valueFitting(schema).map(asJson)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(null) },
  )
}

/** JSON that is truncated or has one byte changed. */
function brokenJson(json: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  return fc.tuple(json, fc.nat(), fc.nat(255), fc.boolean()).map(([bytes, at, byte, isCut]) => {
    const index = at % Math.max(1, bytes.length)
    if (isCut) return bytes.subarray(0, index)
    const changed = Buffer.from(bytes)
    changed[index] = byte
    return changed
  })
}

/** Parameters of a kind; required ones are nearly always present. */
function parametersIn(
  operation: DocumentOperation,
  kind: "query" | "header" | "path",
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const fields = (operation.parameters ?? []).filter((one) => one.in === kind)
  const values = Object.fromEntries(
    fields.map(({ name, schema }) => {
      const valid = valueFitting(schema).map((one) => (one === null ? "" : String(one)))
      return [name, fc.oneof({ weight: 3, arbitrary: valid }, { weight: 1, arbitrary: anyText })]
    }),
  )
  const requiredKeys = fields.filter(({ required }) => required).map(({ name }) => name)
  const arbitrary = fc.record(values, { requiredKeys }) as fc.Arbitrary<Record<string, string>>
  const without = fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<Record<string, string>>
  // Without its parameters, it is another path.
  if (kind === "path") return arbitrary
  return fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: without })
}

/**
 * Generates requests to an operation.
 *
 * @param keys API keys; null sends no `Authorization`
 */
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

/** An encoded query pair; ill-formed text becomes ill-formed bytes. */
function pair([name, value]: readonly [string, string]): string {
  return `${escaped(name)}=${escaped(value)}`
}

/** An encoded path segment. Empty and dot segments become `-`, because they would change the path. */
function segment(text: string): string {
  return /^\.{0,2}$/.test(text) ? "-" : encodeURIComponent(text.toWellFormed())
}

function escaped(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80"
}
