/** Parsing a call's parts once, at the edge: handlers get proven types. */
import type { ZodType } from "zod"
import type { ReadBody } from "./body.ts"
import { BROKEN_BODY, UNSUPPORTED_BODY } from "./body.ts"
import type { Call } from "./call.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { Checked, Route } from "./route.ts"
import { BYTES, PIECES } from "./route.ts"
import { inWords } from "./schema-words.ts"
import { unknownIn } from "./unknown-query.ts"

/** The parts of a call that have schemas. */
type Parts = Pick<Checked<unknown, unknown, unknown>, "body" | "query" | "params">

/** Parses path, query and body, or says what of them is wrong. */
export function validate(
  route: Route,
  call: Call,
  { bytes, value }: ReadBody,
): Parts | { readonly refusal: Refusal } {
  const isRaw = route.body === BYTES || route.body === PIECES
  const params = parse(route.params, call.params)
  const query = parse(route.query, call.query)
  const body = isRaw ? taken(call, route, bytes) : parsedBody(route, value)
  if ("refusal" in body) return body
  const unknown = unknownIn(route.query, call.query)
  const fields = { ...params.fields, ...query.fields, ...body.fields, ...unknown }
  if (Object.keys(fields).length === 0) {
    return { body: body.value, query: query.value, params: params.value }
  }
  const faults = Object.entries(fields).map(([field, fault]) => `${field}: ${fault}`)
  const message = `The request is not valid: ${faults.join("; ").replace(/\.$/, "")}.`
  return { refusal: refusal("validation", message, { fields }) }
}

interface Parsed {
  readonly value: unknown
  readonly fields: Record<string, string>
}

function taken(call: Call, route: Route, bytes: Uint8Array | null): Parsed {
  const value = route.body === PIECES ? call.body.pieces() : (bytes ?? new Uint8Array())
  return { value, fields: {} }
}

function parsedBody(route: Route, value: unknown): Parsed | { readonly refusal: Refusal } {
  const fault = route.body === undefined ? jsonFault(value) : bodyFault(value)
  return fault === null ? parse(route.body, value ?? {}) : { refusal: fault }
}

/** Why a body is none that a schema can look at; null where it is. */
export function bodyFault(value: unknown): Refusal | null {
  if (value !== UNSUPPORTED_BODY) return jsonFault(value)
  const message = "The body must be JSON in UTF-8, not encoded, with content-type application/json."
  return refusal("unsupported_media_type", message)
}

function jsonFault(value: unknown): Refusal | null {
  if (value !== BROKEN_BODY) return null
  const fields = { body: "The body is not valid JSON." }
  return refusal("validation", "The body is not valid JSON.", { fields })
}

function parse(schema: ZodType | undefined, raw: unknown): Parsed {
  if (schema === undefined) return { value: undefined, fields: {} }
  const parsed = schema.safeParse(raw, { error: inWords })
  if (parsed.success) return { value: parsed.data, fields: {} }
  const fields: Record<string, string> = {}
  for (const issue of parsed.error.issues) {
    const field = issue.path.length === 0 ? "body" : issue.path.join(".")
    fields[field] ??= issue.message
  }
  return { value: undefined, fields }
}
