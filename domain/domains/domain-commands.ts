/** The commands of a connected domain and their refusals. */
import type { DomainEvent, DomainFact, StoredZoneRecord, RecordId } from "./domain-events.ts"

type Command<
  T extends DomainEvent["type"],
  Type extends string,
  Computed extends string = never,
> = {
  readonly type: Type
} & Omit<DomainFact<T>, "type" | "at" | Computed>

/** Connects a domain with the copied records. Idempotent. */
export type ConnectDomain = Command<"DomainConnected", "ConnectDomain"> & {
  readonly records: readonly StoredZoneRecord[]
}

/** Makes a host name an address of the company's app. Idempotent. */
export type SaveAppAddress = Command<
  "AppAddressSaved",
  "SaveAppAddress",
  "records" | "replaced" | "status"
> & {
  /** The record used if the name has no other records. */
  readonly alias: StoredZoneRecord
  /** The records used if the name has records that exclude a CNAME. */
  readonly addresses: readonly StoredZoneRecord[]
}

export type DomainCommand =
  | ConnectDomain
  | SaveAppAddress
  /** Records the name servers in the parent zone. Records nothing if they are unchanged. */
  | Command<"DelegationSeen", "RecordDelegation", "status">
  | Command<"RecordAdded", "AddRecord">
  | Command<"RecordUpdated", "UpdateRecord">
  | { readonly type: "RemoveRecord"; readonly recordId: RecordId }
  | Command<"SendingDomainAdded", "AddSendingDomain", "replaced">
  /** Records the result of a check. Records nothing if it is unchanged within the last hour. */
  | Command<"SendingDomainChecked", "CheckSendingDomain", "status" | "failingSince">
  /** A visitor reached an app address, and the proxy in front had a certificate for it. */
  | { readonly type: "MarkAppAddressReached"; readonly hostname: string }
  /**
   * Removes the domain. With reason `lapsed` only if it was never delegated to us for `DOMAIN_LAPSE_MS`; otherwise
   * records nothing.
   */
  | Command<"DomainRemoved", "RemoveDomain">

export interface DomainRefused {
  readonly type: "DomainRefused"
  readonly at: number
  readonly code:
    | ("no_domain" | "no_record" | "no_sending_domain" | "read_only" | "same" | "clash" | "voided")
    | ("full" | "delegated" | "not_under")
  readonly message: string
}

/** A refusal whose message names the conflicting record. */
export type RecordConflictCode = "clash" | "voided"

export const DOMAIN_REFUSAL_MESSAGES: Readonly<
  Record<Exclude<DomainRefused["code"], RecordConflictCode>, string>
> = {
  no_domain: "No connected domain has this id. List domains to see their ids.",
  no_record: "No record has this id. List records to see their ids.",
  no_sending_domain: "No sending domain has this id. List sending domains to see their ids.",
  read_only: "Records of this type were copied and cannot be changed.",
  same: "The same record already exists.",
  full: "A domain can have at most 1,000 records, 50 sending domains and 100 app addresses; remove some first.",
  delegated:
    "This name is served by other name servers, because the domain has NS records for it or a name above it.",
  not_under: "This name is not the domain or a name under it.",
}
