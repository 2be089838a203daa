/** The names of our name servers. */
import { isUnder } from "./host-names.ts"
import type { RecordType, Zone } from "./records.ts"
import { RECORD_TTL } from "./records.ts"

/**
 * The two that a company's domains are pointed to, whose names are its own: whoever connects a domain that
 * still points to another company's cannot take that over.
 *
 * @param companyTag of its id; large and small letters differ in it, and not in names
 * @param nsDomain the domain that our name servers are under
 */
export function nameServersOf(companyTag: string, nsDomain: string): readonly [string, string] {
  const own = [...companyTag].map((one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join("")
  return [`ns1-${own}.${nsDomain}`, `ns2-${own}.${nsDomain}`]
}

/** Whether a name is one of our name servers', of whichever company. */
export function isOurNameServer(name: string, nsDomain: string): boolean {
  return isUnder(name, nsDomain)
}

/** The host that names of companies' apps lead to by a CNAME. */
export function appsHostOf(nsDomain: string): string {
  return `apps.${nsDomain}`
}

/** The zone of the name servers themselves: every name in it leads to the addresses that apps have. */
export function zoneOfNameServers(nsDomain: string, addresses: readonly string[]): Zone {
  const names = [nsDomain, `*.${nsDomain}`]
  const records = names.flatMap((name) =>
    addresses.map((content) => {
      const type: RecordType = content.includes(":") ? "AAAA" : "A"
      return { type, name, content, priority: null, ttl: RECORD_TTL }
    }),
  )
  return { apex: nsDomain, nameServers: [`ns1.${nsDomain}`, `ns2.${nsDomain}`], serial: 1, records }
}
