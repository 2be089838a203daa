/** Answers of a zone's authoritative server (RFC 1034 §4.3.2, RFC 4592, RFC 8482), without packets or sockets. */
import { isSameOrSubdomain, labelsOf } from "./host-names.ts"
import type { RecordType, Zone } from "./dns-records.ts"
import type { StartOfAuthority } from "./zone-file.ts"
import { NEGATIVE_TTL_SECONDS, apexNameServers, startOfAuthority } from "./zone-file.ts"

/** Maximum number of CNAMEs to follow; a longer chain is a loop. */
const MAX_CNAME_CHAIN = 8

/** A record of an answer. Names are in lower case, without a trailing dot. */
export interface ServedRecord {
  /** HINFO is the answer to a query for any type. */
  readonly type: RecordType | "HINFO"
  readonly name: string
  readonly content: string
  readonly priority: number | null
  /** Seconds; equal for all records of a name and type. */
  readonly ttl: number
}

export interface ZoneAnswer {
  readonly code: "NOERROR" | "NXDOMAIN" | "SERVFAIL"
  /** False for a referral: this part of the zone is served by other servers. */
  readonly isAuthoritative: boolean
  readonly answers: readonly ServedRecord[]
  /** The name servers of a delegated part of the zone, and their addresses if the zone has them. */
  readonly referral: readonly ServedRecord[]
  readonly glue: readonly ServedRecord[]
  /** The SOA, if the answer is negative: it says how long resolvers may cache that. */
  readonly negative: SoaRecord | null
}

/** The SOA of a zone, as a record of its apex. */
export interface SoaRecord {
  readonly apex: string
  readonly ttl: number
  readonly soa: StartOfAuthority
}

/** A zone that answers queries. */
export interface ZoneAuthority {
  readonly zone: Zone
  readonly soaRecord: SoaRecord
  /**
   * Answers a query for a name under the apex.
   *
   * @param name in lower case, without a trailing dot
   * @param type any type; a type that the zone does not have has no records
   */
  readonly answer: (name: string, type: string) => ZoneAnswer
}

/** Prepares a zone for answering queries. */
export function buildZoneAuthority(zone: Zone): ZoneAuthority {
  const { apex } = zone
  const nodes = nodesOf(zone)
  const soaRecord: SoaRecord = { apex, ttl: NEGATIVE_TTL_SECONDS, soa: startOfAuthority(zone) }
  const setOf = (name: string, type: string) =>
    (nodes.get(name) ?? []).filter((one) => one.type === type)
  /** The NS records of the highest delegation above or at a name; empty if there is none. */
  const cutAbove = (name: string, type: string): readonly ServedRecord[] => {
    const labels = labelsOf(name)
    const depth = labels.length - labelsOf(apex).length
    for (let i = depth - 1; i >= 0; i -= 1) {
      // Only the parent knows the DS records of a delegated zone.
      if (i === 0 && type === "DS") continue
      const found = setOf(labels.slice(i).join("."), "NS")
      if (found.length > 0) return found
    }
    return []
  }
  const referralTo = (cut: readonly ServedRecord[], answers: readonly ServedRecord[]) => ({
    code: "NOERROR" as const,
    isAuthoritative: answers.length > 0,
    answers,
    referral: cut,
    negative: null,
    glue: cut.flatMap(({ content }) => [...setOf(content, "A"), ...setOf(content, "AAAA")]),
  })
  const answer = (question: string, type: string): ZoneAnswer => {
    const chain: ServedRecord[] = []
    let name = question
    while (chain.length <= MAX_CNAME_CHAIN) {
      // If a chain leaves the zone, the resolver follows it.
      if (!isSameOrSubdomain(name, apex)) return answered(chain)
      const cut = cutAbove(name, type)
      if (cut.length > 0) return referralTo(cut, chain)
      const node = nodes.get(name) ?? wildcardFor(nodes, apex, name)
      if (node === null) return { ...answered(chain, soaRecord), code: "NXDOMAIN" }
      if (type === "ANY") return answered([...chain, anyTypeRecord(name)])
      const alias = type === "CNAME" ? undefined : node.find((one) => one.type === "CNAME")
      if (alias === undefined) {
        const found = node.filter((one) => one.type === type)
        const exists = found.length > 0 || (type === "SOA" && name === apex)
        return answered([...chain, ...found], exists ? null : soaRecord)
      }
      chain.push(alias)
      name = alias.content
    }
    return { ...answered([]), code: "SERVFAIL" }
  }
  return { zone, soaRecord, answer }
}

function answered(answers: readonly ServedRecord[], negative: SoaRecord | null = null): ZoneAnswer {
  return {
    code: "NOERROR",
    isAuthoritative: true,
    answers,
    referral: [],
    glue: [],
    negative,
  }
}

/** The minimal answer to an ANY query (RFC 8482), useless for amplification. */
const anyTypeRecord = (name: string): ServedRecord => ({
  type: "HINFO",
  name,
  content: "RFC8482",
  priority: null,
  ttl: NEGATIVE_TTL_SECONDS,
})

/** Records by name. A name without records exists if a name below it has some. */
function nodesOf(zone: Zone): ReadonlyMap<string, readonly ServedRecord[]> {
  const { apex } = zone
  const nodes = new Map<string, ServedRecord[]>([[apex, []]])
  for (const record of [...apexNameServers(zone), ...zone.records]) {
    const labels = labelsOf(record.name)
    const depth = labels.length - labelsOf(apex).length
    for (let i = 1; i < depth; i += 1) {
      const between = labels.slice(i).join(".")
      if (!nodes.has(between)) nodes.set(between, [])
    }
    const node = nodes.get(record.name)
    if (node === undefined) nodes.set(record.name, [record])
    else node.push(record)
  }
  return new Map([...nodes].map(([name, records]) => [name, records.map(withTtlOfSet)]))
}

/** All records of a name and type have the same TTL, the shortest (RFC 2181 §5.2). */
function withTtlOfSet(
  record: ServedRecord,
  _: number,
  node: readonly ServedRecord[],
): ServedRecord {
  const set = node.filter(({ type }) => type === record.type)
  return { ...record, ttl: Math.min(...set.map(({ ttl }) => ttl)) }
}

/** The wildcard's records for a missing name: the wildcard below its closest existing ancestor; null for none. */
function wildcardFor(
  nodes: ReadonlyMap<string, readonly ServedRecord[]>,
  apex: string,
  name: string,
): readonly ServedRecord[] | null {
  let above = name
  do above = above.slice(above.indexOf(".") + 1)
  while (above !== apex && !nodes.has(above))
  const node = nodes.get(`*.${above}`)
  return node?.map((record) => ({ ...record, name })) ?? null
}
