import { idFieldType } from "../kernel/id-field-types.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { createIdParser, parseKeyedHash } from "../kernel/ids.ts"

/** `mail_` and a unique part. */
export type MailId = `mail_${string}`
/** A recipient of a company: the keyed hash of the address as `normalizedAddress` returns it. */
export type AddressTag = KeyedHash

export const parseMailId = createIdParser("mail_")

export const mailId = idFieldType("a mail's id", parseMailId)
export const addressTag = idFieldType("a keyed hash of an address", parseKeyedHash)
