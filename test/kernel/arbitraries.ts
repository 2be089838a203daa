/** Arbitraries of events, derived from their stored formats. */
import fc from "fast-check"
import type { EventFormats, AnyFieldType, ValueOf } from "../../domain/kernel/event-format.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"

/** An arbitrary for each field of an event except `type`. */
export type FieldArbitraries<E> = { readonly [K in keyof E]-?: fc.Arbitrary<E[K]> }

export type Arbitraries<F extends EventFormats> = {
  readonly [T in keyof F]: {
    readonly [N in keyof F[T]["fields"]]: fc.Arbitrary<ValueOf<F[T]["fields"][N]>>
  }
}

const PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@+- ".split("")
/** Text whose characters need no escape in JSON. */
const plain = fc.string({ unit: fc.constantFrom(...PLAIN), maxLength: 40 })
const WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_".split("")
const prefixedText = <P extends string>(prefix: P, unit: readonly string[]) =>
  fc
    .string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength: 22 })
    .map((rest) => `${prefix}${rest}` as const)
export const anySealedText = prefixedText("s1.", [...WORD, ".", "-"])
/** Any code point except lone surrogates; characters that JSON escapes are frequent. */
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom("\u0000", "\b", "\t", "\n", "\f", "\r", '"', "\\", "/", "\u007f", "\u2028"),
  ),
})
/** An instant near to or far from today. */
const at = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800_000 }),
  fc.integer({ min: -62_198_755_200_000, max: 253_402_300_800_000 }),
  fc.constantFrom(-1, 0, 1, 253_402_300_799_999, 253_402_300_800_000),
)
/** An amount whose sums stay exact. */
const micros = fc.oneof(
  fc.integer({ min: -MAX_MICROS, max: MAX_MICROS }),
  fc.constantFrom(0, 1, -1, MAX_MICROS, -MAX_MICROS, 9_000),
)
const int = fc.maxSafeInteger().map((n) => n + 0)
/** A boolean. */
export const anyFlag = fc.boolean()
/** The arbitrary's value, or null. */
export const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
/** A plain object with these fields. */
export const anyRecord = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(fields, { noNullPrototype: true })
/** A list of at most five values. */
export const anyFew = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 5 })

function arbitraryOf({ schema }: AnyFieldType): fc.Arbitrary<unknown> {
  switch (schema) {
    case "text":
      return text
    case "plain text":
      return plain
    case "integer":
      return int
    case "micros":
      return micros
    case "instant":
      return at
    case "flag":
      return anyFlag
  }
  if ("values" in schema) return fc.constantFrom(...schema.values)
  if ("prefixes" in schema && schema.prefixes.length === 0)
    return fc.stringMatching(/^[0-9a-f]{32}$/)
  if ("prefixes" in schema)
    return fc.oneof(...schema.prefixes.map((start) => prefixedText(start, WORD)))
  if ("orNull" in schema) return nullable(arbitraryOf(schema.orNull))
  if ("list" in schema) return anyFew(arbitraryOf(schema.list))
  return anyRecord(fieldsOf(schema.fields))
}

function fieldsOf(fields: Readonly<Record<string, AnyFieldType>>) {
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, arbitraryOf(kind)]))
}

/** The field arbitraries of every event type in a table. */
export function arbitrariesOf<F extends EventFormats>(formats: F): Arbitraries<F> {
  const all = Object.entries(formats).map(([type, { fields }]) => [type, fieldsOf(fields)])
  return Object.fromEntries(all) as Arbitraries<F>
}
