/**
 * Names of things. All ids are text with a prefix that says what they name; a company's id ends in
 * its six-character tag and a key's in its eight-character tag, so that a key can be routed and
 * looked up without a table (decisions.md §2).
 */

/** `co_` and the company tag (6 base62 characters). */
export type CompanyId = string
/** `per_` and a unique part. */
export type PersonId = string
/** `key_` and the key tag (8 base62 characters). */
export type KeyId = string
/** `chg_…`, or a name that carried state makes once-only, such as `<boxId>:<minute>`. */
export type ChargeId = string
/** `pur_` and a unique part. */
export type PurchaseId = string
/** `msg_` and a unique part. */
export type MessageId = string
/** `num_` and a unique part. */
export type NumberId = string
/** A recipient within a company: a keyed hash of the phone number, hexadecimal. */
export type RecipientTag = string

/**
 * Personal text encrypted at the edge, before a command is made: `s1.<subject>.<base64url>`. The
 * core carries it and cannot read it; whoever erases the subject's key erases it everywhere.
 */
export type Sealed = string

/** The company id that belongs to a company tag. */
export function companyIdOfTag(tag: string): CompanyId {
  return `co_${tag}`
}

/** The key id that belongs to a key tag. */
export function keyIdOfTag(tag: string): KeyId {
  return `key_${tag}`
}

/** The part of an id after its prefix. */
export function tagOf(id: string): string {
  return id.slice(id.indexOf("_") + 1)
}
