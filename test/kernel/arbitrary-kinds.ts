/** What the arbitraries of events are made of. */
import fc from "fast-check"
import type { Fact } from "../../domain/kernel/decider.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"

/** An arbitrary for each field of an event but its type. */
export type FieldArbitraries<E> = { readonly [K in keyof E]-?: fc.Arbitrary<E[K]> }

/** The fields of each event type of a union. */
export type Arbitraries<E extends Fact> = {
  readonly [T in E["type"]]: FieldArbitraries<Omit<Extract<E, { type: T }>, "type">>
}

const PLAIN = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@+- "]
/** Text of the characters that need no escape. */
export const plain = fc.string({ unit: fc.constantFrom(...PLAIN), maxLength: 40 })
const WORD = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"]
const beginning = <P extends string>(prefix: P, unit: readonly string[]) =>
  fc
    .string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength: 22 })
    .map((rest) => `${prefix}${rest}` as const)
/** Ids, by what they name. */
export const id = {
  company: beginning("co_", WORD),
  person: beginning("per_", WORD),
  key: beginning("key_", WORD),
  purchase: beginning("pur_", WORD),
  message: beginning("msg_", WORD),
  number: beginning("num_", WORD),
}
/** Text that was sealed. */
export const sealed = beginning("s1.", [...WORD, ".", "-"])
/** Every code point but the halves of a pair, the ones that JSON escapes more often than not. */
export const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom("\u0000", "\b", "\t", "\n", "\f", "\r", '"', "\\", "/", "\u007f", "\u2028"),
  ),
})
/** An instant, near and far from today. */
export const at = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800_000 }),
  fc.integer({ min: -62_198_755_200_000, max: 253_402_300_800_000 }),
  fc.constantFrom(-1, 0, 1, 253_402_300_799_999, 253_402_300_800_000),
)
/** An amount that adds up exactly. */
export const micros = fc.oneof(
  fc.integer({ min: -MAX_MICROS, max: MAX_MICROS }),
  fc.constantFrom(0, 1, -1, MAX_MICROS, -MAX_MICROS, 9_000),
)
/** An integer. */
export const int = fc.maxSafeInteger().map((n) => n + 0)
/** True or false. */
export const flag = fc.boolean()
/** Sometimes null. */
export const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })
/** Named fields, in an object such as programs write. */
export const record = <T>(fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(fields, { noNullPrototype: true })
/** A few of them. */
export const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 5 })
