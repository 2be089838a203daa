/** Read-only views of a connected domain. */
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

export interface DomainView {
  readonly domainId: DomainId
  readonly name: string
  readonly status: DomainStatus
  readonly nameServers: readonly string[]
  readonly formerNameServers: readonly string[]
  readonly registrar: string | null
  readonly dnssecOn: boolean
  readonly queriedNames: readonly string[] | null
  readonly omitted: readonly string[]
  /** The name servers last seen in the parent zone; null if it was not checked yet. */
  readonly seenNameServers: readonly string[] | null
  readonly records: readonly StoredZoneRecord[]
  readonly sendingDomains: readonly Readonly<SendingDomain>[]
  readonly appAddresses: readonly Readonly<AppAddress>[]
}

/** Returns the view of a connected domain; null if it is not connected. */
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

/** Returns the zone of a connected domain; null if it is not connected. */
export function fullZoneOf(state: DomainState): Zone | null {
  const view = viewOfDomain(state)
  if (view === null) return null
  const { name: apex, nameServers, records } = view
  return { apex, nameServers, serial: state.serial, records }
}

/**
 * Returns the zone that a name server serves; null for none. A domain that waits for its delegation is served,
 * because some registries check before they delegate, unless the parent zone names another company's name servers:
 * its owner is unknown then.
 */
export function servedZoneOf(state: DomainState): Zone | null {
  return state.isElsewhere && state.status !== "live" ? null : fullZoneOf(state)
}

/** Returns the ids of all sending domains, even after the domain was removed. */
export const sendingDomainIdsOf = ({ sendingDomains }: DomainState): readonly SendingDomainId[] => [
  ...sendingDomains.keys(),
]

/** Returns why the domain was removed; null if it was not. */
export const removalReasonOf = ({ removed }: DomainState): DomainReleaseReason | null => removed

/** Returns when the domain was connected, UTC milliseconds; null before. */
export const connectedAt = ({ connected }: DomainState): number | null => connected?.at ?? null

/** Returns the name of the domain, even after its removal; null before it was connected. */
export const domainNameOf = ({ connected }: DomainState): string | null => connected?.name ?? null

/** Finds the sending domain with exactly this name; null if there is none. */
export const findSendingDomainByName =
  (name: string) =>
  (state: DomainState): Readonly<SendingDomain> | null =>
    viewOfDomain(state)?.sendingDomains.find((one) => one.name === name) ?? null

/** Finds a sending domain by id, with its domain; null if there is none. */
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
 * Returns the two name servers of a company. Their names are unique to it, so a company cannot take over a domain
 * that is still delegated to another company.
 *
 * @param companyTag the tag of its id; case matters in it but not in host names
 * @param nsDomain the domain of our name servers
 */
export function companyNameServers(
  companyTag: string,
  nsDomain: string,
): readonly [string, string] {
  const hexTag = [...companyTag]
    .map((one) => one.charCodeAt(0).toString(16).padStart(2, "0"))
    .join("")
  return [`ns1-${hexTag}.${nsDomain}`, `ns2-${hexTag}.${nsDomain}`]
}

/** Whether a name is one of our name servers, of any company. */
export function isOurNameServer(name: string, nsDomain: string): boolean {
  return isSameOrSubdomain(name, nsDomain)
}

/** Returns the host that companies' app addresses point to by a CNAME. */
export function appsHostOf(nsDomain: string): string {
  return `apps.${nsDomain}`
}

/** Returns the zone of the name servers themselves: every name in it has the addresses of the apps. */
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
