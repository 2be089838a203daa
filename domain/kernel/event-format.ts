/**
 * How facts are written down. One table per event type names each field and its kind; from it come
 * the fact's type, the text that is stored, the check when it is read back, and the lifting of
 * older versions.
 *
 * The text is RFC 8785 canonical JSON (keys in UTF-16 order, no white space): what is stored is
 * what is hashed. Money is a decimal string of micros, an instant ISO 8601 text in UTC, a field
 * whose value is null is left out. Formats are final: a change is a new version with a `lift` from
 * the one before, and the old table stays.
 */
import type { Fact } from "./decider.ts"
import { formatInstant, isInstant, parseInstant } from "./instant.ts"

/** What there is of a kind: enough to make values of it, and to say what it is. */
export type FieldSchema =
  | "text"
  | "plain text"
  | "integer"
  | "micros"
  | "instant"
  | "flag"
  /** One of these. */
  | { readonly values: readonly string[] }
  /** A name that begins with one of these. */
  | { readonly prefixes: readonly string[] }
  /** One of these, or null. */
  | { readonly orNull: AnyFieldType }
  | { readonly list: AnyFieldType }
  | { readonly fields: FieldTypes }

/** One way to write a value of type T as canonical JSON text and to read it back from parsed JSON. */
export interface FieldType<T> {
  /** @throws FormatFault when `value` has no stored form: what could not be read is not written */
  readonly write: (value: T) => string
  /** @throws FormatFault when `raw` is no such value */
  readonly read: (raw: unknown) => T
  readonly schema: FieldSchema
  /** Null is written by leaving the field out. */
  readonly optional?: true
}

/** A kind of whatever values. */
export interface AnyFieldType {
  readonly write: (value: never) => string
  readonly read: (raw: unknown) => unknown
  readonly schema: FieldSchema
  readonly optional?: true
}

/** A kind for each of some named fields. */
export type FieldTypes = Readonly<Record<string, AnyFieldType>>

/** What values of a kind are. */
export type ValueOf<K> = K extends { readonly read: (raw: unknown) => infer T } ? T : never

/** What the values of some named fields are. */
export type ValuesOf<F> = { readonly [K in keyof F]: ValueOf<F[K]> }

/** The current format of an event type, and those before it. */
export interface EventFormat {
  /** The version written now, from 1. */
  readonly version: number
  readonly fields: FieldTypes & { readonly at: FieldType<number> }
  /** Lifts an event of a former version, parsed JSON, to the parsed JSON of the next version. */
  readonly upcasters?: Readonly<
    Record<number, (raw: Record<string, unknown>) => Record<string, unknown>>
  >
}

/** A format for each event type of one stream category. */
export type EventFormats = Readonly<Record<string, EventFormat>>

/** The facts that a table of formats is of; those of some types, where they are named. */
export type FactOf<F extends EventFormats, T extends keyof F = keyof F> = T extends keyof F
  ? Flattened<{ readonly type: T } & ValuesOf<F[T]["fields"]>> extends infer E extends Fact
    ? E
    : never
  : never

type Flattened<T> = { readonly [K in keyof T]: T[K] }

/** Stored text does not have the form that its type and version promise. */
export class FormatFault extends Error {
  override readonly name = "FormatFault"
}

/** Writes and reads the events of one stream category. */
export interface Codec<E extends Fact> {
  /** Every event type there is. */
  readonly types: readonly E["type"][]
  /** The forms that it writes. */
  readonly formats: EventFormats
  /** The version written for this event type. */
  readonly version: (type: E["type"]) => number
  /** Canonical JSON of the event's fields without its type. @throws FormatFault without a form */
  readonly encode: (event: E) => string
  /** @throws FormatFault when the type is unknown or the text does not fit the version's format */
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
  /** An event with nothing in its fields yet. */
  readonly blank: Readonly<Record<string, unknown>>
}

/** What a copy is made of to be filled: quicker than to add field after field. */
function blankOf(fields: readonly CompiledField[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(({ name }) => [name, null]))
}

function fault(expected: string, raw: unknown): never {
  throw new FormatFault(`expected ${expected}, found ${JSON.stringify(raw)}`)
}

/** Any text without lone surrogates. Lone surrogates are refused in both directions. */
export const text: FieldType<string> = {
  schema: "text",
  write: (value) => JSON.stringify(wellFormed(value)),
  read: (raw) => wellFormed(raw),
}

/** RFC 8785 has no form for a lone surrogate: it must not reach the hash. */
function wellFormed(raw: unknown): string {
  return typeof raw === "string" && raw.isWellFormed() ? raw : fault("text", raw)
}

const PLAIN = /^[\w.:@+ -]*$/

/** Text of plain characters (ids, codes, tags). Other characters are refused in both directions. */
export const asciiText: FieldType<string> = {
  schema: "plain text",
  write: (value) => (PLAIN.test(value) ? `"${value}"` : fault("plain text", value)),
  read: (raw) => (typeof raw === "string" && PLAIN.test(raw) ? raw : fault("plain text", raw)),
}

/** An integer within 2^53; other numbers are refused in both directions. */
export const integer: FieldType<number> = {
  schema: "integer",
  write: (value) => (Number.isSafeInteger(value) ? String(value) : fault("an integer", value)),
  read: (raw) => (Number.isSafeInteger(raw) ? (raw as number) : fault("an integer", raw)),
}

/** Integer micro-dollars as a decimal string; what is no integer is refused in both directions. */
export const micros: FieldType<number> = {
  schema: "micros",
  write: (value) => (Number.isSafeInteger(value) ? `"${value}"` : fault("micros", value)),
  read: (raw) => {
    if (typeof raw !== "string" || !/^(0|-?[1-9]\d*)$/.test(raw)) return fault("micros", raw)
    const value = Number(raw)
    return Number.isSafeInteger(value) ? value : fault("micros within 2^53", raw)
  },
}

/** An instant in UTC milliseconds, as ISO 8601 text in the one form that `toISOString` gives. */
export const instant: FieldType<number> = {
  schema: "instant",
  write: (value) => (isInstant(value) ? `"${formatInstant(value)}"` : fault("an instant", value)),
  read: (raw) => {
    const value = typeof raw === "string" ? parseInstant(raw) : null
    return value ?? fault("an instant", raw)
  },
}

/** True or false. */
export const flag: FieldType<boolean> = {
  schema: "flag",
  write: (value) => (typeof value === "boolean" ? String(value) : fault("true or false", value)),
  read: (raw) => (typeof raw === "boolean" ? raw : fault("true or false", raw)),
}

/** One of a closed list of words; other words are refused in both directions. */
export function enumOf<const T extends string>(...values: readonly T[]): FieldType<T> {
  const known = new Set<string>(values)
  return {
    schema: { values },
    write: (value) => (known.has(value) ? `"${value}"` : fault(values.join(" or "), value)),
    read: (raw) => (known.has(raw as string) ? (raw as T) : fault(values.join(" or "), raw)),
  }
}

/** A value or null; null is written by leaving the field out. */
export function optional<T>(kind: FieldType<T>): FieldType<T | null> {
  return {
    schema: { orNull: kind },
    optional: true,
    write: (value) => (value === null ? "null" : kind.write(value)),
    read: (raw) => (raw === undefined ? null : kind.read(raw)),
  }
}

/** Values of one kind, in order. */
export function list<T>(kind: FieldType<T>): FieldType<readonly T[]> {
  return {
    schema: { list: kind },
    write: (values) => `[${values.map((value) => kind.write(value)).join(",")}]`,
    read: (raw) => (Array.isArray(raw) ? raw.map((item) => kind.read(item)) : fault("a list", raw)),
  }
}

/** Named fields, each of its kind. */
export function record<const F extends FieldTypes>(fields: F): FieldType<ValuesOf<F>> {
  const compiled = compile(fields)
  const blank = blankOf(compiled)
  return {
    schema: { fields },
    write: (value) => writeFields(compiled, value),
    read: (raw) => {
      if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return fault("fields", raw)
      return readFields<ValuesOf<F>>(compiled, raw as Record<string, unknown>, { ...blank })
    },
  }
}

/** The codec of the facts of a table of formats. It throws FormatFault. */
export function codecOf<F extends EventFormats>(formats: F): Codec<FactOf<F>> {
  const table = new Map<string, CompiledFormat>()
  for (const [type, format] of Object.entries(formats)) {
    const fields = compile(format.fields)
    table.set(type, { format, fields, blank: { type, ...blankOf(fields) } })
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
    throw new FormatFault(`no JSON: ${error.message}`)
  }
}

function upcast(
  type: string,
  format: EventFormat,
  version: number,
  raw: Record<string, unknown>,
): Record<string, unknown> {
  let lifted = raw
  for (let v = version; v !== format.version; v += 1) {
    const step = format.upcasters?.[v]
    if (step === undefined) throw new FormatFault(`${type} has no version ${version}`)
    lifted = step(lifted)
  }
  return lifted
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

/** Reads all fields into a copy of a blank `T`, whose types the kinds of the fields promise. */
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
