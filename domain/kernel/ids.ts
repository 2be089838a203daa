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
/** `msg_` and a unique part. */
export type MessageId = `msg_${string}`
/** `num_` and a unique part. */
export type NumberId = `num_${string}`

/**
 * `chg_…`, a name that carried state makes once-only, such as `<boxId>:<minute>`, or the caller's own:
 * any text may be one.
 */
export type ChargeId = string

declare const isKeyed: unique symbol
/**
 * A keyed hash of a text of a company, hexadecimal: equal texts have equal ones, and nobody reads the
 * text from it. The text itself is none, so that no phone number ever stands in a stream's name.
 */
export type KeyedHash = string & { readonly [isKeyed]: true }
/** A recipient within a company: the keyed hash of the phone number. */
export type RecipientTag = KeyedHash

/**
 * Personal text encrypted at the edge, before a command is made: `s1.<subject>.<base64url>`. The
 * core carries it and cannot read it; whoever erases the subject's key erases it everywhere.
 */
export type Sealed = `s1.${string}`

/** Reads texts of one form; null for any other. */
type Parser<T extends string> = (text: string) => T | null

function parserOf<T extends string>(form: RegExp): Parser<T> {
  return (text) => (form.test(text) ? (text as T) : null)
}

/** The company id that a text is. */
export const parseCompanyId: Parser<CompanyId> = parserOf(/^co_\w+$/)
/** The person id that a text is. */
export const parsePersonId: Parser<PersonId> = parserOf(/^per_\w+$/)
/** The key id that a text is. */
export const parseKeyId: Parser<KeyId> = parserOf(/^key_\w+$/)
/** The purchase id that a text is. */
export const parsePurchaseId: Parser<PurchaseId> = parserOf(/^pur_\w+$/)
/** The message id that a text is. */
export const parseMessageId: Parser<MessageId> = parserOf(/^msg_\w+$/)
/** The number id that a text is. */
export const parseNumberId: Parser<NumberId> = parserOf(/^num_\w+$/)
/** The keyed hash that a text is. */
export const parseKeyedHash: Parser<KeyedHash> = parserOf(/^[0-9a-f]+$/)
/** The sealed text that a text is. */
export const parseSealed: Parser<Sealed> = parserOf(/^s1\.[\w.-]+$/)

/** What a text that was kept must be. @throws RangeError where it is not */
export function parsed<T extends string>(parse: Parser<T>, kept: string): T {
  const found = parse(kept)
  if (found !== null) return found
  throw new RangeError(`"${kept}" is not what must be kept there`)
}

/** The company id that belongs to a company tag. */
export function companyIdOfTag(tag: string): CompanyId {
  return `co_${tag}`
}

/** The key id that belongs to a key tag. */
export function keyIdOfTag(tag: string): KeyId {
  return `key_${tag}`
}

/** The part of an id after its prefix. */
export function tagOf(id: CompanyId | KeyId): string {
  return id.slice(id.indexOf("_") + 1)
}
