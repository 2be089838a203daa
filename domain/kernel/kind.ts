/** Kinds of values, as the fields of stored facts have them. */

/** What there is of a kind: enough to make values of it, and to say what it is. */
export type Holds =
  | "text"
  | "plain text"
  | "integer"
  | "micros"
  | "instant"
  | "flag"
  /** One of these. */
  | { readonly words: readonly string[] }
  /** A name that begins with one of these. */
  | { readonly begins: readonly string[] }
  /** One of these, or null. */
  | { readonly orNull: AnyKind }
  | { readonly list: AnyKind }
  | { readonly fields: Fields }

/** One way to write a value of type T as canonical JSON text and to read it back from parsed JSON. */
export interface Kind<T> {
  /** @throws FormatFault when `value` has no stored form: what could not be read is not written */
  readonly write: (value: T) => string
  /** @throws FormatFault when `raw` is no such value */
  readonly read: (raw: unknown) => T
  readonly holds: Holds
  /** Null is written by leaving the field out. */
  readonly optional?: true
}

/** A kind of whatever values. */
export interface AnyKind {
  readonly write: (value: never) => string
  readonly read: (raw: unknown) => unknown
  readonly holds: Holds
  readonly optional?: true
}

/** A kind for each of some named fields. */
export type Fields = Readonly<Record<string, AnyKind>>

/** What values of a kind are. */
export type ValueOf<K> = K extends { readonly read: (raw: unknown) => infer T } ? T : never

/** What the values of some named fields are. */
export type ValuesOf<F> = { readonly [K in keyof F]: ValueOf<F[K]> }
