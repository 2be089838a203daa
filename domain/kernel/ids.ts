/**
 * Ids and other branded texts. Each id type has its own prefix, and plain text must be parsed to become one. A
 * company's id ends in its tag, and so does a key's id, so that a key can be routed and found without a table
 * (docs/decisions/access.md).
 */

/** `co_` and the company tag (6 base62 characters). */
export type CompanyId = `co_${string}`
/** `per_` and a unique part. */
export type PersonId = `per_${string}`
/** `key_` and the key tag (8 base62 characters). */
export type KeyId = `key_${string}`
/** `pur_` and a unique part. */
export type PurchaseId = `pur_${string}`

/** Any text: `chg_…`, an id derived from state such as `<boxId>:<minute>`, or an id that the caller chose. */
export type ChargeId = string

declare const keyedHashBrand: unique symbol
/**
 * A keyed hash of a company's text, in hexadecimal. Equal texts have equal hashes, and the text cannot be
 * recovered, so no phone number appears in a stream name.
 */
export type KeyedHash = string & { readonly [keyedHashBrand]: true }

/**
 * Personal text encrypted before a command is made: `s1.<subject>.<base64url>`. The domain cannot read it;
 * destroying the subject's key erases every copy.
 */
export type SealedText = `s1.${string}`

/** Parses texts of one form; returns null for others. */
export interface Parser<T extends string> {
  (text: string): T | null
  /** Every accepted text starts with one of these; empty if any start is possible. */
  readonly prefixes: readonly string[]
}

function parserOf<T extends string>(form: RegExp, ...prefixes: readonly string[]): Parser<T> {
  const parse = (text: string) => (form.test(text) ? (text as T) : null)
  return Object.assign(parse, { prefixes })
}

/** Creates the parser of ids with a prefix. Slices use it for their own ids. */
export function createIdParser<P extends string>(begins: P): Parser<`${P}${string}`> {
  return parserOf(new RegExp(`^${begins}\\w+$`), begins)
}

export const parseCompanyId: Parser<CompanyId> = createIdParser("co_")
export const parsePersonId: Parser<PersonId> = createIdParser("per_")
export const parseKeyId: Parser<KeyId> = createIdParser("key_")
export const parsePurchaseId: Parser<PurchaseId> = createIdParser("pur_")
/** Parses the id of a limit's holder other than the company: a person or a key. */
export const parseHolderId: Parser<PersonId | KeyId> = parserOf(
  /^(?:per|key)_\w+$/,
  ...parsePersonId.prefixes,
  ...parseKeyId.prefixes,
)
export const parseKeyedHash: Parser<KeyedHash> = parserOf(/^[0-9a-f]+$/)
/** Parses sealed text. */
export const parseSealedText: Parser<SealedText> = parserOf(/^s1\.[\w.-]+$/, "s1.")

/** Parses text that was stored as valid. @throws RangeError if it is invalid */
export function parseStored<T extends string>(parse: Parser<T>, stored: string): T {
  const parsed = parse(stored)
  if (parsed !== null) return parsed
  throw new RangeError(`stored text "${stored}" is invalid`)
}

/** Returns the company id of a company tag. */
export function companyIdFromTag(tag: string): CompanyId {
  return `co_${tag}`
}

/** Returns the key id of a key tag. */
export function keyIdFromTag(tag: string): KeyId {
  return `key_${tag}`
}

/** Returns an id without its prefix. */
export function tagOfId(id: CompanyId | KeyId): string {
  return id.slice(id.indexOf("_") + 1)
}
