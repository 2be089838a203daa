/** What can be asked of a connected domain, and why it is refused. */
import type { DomainEvent, DomainFact, StoredZoneRecord, RecordId } from "./domain-events.ts"

type Command<T extends DomainEvent["type"], Type extends string, Own extends string = never> = {
  readonly type: Type
} & Omit<DomainFact<T>, "type" | "at" | Own>

/** Connects a domain with the records that were copied. One that is connected: nothing new. */
export type ConnectDomain = Command<"DomainConnected", "ConnectDomain"> & {
  readonly records: readonly StoredZoneRecord[]
}

/** Makes an app's web address of a host name. One that is one: nothing new. */
export type SaveAppAddress = Command<
  "AppAddressSaved",
  "SaveAppAddress",
  "records" | "replaced" | "status"
> & {
  /** What leads there where nothing else stands at the name. */
  readonly alias: StoredZoneRecord
  /** What leads there where something does that a CNAME cannot stand beside. */
  readonly addresses: readonly StoredZoneRecord[]
}

/** What can be asked of a connected domain. */
export type DomainCommand =
  | ConnectDomain
  | SaveAppAddress
  /** Records what the zone above names; the same as before: nothing new. */
  | Command<"DelegationSeen", "RecordDelegation", "status">
  | Command<"RecordAdded", "AddRecord">
  /** Gives the record of an id other values; the same: nothing new. */
  | Command<"RecordUpdated", "UpdateRecord">
  | { readonly type: "RemoveRecord"; readonly recordId: RecordId }
  /** Adds a sending domain; a name that is one: nothing new. */
  | Command<"SendingDomainAdded", "AddSendingDomain", "replaced">
  /** Records what was found of its records; the same as within the last hour: nothing new. */
  | Command<"SendingDomainChecked", "CheckSendingDomain", "status" | "failingSince">
  /** Somebody came to an app's address, and the proxy in front had a certificate for it. */
  | { readonly type: "MarkAppAddressReached"; readonly hostname: string }
  /** Ends it. As lapsed only where it never pointed here for `DOMAIN_LAPSE_MS`; else nothing new. */
  | Command<"DomainRemoved", "RemoveDomain">

/** A command was refused. */
export interface DomainRefused {
  readonly type: "DomainRefused"
  readonly at: number
  readonly code:
    | ("no_domain" | "no_record" | "no_sending_domain" | "read_only" | "same" | "clash" | "voided")
    | ("full" | "delegated" | "not_under")
  readonly message: string
}

/** A refusal whose message names the record in its way. */
export type RecordConflictCode = "clash" | "voided"

/** The message of each other refusal. */
export const DOMAIN_REFUSAL_MESSAGES: Readonly<
  Record<Exclude<DomainRefused["code"], RecordConflictCode>, string>
> = {
  no_domain: "There is no such domain.",
  no_record: "There is no such record.",
  no_sending_domain: "There is no such sending domain.",
  read_only: "Records of this type are kept as they were copied.",
  same: "The same record is there already.",
  full: "A domain has up to 1,000 records, 50 sending domains and 100 app addresses.",
  delegated: "This name is answered by other name servers: the domain has NS records above it.",
  not_under: "This name is not the domain's own, and not under it.",
}
