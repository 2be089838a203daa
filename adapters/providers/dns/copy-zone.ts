/**
 * Copies the records of a domain: the whole zone if a server transfers it, otherwise the records of
 * common names.
 */
import { randomBytes } from "node:crypto"
import type { Answer, DecodedPacket, TxtData } from "dns-packet"
import {
  RECORD_TTL_SECONDS,
  recordConflict,
  isSameRecord,
  parseRecord,
} from "../../../domain/domains/dns-records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { isProviderError } from "../provider-errors.ts"
import type { QueryType, CopiedZone, DnsAnswer, ResolvedRecord } from "./port.ts"
import { DNS_RESPONSE_CODES } from "./wire-format.ts"

/** Record types of hosts. The answer to each of these shows a CNAME, too. */
const HOST_TYPES = ["A", "AAAA", "MX", "TXT"] as const satisfies readonly QueryType[]

const APEX_TYPES = [...HOST_TYPES, "CAA"] as const

const SUBDOMAIN_TYPES = [...HOST_TYPES, "NS"] as const

const HOST_NAMES = [
  "www",
  "mail",
  "email",
  "webmail",
  "smtp",
  "imap",
  "pop",
  "pop3",
  "mx",
  "mx1",
  "mx2",
  "autodiscover",
  "autoconfig",
  "lyncdiscover",
  "sip",
  "msoid",
  "enterpriseregistration",
  "enterpriseenrollment",
  "ftp",
  "sftp",
  "cpanel",
  "webdisk",
  "whm",
  "ns1",
  "ns2",
  "vpn",
  "remote",
  "m",
  "mobile",
  "cdn",
  "static",
  "assets",
  "img",
  "images",
  "media",
  "files",
  "send",
  "bounce",
  "bounces",
  "em",
  "mg",
  "news",
  "newsletter",
  "links",
  "click",
  "track",
]

/** Subdomains of a company that may be delegated to other servers. */
const SITE_NAMES = [
  "app",
  "api",
  "blog",
  "shop",
  "store",
  "help",
  "support",
  "docs",
  "status",
  "portal",
  "admin",
  "dev",
  "staging",
  "test",
  "beta",
  "demo",
  "crm",
  "wiki",
  "git",
  "auth",
]

const TEXT_NAMES = [
  "_dmarc",
  "_mta-sts",
  "_smtp._tls",
  "default._bimi",
  "_acme-challenge",
  "_github-challenge",
  "google._domainkey",
  "default._domainkey",
  "selector1._domainkey",
  "selector2._domainkey",
  "k1._domainkey",
  "k2._domainkey",
  "k3._domainkey",
  "s1._domainkey",
  "s2._domainkey",
  "mail._domainkey",
  "dkim._domainkey",
  "smtp._domainkey",
  "mandrill._domainkey",
  "pm._domainkey",
  "resend._domainkey",
  "zoho._domainkey",
  "protonmail._domainkey",
  "protonmail2._domainkey",
  "protonmail3._domainkey",
  "fm1._domainkey",
  "fm2._domainkey",
  "fm3._domainkey",
  "mxvault._domainkey",
  "everlytickey1._domainkey",
  "cm._domainkey",
]

const SERVICE_NAMES = [
  "_autodiscover._tcp",
  "_sip._tls",
  "_sip._tcp",
  "_sip._udp",
  "_sips._tcp",
  "_sipfederationtls._tcp",
  "_xmpp-client._tcp",
  "_xmpp-server._tcp",
  "_imaps._tcp",
  "_imap._tcp",
  "_submission._tcp",
  "_pop3s._tcp",
  "_caldavs._tcp",
  "_carddavs._tcp",
  "_minecraft._tcp",
]

/** Names relative to the domain (`@` for the domain itself), with the types to query for each. */
const COMMON_NAMES: readonly (readonly [string, readonly QueryType[]])[] = [
  ["@", APEX_TYPES],
  ...HOST_NAMES.map((name) => [name, HOST_TYPES] as const),
  ...SITE_NAMES.map((name) => [name, SUBDOMAIN_TYPES] as const),
  ...TEXT_NAMES.map((name) => [name, ["TXT"]] as const),
  ...SERVICE_NAMES.map((name) => [name, ["SRV"]] as const),
]

/** Maximum number of concurrent queries. */
const CONCURRENCY = 20
/** Queries that have not been sent by then are reported as omitted. */
const TIMEOUT_MS = 8_000
/** Record types of a signed zone that are not copied: we don't sign zones. */
const DNSSEC_TYPES: ReadonlySet<string> = new Set([
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "DNSKEY",
  "CDS",
  "CDNSKEY",
])

interface ZoneCopy {
  readonly domain: string
  /** The whole zone, if a server transferred it. */
  readonly transferred: readonly Answer[] | null
  readonly pacer: Pacer
  readonly query: (name: string, type: QueryType) => Promise<DnsAnswer>
}

/**
 * Copies a zone as far as its servers answer.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown if the queries for the domain itself fail
 */
export async function copyZone(copying: ZoneCopy): Promise<CopiedZone> {
  const { domain, transferred } = copying
  if (transferred === null) return scanZone(copying)
  const omitted: string[] = []
  const found = transferred.flatMap((answer): readonly ResolvedRecord[] => {
    const record = toResolvedRecord(answer)
    if (record !== null && record.type !== "DS") return [record]
    if (!DNSSEC_TYPES.has(answer.type))
      omitted.push(`${answer.type} ${answer.name}: this type is not supported.`)
    return []
  })
  const normalized = normalizeRecords(domain, found)
  return {
    records: normalized.records,
    omitted: [...omitted, ...normalized.omitted],
    queriedNames: null,
  }
}

async function scanZone(copying: ZoneCopy): Promise<CopiedZone> {
  const { domain } = copying
  const omitted: string[] = []
  const fullName = (name: string) => (name === "@" ? domain : `${name}.${domain}`)
  // A random name has only what the wildcard gives to every name.
  const label = randomBytes(12).toString("hex")
  const [random = []] = await queryNames(copying, [[`${label}.${domain}`, HOST_TYPES]], omitted)
  const wildcard = random.map((record) => ({ ...record, name: `*.${domain}` }))
  const names = COMMON_NAMES.map(([name, types]) => [fullName(name), types] as const)
  const all = await queryNames(copying, names, omitted)
  const own = all.filter((records) => !matchesWildcard(records, wildcard)).flat()
  const glue = await queryGlue(copying, own, omitted)
  const normalized = normalizeRecords(domain, [...wildcard, ...own, ...glue])
  return {
    records: normalized.records,
    omitted: [...omitted, ...normalized.omitted],
    queriedNames: COMMON_NAMES.map(([name]) => name),
  }
}

type NameQueries = readonly (readonly [string, readonly QueryType[]])[]

/**
 * Queries names, in their order. Failed queries are reported as omitted, except for the domain
 * itself, where the error is thrown.
 */
async function queryNames(
  { domain, pacer, query }: ZoneCopy,
  names: NameQueries,
  omitted: string[],
): Promise<readonly (readonly ResolvedRecord[])[]> {
  const found = names.map((): ResolvedRecord[] => [])
  const questions = names.flatMap(([name, types], i) => types.map((type) => ({ name, type, i })))
  const until = pacer.elapsedMs() + TIMEOUT_MS
  const queryNext = async (): Promise<void> => {
    for (let next = questions.shift(); next !== undefined; next = questions.shift()) {
      const { name, type, i } = next
      if (pacer.elapsedMs() >= until) {
        omitted.push(
          `${type} ${name}: not queried, because the time limit of ${TIMEOUT_MS / 1_000} s was reached.`,
        )
        continue
      }
      try {
        const { answers } = await query(name, type)
        const matching = answers.filter(
          (one) => one.name === name && (one.type === type || one.type === "CNAME"),
        )
        found[i]?.push(...matching)
      } catch (error) {
        if (!isProviderError(error) || name === domain) throw error
        omitted.push(`${type} ${name}: no name server answered.`)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, queryNext))
  return found
}

/** Whether a name has only the wildcard's records. */
function matchesWildcard(
  records: readonly ResolvedRecord[],
  wildcard: readonly ResolvedRecord[],
): boolean {
  return (
    wildcard.length > 0 &&
    records.length > 0 &&
    records.every((one) =>
      wildcard.some(
        ({ type, content, priority }) =>
          type === one.type && content === one.content && priority === one.priority,
      ),
    )
  )
}

/**
 * The addresses of name servers that are inside the subdomains they serve; no other zone has them.
 */
async function queryGlue(
  copying: ZoneCopy,
  records: readonly ResolvedRecord[],
  omitted: string[],
): Promise<readonly ResolvedRecord[]> {
  const hosts = records
    .filter(({ type, name, content }) => type === "NS" && content.endsWith(`.${name}`))
    .map(({ content }) => content)
  const names = [...new Set(hosts)].map((host) => [host, ["A", "AAAA"]] as const)
  return (await queryNames(copying, names, omitted)).flat()
}

/** Normalizes the found records and sorts out those that cannot be served. */
function normalizeRecords(
  domain: string,
  found: readonly ResolvedRecord[],
): Pick<CopiedZone, "records" | "omitted"> {
  const records: CopiedZone["records"][number][] = []
  const omitted: string[] = []
  const omit = ({ type, name }: ResolvedRecord, reason: string) =>
    omitted.push(`${type} ${name}: ${reason}`)
  for (const one of found) {
    const { type, name, content, priority } = one
    if (type === "SOA" || type === "DS" || (type === "NS" && name === domain)) continue
    if (type === "TXT" && content.includes("\u{fffd}")) {
      omit(one, "the text is not UTF-8.")
      continue
    }
    const read = parseRecord(domain, { type, name: `${name}.`, content, priority })
    if ("fault" in read) {
      omit(one, `${read.fault.field} ${read.fault.sentence}.`)
      continue
    }
    if (records.some((known) => isSameRecord(known, read.record))) continue
    const clash = recordConflict(domain, records, read.record)
    if (clash === null) records.push({ ...read.record, ttl: RECORD_TTL_SECONDS })
    else omit(one, clash)
  }
  return { records, omitted: omitted }
}

/** Converts a packet to an answer. */
export function dnsAnswerFromPacket(packet: DecodedPacket): DnsAnswer {
  const { flags = 0, answers = [], authorities = [] } = packet
  const code = Object.entries(DNS_RESPONSE_CODES).find(([, number]) => number === (flags & 0xf))
  return {
    code: code?.[0] ?? `CODE${flags & 0xf}`,
    isAuthoritative: packet.flag_aa,
    answers: answers.flatMap((one) => toResolvedRecord(one) ?? []),
    authorities: authorities.flatMap((one) => toResolvedRecord(one) ?? []),
  }
}

/** A record in our form; null for a type that we don't use. */
function toResolvedRecord(answer: Answer): ResolvedRecord | null {
  const parsed = contentOf(answer)
  if (parsed === null || answer.type === "OPT") return null
  const { content, priority = null } = parsed
  return {
    type: answer.type as ResolvedRecord["type"],
    name: normalizeName(answer.name),
    content,
    priority,
    ttl: answer.ttl ?? 0,
  }
}

interface RecordContent {
  readonly content: string
  readonly priority?: number
}

function contentOf(answer: Answer): RecordContent | null {
  switch (answer.type) {
    case "A":
    case "AAAA":
      return { content: answer.data }
    case "CNAME":
    case "NS":
      return { content: normalizeName(answer.data) }
    case "MX":
      return { content: normalizeName(answer.data.exchange), priority: answer.data.preference ?? 0 }
    case "TXT":
      return { content: textFromTxt(answer.data) }
    case "CAA":
      return { content: `${answer.data.flags ?? 0} ${answer.data.tag} "${answer.data.value}"` }
    case "SRV": {
      const { weight = 0, port, target, priority = 0 } = answer.data
      return { content: `${weight} ${port} ${normalizeName(target)}`, priority }
    }
    case "SOA":
      return { content: String(answer.data.serial ?? 0) }
    case "DS":
      return { content: "" }
    default:
      return null
  }
}

/** In lower case; the root is a dot. */
const normalizeName = (name: string): string =>
  (name.endsWith(".") && name !== "." ? name.slice(0, -1) : name).toLowerCase()

/** Joins the strings of a TXT record. */
function textFromTxt(data: TxtData): string {
  const strings = Array.isArray(data) ? data : [data]
  return Buffer.concat(strings.map((one) => Buffer.from(one))).toString()
}
