/** Requests to one route out of the API's own document: right ones, nearly right ones, and nonsense. */
import fc from "fast-check"
import type { Schema } from "./from-schema.ts"
import { anyJson, anyText, fitting, nearlyFitting } from "./from-schema.ts"

/** An operation of the document. */
export interface Operation {
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
function payloads(operation: Operation): fc.Arbitrary<Buffer | null> {
  const schema = operation.requestBody?.content["application/json"].schema ?? { type: "object" }
  const asJson = (value: unknown) => Buffer.from(JSON.stringify(value) ?? "null")
  return fc.oneof(
    { weight: 4, arbitrary: fitting(schema).map(asJson) },
    { weight: 4, arbitrary: nearlyFitting(schema).map(asJson) },
    { weight: 1, arbitrary: anyJson.map(asJson) },
    { weight: 1, arbitrary: brokenJson(fitting(schema).map(asJson)) },
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
  operation: Operation,
  place: "query" | "header" | "path",
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const fields = (operation.parameters ?? []).filter((one) => one.in === place)
  const values = Object.fromEntries(
    fields.map(({ name, schema }) => {
      const right = fitting(schema).map((one) => (one === null ? "" : String(one)))
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
export function requestsTo(
  operation: Operation,
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
