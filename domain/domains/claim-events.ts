/** Names of what domains are about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `dom_` and a unique part. */
export type DomainId = `dom_${string}`
/** `rec_` and a unique part. */
export type RecordId = `rec_${string}`
/** `sdom_` and a unique part. */
export type SendingDomainId = `sdom_${string}`
/** `adr_` and a unique part. */
export type AppAddressId = `adr_${string}`

/** The domain id that a text is. */
export const parseDomainId = idParser("dom_")
/** The record id that a text is. */
export const parseRecordId = idParser("rec_")
/** The sending domain id that a text is. */
export const parseSendingDomainId = idParser("sdom_")
/** The app address id that a text is. */
const parseAppAddressId = idParser("adr_")

/** Ids of connected domains, in the forms of facts. */
export const domainId = idKind("a domain's id", parseDomainId)
/** Ids of DNS records, in the forms of facts. */
export const recordId = idKind("a record's id", parseRecordId)
/** Ids of sending domains, in the forms of facts. */
export const sendingDomainId = idKind("a sending domain's id", parseSendingDomainId)
/** Ids of app addresses, in the forms of facts. */
export const appAddressId = idKind("an app address's id", parseAppAddressId)
