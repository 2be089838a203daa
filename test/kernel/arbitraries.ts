/** Arbitraries of events, made from the forms that they are stored in. */
import fc from "fast-check"
import type { EventFormats, AnyFieldType, ValueOf } from "../../domain/kernel/event-format.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"

/** An arbitrary for each field of an event but its type. */
export type FieldArbitraries<E> = { readonly [K in keyof E]-?: fc.Arbitrary<E[K]> }

/** The fields of each event type of a table of formats. */
export type Arbitraries<F extends EventFormats> = {
  readonly [T in keyof F]: {
    readonly [N in keyof F[T]["fields"]]: fc.Arbitrary<ValueOf<F[T]["fields"][N]>>
  }
}

const PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@+- ".split("")
/** Text of the characters that need no escape. */
const plain = fc.string({ unit: fc.constantFrom(...PLAIN), maxLength: 40 })
const WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_".split("")
const prefixedText = <P extends string>(prefix: P, unit: readonly string[]) =>
  fc
    .string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength: 22 })
    .map((rest) => `${prefix}${rest}` as const)
/** Text that was sealed. */
export const anySealedText = prefixedText("s1.", [...WORD, ".", "-"])
/** Every code point but the halves of a pair, the ones that JSON escapes more often than not. */
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom("\u0000", "\b", "\t", "\n", "\f", "\r", '"', "\\", "/", "\u007f", "\u2028"),
  ),
})
/** An instant, near and far from today. */
const at = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800_000 }),
  fc.integer({ min: -62_198_755_200_000, max: 253_402_300_800_000 }),
  fc.constantFrom(-1, 0, 1, 253_402_300_799_999, 253_402_300_800_000),
)
/** An amount that adds up exactly. */
const micros = fc.oneof(
  fc.integer({ min: -MAX_MICROS, max: MAX_MICROS }),
  fc.constantFrom(0, 1, -1, MAX_MICROS, -MAX_MICROS, 9_000),
)
/** An integer. */
const int = fc.maxSafeInteger().map((n) => n + 0)
/** True or false. */
export const anyFlag = fc.boolean()
/** Sometimes null. */
export const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
/** Named fields, in an object such as programs write. */
export const anyRecord = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(fields, { noNullPrototype: true })
/** A few of them. */
export const anyFew = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 5 })

/** Values of a kind. */
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

/** The arbitraries of the fields of every event type in a table. */
export function arbitrariesOf<F extends EventFormats>(formats: F): Arbitraries<F> {
  const all = Object.entries(formats).map(([type, { fields }]) => [type, fieldsOf(fields)])
  return Object.fromEntries(all) as Arbitraries<F>
}
