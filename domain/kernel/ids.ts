/**
 * Names of things. An id begins with what it names, and so does its type: a key's id is no person's,
 * and a text is neither until it was parsed. A company's id ends in its six-character tag and a key's
 * in its eight-character tag, so that a key can be routed and looked up without a table
 * (decisions.md §2).
 */

/** `co_` and the company tag (6 base62 characters). */
export type CompanyId = `co_${string}`
/** `per_` and a unique part. */
export type PersonId = `per_${string}`
/** `key_` and the key tag (8 base62 characters). */
export type KeyId = `key_${string}`
/** `pur_` and a unique part. */
export type PurchaseId = `pur_${string}`

/**
 * `chg_…`, a name that carried state makes once-only, such as `<boxId>:<minute>`, or the caller's own:
 * any text may be one.
 */
export type ChargeId = string

declare const keyedHashBrand: unique symbol
/**
 * A keyed hash of a text of a company, hexadecimal: equal texts have equal ones, and nobody reads the
 * text from it. The text itself is none, so that no phone number ever stands in a stream's name.
 */
export type KeyedHash = string & { readonly [keyedHashBrand]: true }

/**
 * Personal text encrypted at the edge, before a command is made: `s1.<subject>.<base64url>`. The
 * core carries it and cannot read it; whoever erases the subject's key erases it everywhere.
 */
export type SealedText = `s1.${string}`

/** Reads texts of one form; null for any other. */
export interface Parser<T extends string> {
  (text: string): T | null
  /** What such texts begin with: one of these; anything, where there are none. */
  readonly prefixes: readonly string[]
}

function parserOf<T extends string>(form: RegExp, ...prefixes: readonly string[]): Parser<T> {
  const parse = (text: string) => (form.test(text) ? (text as T) : null)
  return Object.assign(parse, { prefixes })
}

/** Ids of one kind: what they begin with, and a name behind it. A slice's own are parsed by this too. */
export function createIdParser<P extends string>(begins: P): Parser<`${P}${string}`> {
  return parserOf(new RegExp(`^${begins}\\w+$`), begins)
}

/** The company id that a text is. */
export const parseCompanyId: Parser<CompanyId> = createIdParser("co_")
/** The person id that a text is. */
export const parsePersonId: Parser<PersonId> = createIdParser("per_")
/** The key id that a text is. */
export const parseKeyId: Parser<KeyId> = createIdParser("key_")
/** The purchase id that a text is. */
export const parsePurchaseId: Parser<PurchaseId> = createIdParser("pur_")
/** The id of whom a limit can bind beside the company: a person or a key. */
export const parseHolderId: Parser<PersonId | KeyId> = parserOf(
  /^(?:per|key)_\w+$/,
  ...parsePersonId.prefixes,
  ...parseKeyId.prefixes,
)
/** The keyed hash that a text is. */
export const parseKeyedHash: Parser<KeyedHash> = parserOf(/^[0-9a-f]+$/)
/** The sealed text that a text is. */
export const parseSealedText: Parser<SealedText> = parserOf(/^s1\.[\w.-]+$/, "s1.")

/** What a text that was kept must be. @throws RangeError where it is not */
export function parseStored<T extends string>(parse: Parser<T>, kept: string): T {
  const found = parse(kept)
  if (found !== null) return found
  throw new RangeError(`"${kept}" is not what must be kept there`)
}

/** The company id that belongs to a company tag. */
export function companyIdFromTag(tag: string): CompanyId {
  return `co_${tag}`
}

/** The key id that belongs to a key tag. */
export function keyIdFromTag(tag: string): KeyId {
  return `key_${tag}`
}

/** The part of an id after its prefix. */
export function tagOfId(id: CompanyId | KeyId): string {
  return id.slice(id.indexOf("_") + 1)
}
