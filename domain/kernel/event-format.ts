/**
 * Stored formats of events. One table per stream category gives each event type its fields and their types; the
 * event's TypeScript type, its codec and the upcasting of older versions derive from it.
 *
 * Events are stored as RFC 8785 canonical JSON (keys in UTF-16 order, no white space), because the stored text is
 * hashed. Money is a decimal string of micro-dollars, an instant is ISO 8601 in UTC, and a null field is omitted.
 * Formats are final: a change is a new version with an upcaster from the version before.
 */
import type { Fact } from "./decider.ts"
import { formatInstant, isInstant, parseInstant } from "./instant.ts"

/** Describes the values of a field type, so that tests can generate them. */
export type FieldSchema =
  | "text"
  | "plain text"
  | "integer"
  | "micros"
  | "instant"
  | "flag"
  | { readonly values: readonly string[] }
  | { readonly prefixes: readonly string[] }
  | { readonly orNull: AnyFieldType }
  | { readonly list: AnyFieldType }
  | { readonly fields: FieldTypes }

/** Writes a value of type T as canonical JSON and reads it from parsed JSON. */
export interface FieldType<T> {
  /** @throws FormatFault if `value` could not be read back */
  readonly write: (value: T) => string
  /** @throws FormatFault if `raw` is not of this type */
  readonly read: (raw: unknown) => T
  readonly schema: FieldSchema
  /** Null is written by omitting the field. */
  readonly optional?: true
}

/** A field type whose value type is not known here. */
export interface AnyFieldType {
  readonly write: (value: never) => string
  readonly read: (raw: unknown) => unknown
  readonly schema: FieldSchema
  readonly optional?: true
}

export type FieldTypes = Readonly<Record<string, AnyFieldType>>

export type ValueOf<K> = K extends { readonly read: (raw: unknown) => infer T } ? T : never

/** The values of named fields. */
export type ValuesOf<F> = { readonly [K in keyof F]: ValueOf<F[K]> }

/** The current format of an event type and its upcasters. */
export interface EventFormat {
  /** The version that is written, from 1. */
  readonly version: number
  readonly fields: FieldTypes & { readonly at: FieldType<number> }
  /** Upcasters by version: each converts parsed JSON to the next version. */
  readonly upcasters?: Readonly<
    Record<number, (raw: Record<string, unknown>) => Record<string, unknown>>
  >
}

/** The format of each event type of one stream category. */
export type EventFormats = Readonly<Record<string, EventFormat>>

/** The events that a table of formats defines; only those of type `T` if given. */
export type FactOf<F extends EventFormats, T extends keyof F = keyof F> = T extends keyof F
  ? Flattened<{ readonly type: T } & ValuesOf<F[T]["fields"]>> extends infer E extends Fact
    ? E
    : never
  : never

type Flattened<T> = { readonly [K in keyof T]: T[K] }

/** Thrown when stored text does not match the format of its type and version. */
export class FormatFault extends Error {
  override readonly name = "FormatFault"
}

/** Writes and reads the events of one stream category. */
export interface Codec<E extends Fact> {
  readonly types: readonly E["type"][]
  readonly formats: EventFormats
  readonly version: (type: E["type"]) => number
  /**
   * Returns the event's fields, without its type, as canonical JSON.
   *
   * @throws FormatFault if a field has no stored form
   */
  readonly encode: (event: E) => string
  /** @throws FormatFault if the type is unknown or the text does not match the version's format */
  readonly decode: (type: string, version: number, text: string) => E
}

interface CompiledField {
  readonly name: string
  readonly prefix: string
  readonly kind: FieldType<unknown>
}

interface CompiledFormat {
  readonly format: EventFormat
  readonly fields: readonly CompiledField[]
  /** Copied and filled when reading, which is faster than adding fields one by one. */
  readonly blank: Readonly<Record<string, unknown>>
}

function emptyRecordOf(fields: readonly CompiledField[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(({ name }) => [name, null]))
}

function fault(expected: string, raw: unknown): never {
  throw new FormatFault(`expected ${expected}, found ${JSON.stringify(raw)}`)
}

/** Any text without lone surrogates; they are rejected when writing and reading. */
export const text: FieldType<string> = {
  schema: "text",
  write: (value) => JSON.stringify(wellFormed(value)),
  read: (raw) => wellFormed(raw),
}

/** RFC 8785 has no form for a lone surrogate, so it must not reach the hash. */
function wellFormed(raw: unknown): string {
  return typeof raw === "string" && raw.isWellFormed() ? raw : fault("text", raw)
}

const PLAIN = /^[\w.:@+ -]*$/

/**
 * Text of ASCII letters, digits, spaces and `_ . : @ + -`, for ids, codes and tags; other texts are rejected when
 * writing and reading.
 */
export const asciiText: FieldType<string> = {
  schema: "plain text",
  write: (value) => (PLAIN.test(value) ? `"${value}"` : fault("plain text", value)),
  read: (raw) => (typeof raw === "string" && PLAIN.test(raw) ? raw : fault("plain text", raw)),
}

/** An integer within 2^53; other numbers are rejected when writing and reading. */
export const integer: FieldType<number> = {
  schema: "integer",
  write: (value) => (Number.isSafeInteger(value) ? String(value) : fault("an integer", value)),
  read: (raw) => (Number.isSafeInteger(raw) ? (raw as number) : fault("an integer", raw)),
}

/** Integer micro-dollars as a decimal string; other values are rejected when writing and reading. */
export const micros: FieldType<number> = {
  schema: "micros",
  write: (value) => (Number.isSafeInteger(value) ? `"${value}"` : fault("micros", value)),
  read: (raw) => {
    if (typeof raw !== "string" || !/^(0|-?[1-9]\d*)$/.test(raw)) return fault("micros", raw)
    const value = Number(raw)
    return Number.isSafeInteger(value) ? value : fault("micros within 2^53", raw)
  },
}

/** An instant in UTC milliseconds, stored as the ISO 8601 text that `toISOString` returns. */
export const instant: FieldType<number> = {
  schema: "instant",
  write: (value) => (isInstant(value) ? `"${formatInstant(value)}"` : fault("an instant", value)),
  read: (raw) => {
    const value = typeof raw === "string" ? parseInstant(raw) : null
    return value ?? fault("an instant", raw)
  },
}

/** True or false; other values are rejected when writing and reading. */
export const flag: FieldType<boolean> = {
  schema: "flag",
  write: (value) => (typeof value === "boolean" ? String(value) : fault("true or false", value)),
  read: (raw) => (typeof raw === "boolean" ? raw : fault("true or false", raw)),
}

/** One of a closed list of words; others are rejected when writing and reading. */
export function enumOf<const T extends string>(...values: readonly T[]): FieldType<T> {
  const known = new Set<string>(values)
  return {
    schema: { values },
    write: (value) => (known.has(value) ? `"${value}"` : fault(values.join(" or "), value)),
    read: (raw) => (known.has(raw as string) ? (raw as T) : fault(values.join(" or "), raw)),
  }
}

/** A value or null; null is written by omitting the field. */
export function optional<T>(kind: FieldType<T>): FieldType<T | null> {
  return {
    schema: { orNull: kind },
    optional: true,
    write: (value) => (value === null ? "null" : kind.write(value)),
    read: (raw) => (raw === undefined ? null : kind.read(raw)),
  }
}

/** A list of values of one type. */
export function list<T>(kind: FieldType<T>): FieldType<readonly T[]> {
  return {
    schema: { list: kind },
    write: (values) => `[${values.map((value) => kind.write(value)).join(",")}]`,
    read: (raw) => (Array.isArray(raw) ? raw.map((item) => kind.read(item)) : fault("a list", raw)),
  }
}

/** An object with named fields. */
export function record<const F extends FieldTypes>(fields: F): FieldType<ValuesOf<F>> {
  const compiled = compile(fields)
  const blank = emptyRecordOf(compiled)
  return {
    schema: { fields },
    write: (value) => writeFields(compiled, value),
    read: (raw) => {
      if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return fault("fields", raw)
      return readFields<ValuesOf<F>>(compiled, raw as Record<string, unknown>, { ...blank })
    },
  }
}

/** Builds the codec of a table of formats. The codec throws FormatFault. */
export function codecOf<F extends EventFormats>(formats: F): Codec<FactOf<F>> {
  const table = new Map<string, CompiledFormat>()
  for (const [type, format] of Object.entries(formats)) {
    const fields = compile(format.fields)
    table.set(type, { format, fields, blank: { type, ...emptyRecordOf(fields) } })
  }
  const find = (type: string) => {
    const found = table.get(type)
    if (found === undefined) throw new FormatFault(`unknown event type ${type}`)
    return found
  }
  return {
    formats,
    types: Object.keys(formats),
    version: (type) => find(type).format.version,
    encode: (event) => writeFields(find(event.type).fields, event),
    decode: (type, version, body) => {
      const { format, fields, blank } = find(type)
      const raw = upcast(type, format, version, parseFields(body))
      return readFields<FactOf<F>>(fields, raw, { ...blank })
    },
  }
}

function parseFields(body: string): Record<string, unknown> {
  try {
    const raw: unknown = JSON.parse(body)
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return fault("fields", raw)
    return raw as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new FormatFault(`not valid JSON: ${error.message}`)
  }
}

function upcast(
  type: string,
  format: EventFormat,
  version: number,
  raw: Record<string, unknown>,
): Record<string, unknown> {
  let upcasted = raw
  for (let v = version; v !== format.version; v += 1) {
    const step = format.upcasters?.[v]
    if (step === undefined) throw new FormatFault(`${type} has no version ${version}`)
    upcasted = step(upcasted)
  }
  return upcasted
}

function compile(fields: FieldTypes): readonly CompiledField[] {
  return Object.entries(fields as Readonly<Record<string, FieldType<unknown>>>)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, kind]) => ({ name, kind, prefix: `${JSON.stringify(name)}:` }))
}

function writeFields(fields: readonly CompiledField[], value: object): string {
  const values = value as Readonly<Record<string, unknown>>
  let out = "{"
  for (const { name, prefix, kind } of fields) {
    const item = values[name]
    if (item === null && kind.optional === true) continue
    out += (out.length > 1 ? "," : "") + prefix + kind.write(item)
  }
  return `${out}}`
}

/** Reads all fields into a copy of a blank `T`; the field types guarantee its shape. */
function readFields<T>(
  fields: readonly CompiledField[],
  raw: Record<string, unknown>,
  into: Record<string, unknown>,
): T {
  let reading = ""
  try {
    for (const { name, kind } of fields) {
      reading = name
      into[name] = kind.read(raw[name])
    }
  } catch (error) {
    if (error instanceof FormatFault) throw new FormatFault(`${reading}: ${error.message}`)
    throw error
  }
  return into as T
}
