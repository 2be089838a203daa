/** Parses a call's path, query and body once, so that handlers get typed values. */
import type { ZodType, core } from "zod"
import { z } from "zod"
import type { ParsedBody, ApiCall } from "../api-call.ts"
import { INVALID_JSON_BODY, UNSUPPORTED_BODY } from "../api-call.ts"
import type { Refusal, RefusalCode } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { CheckedRequest, Route } from "../declare/route.ts"
import { RAW_BODY, CHUNKED_BODY } from "../declare/route.ts"
import { nearestName } from "../../kernel/nearest.ts"

/** A query whose parameters the route ignores, because providers add their own to the URL. */
export const ANY_QUERY = z.looseObject({})

/** A name that is safe to repeat; others are reported under `query`. */
const PLAIN = /^(?!__proto__$)[\w.[\]-]{1,64}$/

type Issue = Pick<core.$ZodIssue, "code" | "path" | "message">

/** The parts of a call that have schemas. */
type Parts = Pick<CheckedRequest<unknown, unknown, unknown>, "body" | "query" | "params">

/** Parses path, query and body, or returns their faults. */
export function validateCall(
  route: Route,
  call: ApiCall,
  { bytes, value }: ParsedBody,
): Parts | { readonly refusal: Refusal } {
  const { faults = {} } = call
  if (Object.keys(faults).length > 0) return { refusal: invalidRefusal(faults) }
  const isRaw = route.body === RAW_BODY || route.body === CHUNKED_BODY
  const params = parseFields(route.params, call.params)
  const query = parseFields(route.query, call.query, "query")
  const body = isRaw ? rawBody(call, route, bytes) : parsedBody(route, value)
  if ("refusal" in body) return body
  const unknown = unknownParameters(route.query, call.query)
  const fields = { ...params.fields, ...query.fields, ...body.fields, ...unknown }
  if (Object.keys(fields).length === 0) {
    return { body: body.value, query: query.value, params: params.value }
  }
  const named = namedFault(route, fields, value)
  if (named !== null) return { refusal: refusal(named.code, named.message) }
  return { refusal: invalidRefusal(fields) }
}

/** Returns the refusal of a request with these faults. */
export function invalidRefusal(fields: Readonly<Record<string, string>>): Refusal {
  const faults = Object.entries(fields).map(
    ([field, fault]) => `${field}: ${fault.replace(/\.$/, "")}`,
  )
  return refusal("validation", `The request is not valid: ${faults.join("; ")}.`, { fields })
}

interface FieldFault {
  readonly code: RefusalCode
  readonly message: string
}

/** The fault of a field that has its own error code, which wins over all others (docs/api.md, "Order of checks"). */
function namedFault(
  { fieldFaultCodes = {} }: Route,
  fields: Readonly<Record<string, string>>,
  body: unknown,
): FieldFault | null {
  for (const [field, code] of Object.entries(fieldFaultCodes)) {
    const message = fields[field]
    if (message !== undefined && valueAt(body, [field]) !== undefined) return { code, message }
  }
  return null
}

interface Parsed {
  readonly value: unknown
  readonly fields: Record<string, string>
}

function rawBody(call: ApiCall, route: Route, bytes: Uint8Array | null): Parsed {
  const value = route.body === CHUNKED_BODY ? call.body.chunks() : (bytes ?? new Uint8Array())
  return { value, fields: {} }
}

function parsedBody(route: Route, value: unknown): Parsed | { readonly refusal: Refusal } {
  const fault = route.body === undefined ? jsonRefusal(value) : bodyRefusal(value)
  return fault === null ? parseFields(route.body, value ?? {}) : { refusal: fault }
}

/** Returns why a body cannot be validated; null if it can. */
export function bodyRefusal(value: unknown): Refusal | null {
  if (value !== UNSUPPORTED_BODY) return jsonRefusal(value)
  const message =
    "The body must be uncompressed JSON in UTF-8, with Content-Type: application/json."
  return refusal("unsupported_media_type", message)
}

function jsonRefusal(value: unknown): Refusal | null {
  if (value !== INVALID_JSON_BODY) return null
  const fields = { body: "The body is not valid JSON." }
  return refusal("validation", "The body is not valid JSON.", { fields })
}

/**
 * Parses a value, or returns its faults by field.
 *
 * @param part `query` if repeated values form a list
 */
export function parseFields(
  schema: ZodType | undefined,
  raw: unknown,
  part: "query" | "other" = "other",
): Parsed {
  if (schema === undefined) return { value: undefined, fields: {} }
  const parsed = schema.safeParse(raw, { error: formatIssue })
  if (parsed.success) return { value: parsed.data, fields: {} }
  const fields: Record<string, string> = {}
  for (const issue of parsed.error.issues) {
    const field = issue.path.length === 0 ? "body" : issue.path.join(".")
    fields[field] ??= faultOf(issue, raw, part)
  }
  return { value: undefined, fields }
}

/** Returns the fault of a field; that it is missing comes before its form. */
function faultOf({ code, path, message }: Issue, raw: unknown, part: "query" | "other"): string {
  if (code === "custom" || path.length === 0) return message
  const value = valueAt(raw, path)
  if (value === undefined) return "Is required."
  return part === "query" && Array.isArray(value) ? "Must be given once." : message
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let value = raw
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<PropertyKey, unknown>>)[step]
  }
  return value
}

/** Returns the faults of unknown query parameters, by name. */
function unknownParameters(schema: ZodType | undefined, query: unknown): Record<string, string> {
  if (schema === ANY_QUERY) return {}
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const names = Object.keys(query ?? {}).filter((name) => !known.includes(name))
  const faults = names.map((name) =>
    PLAIN.test(name)
      ? [name, `Is not a query parameter of this route${nearestWords(name, known)}`]
      : ["query", `Has a parameter that this route does not have${nearestWords(name, known)}`],
  )
  return Object.fromEntries(faults) as Record<string, string>
}

function nearestWords(name: string, known: readonly string[]): string {
  const nearest = nearestName(name.slice(0, 64), known)
  if (nearest !== null) return `; the nearest is ${nearest}.`
  return known.length === 0 ? ", which takes none." : `, which takes ${known.join(", ")}.`
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
}

/** Formats any issue of a schema as a sentence. */
export function formatIssue(issue: core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type": {
      // Only the body itself has an empty path: a query is always an object.
      if ((issue.path ?? []).length === 0) return `The body must be ${typeNameOf(issue.expected)}.`
      if (issue.input === undefined) return "Is required."
      return `Must be ${typeNameOf(issue.expected)}.`
    }
    case "invalid_value":
      return `Must be ${formatChoices(issue.values)}.`
    case "too_big": {
      const { origin, maximum, inclusive } = issue
      return `Must be ${inclusive === false ? "less than" : "at most"} ${formatBound(maximum, origin)}.`
    }
    case "too_small": {
      const { origin, minimum, inclusive } = issue
      return `Must be ${inclusive === false ? "more than" : "at least"} ${formatBound(minimum, origin)}.`
    }
    case "not_multiple_of":
      return `Must be a multiple of ${issue.divisor}.`
    case "unrecognized_keys":
      return `Must have no field ${issue.keys.join(", ")}.`
    default:
      return "Does not have the required format."
  }
}

function typeNameOf(expected: string): string {
  return TYPE_NAMES[expected] ?? "of another kind"
}

function formatChoices(values: readonly unknown[]): string {
  const words = values.map(String)
  return words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`
}

const UNITS: Readonly<Record<string, string>> = {
  string: " characters long",
  array: " entries long",
  set: " entries long",
}

function formatBound(bound: number | bigint, origin: string): string {
  return `${bound}${UNITS[origin] ?? ""}`
}
