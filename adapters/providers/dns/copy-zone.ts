/** Copying what is served for a domain: the whole zone where it is given, else what usual names have. */
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

/** What hosts have. A CNAME is seen in the answer to each of these. */
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

/** Parts of a company's own, which other servers may answer for. */
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

/** Names, relative to the domain, `@` for itself, with what is asked for at each. */
const COMMON_NAMES: readonly (readonly [string, readonly QueryType[]])[] = [
  ["@", APEX_TYPES],
  ...HOST_NAMES.map((name) => [name, HOST_TYPES] as const),
  ...SITE_NAMES.map((name) => [name, SUBDOMAIN_TYPES] as const),
  ...TEXT_NAMES.map((name) => [name, ["TXT"]] as const),
  ...SERVICE_NAMES.map((name) => [name, ["SRV"]] as const),
]

/** So many questions are on their way at a time. */
const CONCURRENCY = 20
/** What was not asked after so long is told as missing. */
const TIMEOUT_MS = 8_000
/** What a signed zone has beside its records: it is not signed by us. */
const DNSSEC_TYPES: ReadonlySet<string> = new Set([
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "DNSKEY",
  "CDS",
  "CDNSKEY",
])

/** What is copied, and by whom it is told. */
interface ZoneCopy {
  readonly domain: string
  /** The whole zone, where somebody gives it. */
  readonly transferred: readonly Answer[] | null
  readonly pacer: Pacer
  /** Throws ProviderUnavailable and ProviderOutcomeUnknown. */
  readonly query: (name: string, type: QueryType) => Promise<DnsAnswer>
}

/**
 * Copies a zone, as far as anybody gives it.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown where not even the domain itself is answered for
 */
export async function copyZone(copying: ZoneCopy): Promise<CopiedZone> {
  const { domain, transferred } = copying
  if (transferred === null) return scanZone(copying)
  const leftOut: string[] = []
  const found = transferred.flatMap((answer): readonly ResolvedRecord[] => {
    const record = toResolvedRecord(answer)
    if (record !== null && record.type !== "DS") return [record]
    if (!DNSSEC_TYPES.has(answer.type))
      leftOut.push(`${answer.type} ${answer.name}: is not served here.`)
    return []
  })
  const kept = normalizeRecords(domain, found)
  return { records: kept.records, omitted: [...leftOut, ...kept.omitted], queriedNames: null }
}

async function scanZone(copying: ZoneCopy): Promise<CopiedZone> {
  const { domain } = copying
  const leftOut: string[] = []
  const wholeName = (name: string) => (name === "@" ? domain : `${name}.${domain}`)
  // What a name has that nobody can have made is what every name has.
  const random = randomBytes(12).toString("hex")
  const [any = []] = await queryNames(copying, [[`${random}.${domain}`, HOST_TYPES]], leftOut)
  const wildcard = any.map((record) => ({ ...record, name: `*.${domain}` }))
  const names = COMMON_NAMES.map(([name, types]) => [wholeName(name), types] as const)
  const all = await queryNames(copying, names, leftOut)
  const own = all.filter((records) => !matchesWildcard(records, wildcard)).flat()
  const glue = await queryGlue(copying, own, leftOut)
  const kept = normalizeRecords(domain, [...wildcard, ...own, ...glue])
  return {
    records: kept.records,
    omitted: [...leftOut, ...kept.omitted],
    queriedNames: COMMON_NAMES.map(([name]) => name),
  }
}

type NameQueries = readonly (readonly [string, readonly QueryType[]])[]

/** What these names have, in their order. What nobody answers is told, but for the first of them. */
async function queryNames(
  { domain, pacer, query }: ZoneCopy,
  names: NameQueries,
  leftOut: string[],
): Promise<readonly (readonly ResolvedRecord[])[]> {
  const found = names.map((): ResolvedRecord[] => [])
  const questions = names.flatMap(([name, types], i) => types.map((type) => ({ name, type, i })))
  const until = pacer.elapsedMs() + TIMEOUT_MS
  const askNext = async (): Promise<void> => {
    for (let next = questions.shift(); next !== undefined; next = questions.shift()) {
      const { name, type, i } = next
      if (pacer.elapsedMs() >= until) {
        leftOut.push(`${type} ${name}: there was no time left to ask.`)
        continue
      }
      try {
        const { answers } = await query(name, type)
        const here = answers.filter(
          (one) => one.name === name && (one.type === type || one.type === "CNAME"),
        )
        found[i]?.push(...here)
      } catch (error) {
        if (!isProviderError(error) || name === domain) throw error
        leftOut.push(`${type} ${name}: nobody answered.`)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, askNext))
  return found
}

/** Whether a name has what the wildcard gives it, and nothing of its own. */
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

/** The addresses of servers that are within the parts they answer for: nobody else has them. */
async function queryGlue(
  copying: ZoneCopy,
  records: readonly ResolvedRecord[],
  leftOut: string[],
): Promise<readonly ResolvedRecord[]> {
  const hosts = records
    .filter(({ type, name, content }) => type === "NS" && content.endsWith(`.${name}`))
    .map(({ content }) => content)
  const names = [...new Set(hosts)].map((host) => [host, ["A", "AAAA"]] as const)
  return (await queryNames(copying, names, leftOut)).flat()
}

/** What of found records is kept, in its normal form. */
function normalizeRecords(
  domain: string,
  found: readonly ResolvedRecord[],
): Pick<CopiedZone, "records" | "omitted"> {
  const records: CopiedZone["records"][number][] = []
  const leftOut: string[] = []
  const leave = ({ type, name }: ResolvedRecord, why: string) =>
    leftOut.push(`${type} ${name}: ${why}`)
  for (const one of found) {
    const { type, name, content, priority } = one
    if (type === "SOA" || type === "DS" || (type === "NS" && name === domain)) continue
    if (type === "TXT" && content.includes("\u{fffd}")) {
      leave(one, "is no text in UTF-8.")
      continue
    }
    const read = parseRecord(domain, { type, name: `${name}.`, content, priority })
    if ("fault" in read) {
      leave(one, `${read.fault.field} ${read.fault.sentence}.`)
      continue
    }
    if (records.some((known) => isSameRecord(known, read.record))) continue
    const clash = recordConflict(domain, records, read.record)
    if (clash === null) records.push({ ...read.record, ttl: RECORD_TTL_SECONDS })
    else leave(one, clash)
  }
  return { records, omitted: leftOut }
}

/** An answer as it is told. */
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

/** A record in our form; null for one of another type. */
function toResolvedRecord(answer: Answer): ResolvedRecord | null {
  const said = contentOf(answer)
  if (said === null || answer.type === "OPT") return null
  const { content, priority = null } = said
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

/** In lower case; the root, which stands for no host, is a dot. */
const normalizeName = (name: string): string =>
  (name.endsWith(".") && name !== "." ? name.slice(0, -1) : name).toLowerCase()

/** The strings of a TXT are one text. */
function textFromTxt(data: TxtData): string {
  const strings = Array.isArray(data) ? data : [data]
  return Buffer.concat(strings.map((one) => Buffer.from(one))).toString()
}
