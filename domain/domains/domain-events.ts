/**
 * The facts about one connected domain, and the forms they are stored in. What stands in a zone is told to
 * everybody who asks for it, and so is a domain's registrar: neither is sealed.
 */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { COPIED_RECORD_TYPES, WRITABLE_RECORD_TYPES } from "./dns-records.ts"
import { id, idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `dom_` and a unique part. */
export type DomainId = `dom_${string}`
/** `rec_` and a unique part. */
export type RecordId = `rec_${string}`
/** `sdom_` and a unique part. */
export type SendingDomainId = `sdom_${string}`
/** `adr_` and a unique part. */
export type AppAddressId = `adr_${string}`

/** The domain id that a text is. */
export const parseDomainId = createIdParser("dom_")
/** The record id that a text is. */
export const parseRecordId = createIdParser("rec_")
/** The sending domain id that a text is. */
export const parseSendingDomainId = createIdParser("sdom_")
/** The app address id that a text is. */
const parseAppAddressId = createIdParser("adr_")

/** Ids of connected domains, in the forms of facts. */
const domainId = idFieldType("a domain's id", parseDomainId)
/** Ids of DNS records, in the forms of facts. */
const recordId = idFieldType("a record's id", parseRecordId)
/** Ids of sending domains, in the forms of facts. */
const sendingDomainId = idFieldType("a sending domain's id", parseSendingDomainId)
/** Ids of app addresses, in the forms of facts. */
const appAddressId = idFieldType("an app address's id", parseAppAddressId)

// The facts about who holds which domain, and the forms they are stored in. A domain's name is no secret:
// whoever asks the registry is told it, so it stands here in the clear and two companies can be compared.

/** Why a domain is held no more. */
const RELEASE_REASONS = [
  /** An operator removed it. */
  "removed",
  /** It never pointed here, for as long as it may wait. */
  "lapsed",
  /** Its company was erased. */
  "erased",
] as const

/** Why a domain is held no more. */
export type DomainReleaseReason = (typeof RELEASE_REASONS)[number]

const reservationFields = { at: instant, domainId, companyId: id.company, name: asciiText }

/** Everything that can happen to claims of domains. */
const domainReservationFormats = {
  /** A company holds a name from here on. */
  DomainReserved: { version: 1, fields: reservationFields },
  /** It does no more. */
  DomainReleased: {
    version: 1,
    fields: { ...reservationFields, reason: enumOf(...RELEASE_REASONS) },
  },
} satisfies EventFormats

/** Everything that can happen to claims of domains. */
export type DomainReservationEvent = FactOf<typeof domainReservationFormats>

/** One of these facts. */
export type DomainReservationFact<T extends DomainReservationEvent["type"]> = Extract<
  DomainReservationEvent,
  { readonly type: T }
>

/** Writes and reads the facts of claims. */
export const domainReservationCodec = codecOf(domainReservationFormats)

/** How a domain stands: it never pointed here, it does, it did. */
export const DOMAIN_STATUSES = ["waiting", "live", "moved"] as const

/** How a domain stands. */
export type DomainStatus = (typeof DOMAIN_STATUSES)[number]

/** How a sending domain stands. */
export const SENDING_STATUSES = ["pending", "verified", "failed"] as const

/** How a sending domain stands. */
export type SendingStatus = (typeof SENDING_STATUSES)[number]

/** How an app address stands. */
export const APP_ADDRESS_STATUSES = [
  "waiting_dns",
  "waiting_certificate",
  "live",
  "failed",
] as const

/** How an app address stands. */
export type AppAddressStatus = (typeof APP_ADDRESS_STATUSES)[number]

/** What can be wrong with the records of a sending domain. */
const SENDING_FAULTS = [
  /** There is no DKIM key, or it is not ours. */
  "dkim",
  /** The name of the return path has no MX record of ours. */
  "return_mx",
  /** It has no SPF record, or not ours. */
  "return_spf",
  /** It has several SPF records, which receivers take for none. */
  "several_spf",
  /** The key's name has several keys, of which receivers may take any. */
  "several_dkim",
  /** The name of the return path also has an MX record that says it takes no mail (RFC 7505). */
  "null_mx",
  /** There are several DMARC policies, which receivers take for none. */
  "several_dmarc",
] as const

/** What can be wrong with the records of a sending domain. */
export type SendingFault = (typeof SENDING_FAULTS)[number]

/** Whether no mail is sent while this is wrong. Mail goes without a DMARC policy, and several policies are none. */
export const blocksMail = (fault: SendingFault): boolean => fault !== "several_dmarc"

const RECORD_SOURCES = ["copied", "added", "email", "app"] as const

/** As `ZoneRecord` of `records.ts` says. */
const zoneRecord = record({
  id: recordId,
  type: enumOf(...WRITABLE_RECORD_TYPES, ...COPIED_RECORD_TYPES),
  name: text,
  content: text,
  priority: optional(integer),
  ttl: integer,
  source: enumOf(...RECORD_SOURCES),
})

/** A record of a zone. */
export type StoredZoneRecord = ValueOf<typeof zoneRecord>

/** Everything that can happen to a connected domain. */
const domainFormats = {
  /** It was connected; the records that were copied stand behind this. */
  DomainConnected: {
    version: 1,
    fields: {
      at: instant,
      domainId,
      name: asciiText,
      /** The name servers that its registrar is to name. */
      nameServers: list(asciiText),
      /** Those that it named before. */
      formerNameServers: list(asciiText),
      registrar: optional(text),
      /** Whether the parent zone has a DS record, which vouches for another signer than us. */
      dnssecOn: flag,
      /** The names that were asked for, as `CopiedZone` says. */
      queriedNames: optional(list(text)),
      /** What was not copied, a line each for people. */
      omitted: list(text),
    },
  },
  /** Some of the records that it had before. */
  RecordsCopied: { version: 1, fields: { at: instant, records: list(zoneRecord) } },
  /** The zone above names other name servers than when it was last asked. */
  DelegationSeen: {
    version: 1,
    fields: {
      at: instant,
      nameServers: list(asciiText),
      status: enumOf(...DOMAIN_STATUSES),
      /** Whether it names name servers that are ours, and another company's. */
      isElsewhere: flag,
      dnssecOn: flag,
    },
  },
  RecordAdded: { version: 1, fields: { at: instant, record: zoneRecord } },
  /** A record has other values, under its id. */
  RecordUpdated: { version: 1, fields: { at: instant, record: zoneRecord } },
  RecordRemoved: { version: 1, fields: { at: instant, recordId } },
  /** Mail can be sent from a name once its records are seen. */
  SendingDomainAdded: {
    version: 1,
    fields: {
      at: instant,
      sendingDomainId,
      name: asciiText,
      /** The label of its DKIM key. */
      selector: asciiText,
      /** The key that its signatures are checked with: base64 of its DER form. */
      publicKey: text,
      records: list(zoneRecord),
      /** What stood in the way of them. */
      replaced: list(recordId),
    },
  },
  /** Its records were looked at. */
  SendingDomainChecked: {
    version: 1,
    fields: {
      at: instant,
      sendingDomainId,
      status: enumOf(...SENDING_STATUSES),
      faults: list(enumOf(...SENDING_FAULTS)),
      /** Whether receivers find a DMARC policy; mail goes without. */
      hasDmarc: flag,
      /** Since when they are wrong without a break; null where they are right. */
      failingSince: optional(instant),
    },
  },
  /** A web address leads to the app. */
  AppAddressSaved: {
    version: 1,
    fields: {
      at: instant,
      appAddressId,
      hostname: asciiText,
      status: enumOf(...APP_ADDRESS_STATUSES),
      records: list(zoneRecord),
      /** What stood in the way of them. */
      replaced: list(recordId),
    },
  },
  AppAddressSeen: {
    version: 1,
    fields: { at: instant, appAddressId, status: enumOf(...APP_ADDRESS_STATUSES) },
  },
  /** Its records were taken out or changed by hand. */
  AppAddressRemoved: { version: 1, fields: { at: instant, appAddressId } },
  /** It is connected no more, and nothing of it is served. */
  DomainRemoved: {
    version: 1,
    fields: { at: instant, domainId, reason: enumOf(...RELEASE_REASONS) },
  },
} satisfies EventFormats

/** Everything that can happen to a connected domain. */
export type DomainEvent = FactOf<typeof domainFormats>

/** One of these facts. */
export type DomainFact<T extends DomainEvent["type"]> = Extract<DomainEvent, { readonly type: T }>

/** Writes and reads the facts about a connected domain. */
export const domainCodec = codecOf(domainFormats)
