/** What is seen of a connected domain from outside of its rules. */
import type {
  DomainReleaseReason,
  DomainStatus,
  StoredZoneRecord,
  DomainId,
  SendingDomainId,
} from "./domain-events.ts"
import type { AppAddress, DomainState, SendingDomain } from "./domain-state.ts"
import type { Zone, RecordType } from "./dns-records.ts"
import { RECORD_TTL_SECONDS } from "./dns-records.ts"
import { isSameOrSubdomain } from "./host-names.ts"

/** A connected domain. */
export interface DomainView {
  readonly domainId: DomainId
  readonly name: string
  readonly status: DomainStatus
  readonly nameServers: readonly string[]
  readonly formerNameServers: readonly string[]
  readonly registrar: string | null
  readonly dnssecOn: boolean
  /** As `CopiedZone` says. */
  readonly queriedNames: readonly string[] | null
  readonly omitted: readonly string[]
  /** What the zone above named last; null where it was not asked since. */
  readonly seenNameServers: readonly string[] | null
  readonly records: readonly StoredZoneRecord[]
  readonly sendingDomains: readonly Readonly<SendingDomain>[]
  readonly appAddresses: readonly Readonly<AppAddress>[]
}

/** A connected domain as it is; null where it is none, or none any more. */
export function viewOfDomain(state: DomainState): DomainView | null {
  const { connected, removed, status, dnssecOn, seenNameServers: seen } = state
  if (connected === null || removed !== null) return null
  const { domainId, name, nameServers, formerNameServers, registrar, queriedNames, omitted } =
    connected
  return {
    domainId,
    name,
    status,
    nameServers,
    formerNameServers,
    registrar,
    dnssecOn,
    queriedNames,
    omitted,
    seenNameServers: seen,
    records: [...state.records.values()],
    sendingDomains: [...state.sendingDomains.values()].map((one) => ({ ...one })),
    appAddresses: [...state.appAddresses.values()].map((one) => ({ ...one })),
  }
}

/** The zone of a connected domain; null where it is none. */
export function fullZoneOf(state: DomainState): Zone | null {
  const view = viewOfDomain(state)
  if (view === null) return null
  const { name: apex, nameServers, records } = view
  return { apex, nameServers, serial: state.serial, records }
}

/**
 * What a name server is to answer for a domain; null for nothing. What waits is served, because some
 * registries look before they name a server, unless the zone above names another company's name servers:
 * then it is not known whose it is.
 */
export function servedZoneOf(state: DomainState): Zone | null {
  return state.isElsewhere && state.status !== "live" ? null : fullZoneOf(state)
}

/** The ids of all that ever sent mail from it, also once it was ended. */
export const sendingDomainIdsOf = ({ sendingDomains }: DomainState): readonly SendingDomainId[] => [
  ...sendingDomains.keys(),
]

/** Why it was ended; null where it was not. */
export const removalReasonOf = ({ removed }: DomainState): DomainReleaseReason | null => removed

/** When it was connected, UTC milliseconds; null before. */
export const connectedAt = ({ connected }: DomainState): number | null => connected?.at ?? null

/** What it is, or was, called; null before it was connected. */
export const domainNameOf = ({ connected }: DomainState): string | null => connected?.name ?? null

/** The sending domain of exactly this name; null where there is none. */
export const findSendingDomainByName =
  (name: string) =>
  (state: DomainState): Readonly<SendingDomain> | null =>
    viewOfDomain(state)?.sendingDomains.find((one) => one.name === name) ?? null

/** The sending domain of an id, with its domain; null where there is none. */
export const findSendingDomainById =
  (sendingDomainId: SendingDomainId) =>
  (
    state: DomainState,
  ): { readonly domain: DomainView; readonly sendingDomain: Readonly<SendingDomain> } | null => {
    const domain = viewOfDomain(state)
    const found = domain?.sendingDomains.find((one) => one.sendingDomainId === sendingDomainId)
    return domain === null || found === undefined ? null : { domain, sendingDomain: found }
  }

/**
 * The two that a company's domains are pointed to, whose names are its own: whoever connects a domain that
 * still points to another company's cannot take that over.
 *
 * @param companyTag of its id; large and small letters differ in it, and not in names
 * @param nsDomain the domain that our name servers are under
 */
export function companyNameServers(
  companyTag: string,
  nsDomain: string,
): readonly [string, string] {
  const own = [...companyTag].map((one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join("")
  return [`ns1-${own}.${nsDomain}`, `ns2-${own}.${nsDomain}`]
}

/** Whether a name is one of our name servers', of whichever company. */
export function isOurNameServer(name: string, nsDomain: string): boolean {
  return isSameOrSubdomain(name, nsDomain)
}

/** The host that names of companies' apps lead to by a CNAME. */
export function appsHostOf(nsDomain: string): string {
  return `apps.${nsDomain}`
}

/** The zone of the name servers themselves: every name in it leads to the addresses that apps have. */
export function nameServerZone(nsDomain: string, addresses: readonly string[]): Zone {
  const names = [nsDomain, `*.${nsDomain}`]
  const records = names.flatMap((name) =>
    addresses.map((content) => {
      const type: RecordType = content.includes(":") ? "AAAA" : "A"
      return { type, name, content, priority: null, ttl: RECORD_TTL_SECONDS }
    }),
  )
  return { apex: nsDomain, nameServers: [`ns1.${nsDomain}`, `ns2.${nsDomain}`], serial: 1, records }
}
