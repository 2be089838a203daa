/**
 * What the authority of a zone answers to a question (RFC 1034 §4.3.2, RFC 4592, RFC 8482). There is no
 * packet in it, and no socket.
 */
import { isSameOrSubdomain, labelsOf } from "./host-names.ts"
import type { RecordType, Zone } from "./dns-records.ts"
import type { StartOfAuthority } from "./zone-file.ts"
import { NEGATIVE_TTL_SECONDS, apexNameServers, startOfAuthority } from "./zone-file.ts"

/** So many CNAMEs are followed; what is longer goes round. */
const MAX_CNAME_CHAIN = 8

/** A record as it is answered. Names are in lower case, without a dot at the end. */
export interface ServedRecord {
  /** HINFO stands for all there is, where somebody asks for that. */
  readonly type: RecordType | "HINFO"
  readonly name: string
  readonly content: string
  readonly priority: number | null
  /** Seconds; one for all records of a name and type. */
  readonly ttl: number
}

/** An answer. */
export interface ZoneAnswer {
  readonly code: "NOERROR" | "NXDOMAIN" | "SERVFAIL"
  /** False where somebody else is asked: a part of the zone that is served elsewhere. */
  readonly isAuthoritative: boolean
  readonly answers: readonly ServedRecord[]
  /** The other servers of a part of the zone, and their addresses as far as the zone has them. */
  readonly referral: readonly ServedRecord[]
  readonly glue: readonly ServedRecord[]
  /** With a SOA it says for how long it may be kept that there is nothing. */
  readonly negative: SoaRecord | null
}

/** The SOA of a zone, as a record of its apex. */
export interface SoaRecord {
  readonly apex: string
  readonly ttl: number
  readonly soa: StartOfAuthority
}

/** A zone that answers. */
export interface ZoneAuthority {
  readonly zone: Zone
  /** Its SOA as a record, which it answers to questions for that. */
  readonly soaRecord: SoaRecord
  /**
   * Answers a question for a name under the apex.
   *
   * @param name in lower case, without a dot at the end
   * @param type any word: a type that the zone does not have has no records
   */
  readonly answer: (name: string, type: string) => ZoneAnswer
}

/** Prepares a zone for being asked. */
export function buildZoneAuthority(zone: Zone): ZoneAuthority {
  const { apex } = zone
  const nodes = nodesOf(zone)
  const soaRecord: SoaRecord = { apex, ttl: NEGATIVE_TTL_SECONDS, soa: startOfAuthority(zone) }
  const setOf = (name: string, type: string) =>
    (nodes.get(name) ?? []).filter((one) => one.type === type)
  /** The NS of the highest part above or at a name that is served elsewhere; empty where none is. */
  const cutAbove = (name: string, type: string): readonly ServedRecord[] => {
    const labels = labelsOf(name)
    const depth = labels.length - labelsOf(apex).length
    for (let i = depth - 1; i >= 0; i -= 1) {
      // What the DS of a part are is known above it alone.
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
  const answer = (asked: string, type: string): ZoneAnswer => {
    const chain: ServedRecord[] = []
    let name = asked
    while (chain.length <= MAX_CNAME_CHAIN) {
      // Where a chain leaves the zone, whoever asked follows it.
      if (!isSameOrSubdomain(name, apex)) return answered(chain)
      const cut = cutAbove(name, type)
      if (cut.length > 0) return referralTo(cut, chain)
      const node = nodes.get(name) ?? wildcardFor(nodes, apex, name)
      if (node === null) return { ...answered(chain, soaRecord), code: "NXDOMAIN" }
      if (type === "ANY") return answered([...chain, anyTypeRecord(name)])
      const alias = type === "CNAME" ? undefined : node.find((one) => one.type === "CNAME")
      if (alias === undefined) {
        const found = node.filter((one) => one.type === type)
        const isThere = found.length > 0 || (type === "SOA" && name === apex)
        return answered([...chain, ...found], isThere ? null : soaRecord)
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

/** What is answered to whoever asks for all (RFC 8482): next to nothing, so that it amplifies nothing. */
const anyTypeRecord = (name: string): ServedRecord => ({
  type: "HINFO",
  name,
  content: "RFC8482",
  priority: null,
  ttl: NEGATIVE_TTL_SECONDS,
})

/** The records by name. A name that has none of its own, but one below it, is there too. */
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

/** All records of a name and type are kept for the same time (RFC 2181 §5.2): the shortest. */
function withTtlOfSet(
  record: ServedRecord,
  _: number,
  node: readonly ServedRecord[],
): ServedRecord {
  const set = node.filter(({ type }) => type === record.type)
  return { ...record, ttl: Math.min(...set.map(({ ttl }) => ttl)) }
}

/** What a wildcard gives a name that is not there: that below the closest name above it; null for none. */
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
