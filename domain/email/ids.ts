/** Names of what mail is about. */
import { idKind } from "../kernel/id-kinds.ts"
import type { KeyedHash } from "../kernel/ids.ts"
import { idParser, parseKeyedHash } from "../kernel/ids.ts"

/** `mail_` and a unique part. */
export type MailId = `mail_${string}`
/** Somebody a company writes to: the keyed hash of the address in the form that `addressKey` gives. */
export type AddressTag = KeyedHash

/** The mail id that a text is. */
export const parseMailId = idParser("mail_")

/** Ids of mails, in the forms of facts. */
export const mailId = idKind("a mail's id", parseMailId)
/** Whom a company writes to, in the forms of facts. */
export const addressTag = idKind("a keyed hash of an address", parseKeyedHash)
