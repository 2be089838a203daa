/**
 * The ports of the domain name system: a resolver, a name server for connected domains, and a
 * lookup of registrars.
 */
import type { RecordBody, Zone } from "../../../domain/domains/dns-records.ts"

export type QueryType = RecordBody["type"] | "SOA" | "DS"

/** A record of an answer, in the form of our own records. SOA and DS only show that they exist. */
export interface ResolvedRecord {
  readonly type: RecordBody["type"] | "SOA" | "DS"
  /** In lower case, without a trailing dot. */
  readonly name: string
  /**
   * As `RecordBody.content`. Names are in lower case and not validated. Empty for a DS; the serial
   * for an SOA. A TXT that is not UTF-8 contains U+FFFD.
   */
  readonly content: string
  readonly priority: number | null
  readonly ttl: number
}

export interface DnsAnswer {
  /** The response code: `NOERROR`, `NXDOMAIN`, `REFUSED`, `SERVFAIL`, … */
  readonly code: string
  readonly isAuthoritative: boolean
  /** Without records of types that we don't use. */
  readonly answers: readonly ResolvedRecord[]
  readonly authorities: readonly ResolvedRecord[]
}

export interface QueryOptions {
  /** `address:port` of a server; default: the resolver's own servers. */
  readonly server?: string
  /** Whether the server may ask other servers; default yes. */
  readonly isRecursive?: boolean
}

/** The delegation of a domain by its parent zone. */
export interface Delegation {
  /** The name servers, sorted, in lower case and without a trailing dot. */
  readonly nameServers: readonly string[]
  /** Whether the parent has a DS record: then resolvers accept only answers of the old signer. */
  readonly dnssecOn: boolean
}

/** A copy of the records that a domain's current name servers serve. */
export interface CopiedZone {
  /** Normalized, without SOA and the apex NS records, without duplicates. */
  readonly records: readonly (RecordBody & { readonly ttl: number })[]
  /** Records that could not be copied, one line of text each: `TXT old.example.com: …`. */
  readonly omitted: readonly string[]
  /**
   * The queried names, relative to the domain, `@` for the domain itself; null if the whole zone
   * was transferred. Records of other names were missed.
   */
  readonly queriedNames: readonly string[] | null
}

/** Asks name servers. Its calls change nothing. */
export interface Resolver {
  /** Asks one question. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly query: (name: string, type: QueryType, how?: QueryOptions) => Promise<DnsAnswer>
  /**
   * Asks the parent zone for the delegation of a domain, because the domain's own servers would
   * always name themselves. Null if the domain is not delegated: it is not registered, or belongs
   * to the zone above.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly findDelegation: (domain: string) => Promise<Delegation | null>
  /**
   * Copies the records that are served for a domain now, as far as they can be found. @throws
   * ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly copyZone: (domain: string) => Promise<CopiedZone>
}

/** Serves the published zones. Both calls are idempotent. */
export interface NameServer {
  /**
   * Serves a zone, replacing its earlier version. @throws ProviderUnavailable,
   * ProviderOutcomeUnknown
   */
  readonly publish: (zone: Zone) => Promise<void>
  /** Stops serving this zone. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly withdraw: (apex: string) => Promise<void>
}

/** Loads zones by name, in the order of the names; null for each that is not served. */
export type LoadZones = (apexes: readonly string[]) => Promise<readonly (Zone | null)[]>

export interface RegistrarLookup {
  /** The display name of a domain's registrar; null if it is not found within three seconds. */
  readonly findRegistrarName: (domain: string) => Promise<string | null>
}
