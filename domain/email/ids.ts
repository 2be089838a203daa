/** Names of what mail is about. */
import { idFieldType } from "../kernel/id-field-types.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { createIdParser, parseKeyedHash } from "../kernel/ids.ts"

/** `mail_` and a unique part. */
export type MailId = `mail_${string}`
/** Somebody a company writes to: the keyed hash of the address in the form that `normalizedAddress` gives. */
export type AddressTag = KeyedHash

/** The mail id that a text is. */
export const parseMailId = createIdParser("mail_")

/** Ids of mails, in the forms of facts. */
export const mailId = idFieldType("a mail's id", parseMailId)
/** Whom a company writes to, in the forms of facts. */
export const addressTag = idFieldType("a keyed hash of an address", parseKeyedHash)
