/**
 * Events of connected domains and of domain reservations, and their stored formats. The content of a zone and a
 * domain's registrar are public, so they are not sealed.
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

export const parseDomainId = createIdParser("dom_")
export const parseRecordId = createIdParser("rec_")
export const parseSendingDomainId = createIdParser("sdom_")
const parseAppAddressId = createIdParser("adr_")

const domainId = idFieldType("a domain's id", parseDomainId)
const recordId = idFieldType("a record's id", parseRecordId)
const sendingDomainId = idFieldType("a sending domain's id", parseSendingDomainId)
const appAddressId = idFieldType("an app address's id", parseAppAddressId)

// Domain names are public in the registry, so reservations store them in clear, which also allows comparing those
// of two companies.

const RELEASE_REASONS = [
  "removed",
  /** It was not delegated to us in time. */
  "lapsed",
  "erased",
] as const

/** Why a domain is no longer reserved. */
export type DomainReleaseReason = (typeof RELEASE_REASONS)[number]

const reservationFields = { at: instant, domainId, companyId: id.company, name: asciiText }

const domainReservationFormats = {
  DomainReserved: { version: 1, fields: reservationFields },
  DomainReleased: {
    version: 1,
    fields: { ...reservationFields, reason: enumOf(...RELEASE_REASONS) },
  },
} satisfies EventFormats

export type DomainReservationEvent = FactOf<typeof domainReservationFormats>

/** An event of domain reservations of type `T`. */
export type DomainReservationFact<T extends DomainReservationEvent["type"]> = Extract<
  DomainReservationEvent,
  { readonly type: T }
>

export const domainReservationCodec = codecOf(domainReservationFormats)

/** The status of a domain: it was never delegated to us, it is, or it was. */
export const DOMAIN_STATUSES = ["waiting", "live", "moved"] as const

export type DomainStatus = (typeof DOMAIN_STATUSES)[number]

export const SENDING_STATUSES = ["pending", "verified", "failed"] as const

export type SendingStatus = (typeof SENDING_STATUSES)[number]

export const APP_ADDRESS_STATUSES = [
  "waiting_dns",
  "waiting_certificate",
  "live",
  "failed",
] as const

export type AppAddressStatus = (typeof APP_ADDRESS_STATUSES)[number]

/** What can be wrong with the records of a sending domain. */
const SENDING_FAULTS = [
  /** The DKIM key is missing or not ours. */
  "dkim",
  /** The return path has no MX record of ours. */
  "return_mx",
  /** The return path's SPF record is missing or not ours. */
  "return_spf",
  /** The return path has several SPF records, which receivers treat as none. */
  "several_spf",
  /** There are several DKIM keys, of which receivers may use any. */
  "several_dkim",
  /** The return path also has an MX record that says it accepts no mail (RFC 7505). */
  "null_mx",
  /** There are several DMARC policies, which receivers treat as none. */
  "several_dmarc",
] as const

/** What can be wrong with the records of a sending domain. */
export type SendingFault = (typeof SENDING_FAULTS)[number]

/** Whether mail is blocked while this is wrong. A DMARC policy is optional, and several policies equal none. */
export const blocksMail = (fault: SendingFault): boolean => fault !== "several_dmarc"

const RECORD_SOURCES = ["copied", "added", "email", "app"] as const

/** See `ZoneRecord` in `dns-records.ts`. */
const zoneRecord = record({
  id: recordId,
  type: enumOf(...WRITABLE_RECORD_TYPES, ...COPIED_RECORD_TYPES),
  name: text,
  content: text,
  priority: optional(integer),
  ttl: integer,
  source: enumOf(...RECORD_SOURCES),
})

export type StoredZoneRecord = ValueOf<typeof zoneRecord>

const domainFormats = {
  /** The copied records follow this event. */
  DomainConnected: {
    version: 1,
    fields: {
      at: instant,
      domainId,
      name: asciiText,
      /** The name servers that its registrar must set. */
      nameServers: list(asciiText),
      formerNameServers: list(asciiText),
      registrar: optional(text),
      /** Whether the parent zone has a DS record, which belongs to another signer than us. */
      dnssecOn: flag,
      /** The names that were queried, see `CopiedZone`. */
      queriedNames: optional(list(text)),
      /** What was not copied, one line each, for people. */
      omitted: list(text),
    },
  },
  /** Some of the records that it had before. */
  RecordsCopied: { version: 1, fields: { at: instant, records: list(zoneRecord) } },
  /** The parent zone names other name servers than at the last check. */
  DelegationSeen: {
    version: 1,
    fields: {
      at: instant,
      nameServers: list(asciiText),
      status: enumOf(...DOMAIN_STATUSES),
      /** Whether it names name servers of ours that belong to another company. */
      isElsewhere: flag,
      dnssecOn: flag,
    },
  },
  RecordAdded: { version: 1, fields: { at: instant, record: zoneRecord } },
  /** The record keeps its id and has other values. */
  RecordUpdated: { version: 1, fields: { at: instant, record: zoneRecord } },
  RecordRemoved: { version: 1, fields: { at: instant, recordId } },
  /** Mail can be sent from a name as soon as its records are found. */
  SendingDomainAdded: {
    version: 1,
    fields: {
      at: instant,
      sendingDomainId,
      name: asciiText,
      /** The label of its DKIM key. */
      selector: asciiText,
      /** The public key that signatures are checked with: base64 of its DER form. */
      publicKey: text,
      records: list(zoneRecord),
      replaced: list(recordId),
    },
  },
  SendingDomainChecked: {
    version: 1,
    fields: {
      at: instant,
      sendingDomainId,
      status: enumOf(...SENDING_STATUSES),
      faults: list(enumOf(...SENDING_FAULTS)),
      /** Whether receivers find a DMARC policy; mail is sent without one. */
      hasDmarc: flag,
      /** Since when they have been wrong without interruption; null if they are right. */
      failingSince: optional(instant),
    },
  },
  AppAddressSaved: {
    version: 1,
    fields: {
      at: instant,
      appAddressId,
      hostname: asciiText,
      status: enumOf(...APP_ADDRESS_STATUSES),
      records: list(zoneRecord),
      replaced: list(recordId),
    },
  },
  AppAddressSeen: {
    version: 1,
    fields: { at: instant, appAddressId, status: enumOf(...APP_ADDRESS_STATUSES) },
  },
  /** Its records were removed or changed by hand. */
  AppAddressRemoved: { version: 1, fields: { at: instant, appAddressId } },
  /** The domain is no longer connected, and its zone is no longer served. */
  DomainRemoved: {
    version: 1,
    fields: { at: instant, domainId, reason: enumOf(...RELEASE_REASONS) },
  },
} satisfies EventFormats

/** Every event of a connected domain. */
export type DomainEvent = FactOf<typeof domainFormats>

/** An event of a connected domain of type `T`. */
export type DomainFact<T extends DomainEvent["type"]> = Extract<DomainEvent, { readonly type: T }>

/** Writes and reads the events of a connected domain. */
export const domainCodec = codecOf(domainFormats)
