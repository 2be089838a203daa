/**
 * What is asked of the domain name system, and what is told to it: a resolver, which looks at the world;
 * a name server, which answers the world for connected domains; and a registrar's name.
 */
import type { RecordBody, Zone } from "../../../domain/domains/dns-records.ts"

/** The types of question that are asked. */
export type QueryType = RecordBody["type"] | "SOA" | "DS"

/** A record of an answer, in the forms of our own records. SOA and DS show that they are there. */
export interface ResolvedRecord {
  readonly type: RecordBody["type"] | "SOA" | "DS"
  /** In lower case, without a dot at the end. */
  readonly name: string
  /**
   * As `RecordBody.content`. Names are as they came, in lower case, and not checked. Empty for a DS; of
   * a SOA the serial. A TXT that is no UTF-8 has U+FFFD in it.
   */
  readonly content: string
  readonly priority: number | null
  /** Seconds. */
  readonly ttl: number
}

/** What a server answered. */
export interface DnsAnswer {
  /** The word for its code: `NOERROR`, `NXDOMAIN`, `REFUSED`, `SERVFAIL`, … */
  readonly code: string
  readonly isAuthoritative: boolean
  /** Records of other types than ours are left out. */
  readonly answers: readonly ResolvedRecord[]
  readonly authorities: readonly ResolvedRecord[]
}

/** How a question is asked. */
export interface QueryOptions {
  /** `address:port` of a server; without one the resolver's own. */
  readonly server?: string
  /** Whether the server is to find the answer elsewhere; default yes. */
  readonly isRecursive?: boolean
}

/** What the parent of a domain says of it. */
export interface Delegation {
  /** Whom it names, in lower case and without a dot at the end, in order. */
  readonly nameServers: readonly string[]
  /** Whether it has a DS: then only the old signer's answers are believed. */
  readonly dnssecOn: boolean
}

/** What was copied of a domain from where it is served now. */
export interface CopiedZone {
  /** In their normal form, without SOA and the domain's own NS; none twice. */
  readonly records: readonly (RecordBody & { readonly ttl: number })[]
  /** What could not be kept, a line each for people: `TXT old.example.com: …`. */
  readonly omitted: readonly string[]
  /**
   * The names that were asked for, relative to the domain, `@` for itself; null where the whole zone was
   * given. What has another name was missed.
   */
  readonly queriedNames: readonly string[] | null
}

/** Looks at the world. Its calls change nothing. */
export interface Resolver {
  /** Asks one question. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly query: (name: string, type: QueryType, how?: QueryOptions) => Promise<DnsAnswer>
  /**
   * What the parent says of a domain, which is asked itself: the domain's own servers would always say
   * that they are it. Null where it is no zone of its own: nobody registered it, or it belongs to one above.
   *
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly findDelegation: (domain: string) => Promise<Delegation | null>
  /** What is served for a domain now, as far as it can be found. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly copyZone: (domain: string) => Promise<CopiedZone>
}

/** Answers the world for the zones that are told to it. Both calls may be repeated. */
export interface NameServer {
  /** Serves a zone as it is now. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly publish: (zone: Zone) => Promise<void>
  /** Serves nothing below this name any more. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly withdraw: (apex: string) => Promise<void>
}

/** Reads zones by their names, in their order; null for each that is not to be served. */
export type LoadZones = (apexes: readonly string[]) => Promise<readonly (Zone | null)[]>

/** Who knows by whom a domain is registered. */
export interface RegistrarLookup {
  /** The name of a domain's registrar for people; null where nobody says so within three seconds. */
  readonly findRegistrarName: (domain: string) => Promise<string | null>
}
