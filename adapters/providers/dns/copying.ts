/** Copying what is served for a domain: the whole zone where it is given, else what usual names have. */
import { randomBytes } from "node:crypto"
import type { Answer, DecodedPacket, TxtData } from "dns-packet"
import {
  RECORD_TTL,
  clashAmong,
  isSameRecord,
  readRecord,
} from "../../../domain/domains/records.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { isOutside } from "../outside.ts"
import type { AskedType, CopiedZone, DnsAnswer, FoundRecord } from "./port.ts"
import { CODES } from "./replies.ts"

/** What hosts have. A CNAME is seen in the answer to each of these. */
const TYPES_OF_HOSTS = ["A", "AAAA", "MX", "TXT"] as const satisfies readonly AskedType[]

const APEX = [...TYPES_OF_HOSTS, "CAA"] as const

const PARTS = [...TYPES_OF_HOSTS, "NS"] as const

const HOSTS = [
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
const SITES = [
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

const TEXTS = [
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

const SERVICES = [
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
const USUAL_NAMES: readonly (readonly [string, readonly AskedType[]])[] = [
  ["@", APEX],
  ...HOSTS.map((name) => [name, TYPES_OF_HOSTS] as const),
  ...SITES.map((name) => [name, PARTS] as const),
  ...TEXTS.map((name) => [name, ["TXT"]] as const),
  ...SERVICES.map((name) => [name, ["SRV"]] as const),
]

/** So many questions are on their way at a time. */
const AT_ONCE = 20
/** What was not asked after so long is told as missing. */
const WITHIN_MS = 8_000
/** What a signed zone has beside its records: it is not signed by us. */
const OF_SIGNING: ReadonlySet<string> = new Set([
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "DNSKEY",
  "CDS",
  "CDNSKEY",
])

/** What is copied, and by whom it is told. */
interface Copying {
  readonly domain: string
  /** The whole zone, where somebody gives it. */
  readonly transferred: readonly Answer[] | null
  readonly pacer: Pacer
  /** Throws ProviderUnavailable and ProviderSilent. */
  readonly ask: (name: string, type: AskedType) => Promise<DnsAnswer>
}

/**
 * Copies a zone, as far as anybody gives it.
 *
 * @throws ProviderUnavailable, ProviderSilent where not even the domain itself is answered for
 */
export async function copyOf(copying: Copying): Promise<CopiedZone> {
  const { domain, transferred } = copying
  if (transferred === null) return scanned(copying)
  const leftOut: string[] = []
  const found = transferred.flatMap((answer): readonly FoundRecord[] => {
    const record = foundIn(answer)
    if (record !== null && record.type !== "DS") return [record]
    if (!OF_SIGNING.has(answer.type))
      leftOut.push(`${answer.type} ${answer.name}: is not served here.`)
    return []
  })
  const kept = keptOf(domain, found)
  return { records: kept.records, omitted: [...leftOut, ...kept.omitted], queriedNames: null }
}

async function scanned(copying: Copying): Promise<CopiedZone> {
  const { domain } = copying
  const leftOut: string[] = []
  const wholeName = (name: string) => (name === "@" ? domain : `${name}.${domain}`)
  // What a name has that nobody can have made is what every name has.
  const random = randomBytes(12).toString("hex")
  const [any = []] = await recordsAt(copying, [[`${random}.${domain}`, TYPES_OF_HOSTS]], leftOut)
  const wildcard = any.map((record) => ({ ...record, name: `*.${domain}` }))
  const names = USUAL_NAMES.map(([name, types]) => [wholeName(name), types] as const)
  const all = await recordsAt(copying, names, leftOut)
  const own = all.filter((records) => !isOfWildcard(records, wildcard)).flat()
  const glue = await glueOf(copying, own, leftOut)
  const kept = keptOf(domain, [...wildcard, ...own, ...glue])
  return {
    records: kept.records,
    omitted: [...leftOut, ...kept.omitted],
    queriedNames: USUAL_NAMES.map(([name]) => name),
  }
}

type Names = readonly (readonly [string, readonly AskedType[]])[]

/** What these names have, in their order. What nobody answers is told, but for the first of them. */
async function recordsAt(
  { domain, pacer, ask }: Copying,
  names: Names,
  leftOut: string[],
): Promise<readonly (readonly FoundRecord[])[]> {
  const found = names.map((): FoundRecord[] => [])
  const questions = names.flatMap(([name, types], i) => types.map((type) => ({ name, type, i })))
  const until = pacer.elapsedMs() + WITHIN_MS
  const askNext = async (): Promise<void> => {
    for (let next = questions.shift(); next !== undefined; next = questions.shift()) {
      const { name, type, i } = next
      if (pacer.elapsedMs() >= until) {
        leftOut.push(`${type} ${name}: there was no time left to ask.`)
        continue
      }
      try {
        const { answers } = await ask(name, type)
        const here = answers.filter(
          (one) => one.name === name && (one.type === type || one.type === "CNAME"),
        )
        found[i]?.push(...here)
      } catch (error) {
        if (!isOutside(error) || name === domain) throw error
        leftOut.push(`${type} ${name}: nobody answered.`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, askNext))
  return found
}

/** Whether a name has what the wildcard gives it, and nothing of its own. */
function isOfWildcard(records: readonly FoundRecord[], wildcard: readonly FoundRecord[]): boolean {
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
async function glueOf(
  copying: Copying,
  records: readonly FoundRecord[],
  leftOut: string[],
): Promise<readonly FoundRecord[]> {
  const hosts = records
    .filter(({ type, name, content }) => type === "NS" && content.endsWith(`.${name}`))
    .map(({ content }) => content)
  const names = [...new Set(hosts)].map((host) => [host, ["A", "AAAA"]] as const)
  return (await recordsAt(copying, names, leftOut)).flat()
}

/** What of found records is kept, in its normal form. */
function keptOf(
  domain: string,
  found: readonly FoundRecord[],
): Pick<CopiedZone, "records" | "omitted"> {
  const records: CopiedZone["records"][number][] = []
  const leftOut: string[] = []
  const leave = ({ type, name }: FoundRecord, why: string) =>
    leftOut.push(`${type} ${name}: ${why}`)
  for (const one of found) {
    const { type, name, content, priority } = one
    if (type === "SOA" || type === "DS" || (type === "NS" && name === domain)) continue
    if (type === "TXT" && content.includes("\u{fffd}")) {
      leave(one, "is no text in UTF-8.")
      continue
    }
    const read = readRecord(domain, { type, name: `${name}.`, content, priority })
    if ("fault" in read) {
      leave(one, `${read.fault.field} ${read.fault.sentence}.`)
      continue
    }
    if (records.some((known) => isSameRecord(known, read.record))) continue
    const clash = clashAmong(domain, records, read.record)
    if (clash === null) records.push({ ...read.record, ttl: RECORD_TTL })
    else leave(one, clash)
  }
  return { records, omitted: leftOut }
}

/** An answer as it is told. */
export function answerOf(packet: DecodedPacket): DnsAnswer {
  const { flags = 0, answers = [], authorities = [] } = packet
  const code = Object.entries(CODES).find(([, number]) => number === (flags & 0xf))
  return {
    code: code?.[0] ?? `CODE${flags & 0xf}`,
    isAuthoritative: packet.flag_aa,
    answers: answers.flatMap((one) => foundIn(one) ?? []),
    authorities: authorities.flatMap((one) => foundIn(one) ?? []),
  }
}

/** A record in our form; null for one of another type. */
function foundIn(answer: Answer): FoundRecord | null {
  const said = contentOf(answer)
  if (said === null || answer.type === "OPT") return null
  const { content, priority = null } = said
  return {
    type: answer.type as FoundRecord["type"],
    name: nameOf(answer.name),
    content,
    priority,
    ttl: answer.ttl ?? 0,
  }
}

interface Said {
  readonly content: string
  readonly priority?: number
}

function contentOf(answer: Answer): Said | null {
  switch (answer.type) {
    case "A":
    case "AAAA":
      return { content: answer.data }
    case "CNAME":
    case "NS":
      return { content: nameOf(answer.data) }
    case "MX":
      return { content: nameOf(answer.data.exchange), priority: answer.data.preference ?? 0 }
    case "TXT":
      return { content: textOf(answer.data) }
    case "CAA":
      return { content: `${answer.data.flags ?? 0} ${answer.data.tag} "${answer.data.value}"` }
    case "SRV": {
      const { weight = 0, port, target, priority = 0 } = answer.data
      return { content: `${weight} ${port} ${nameOf(target)}`, priority }
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
const nameOf = (name: string): string =>
  (name.endsWith(".") && name !== "." ? name.slice(0, -1) : name).toLowerCase()

/** The strings of a TXT are one text. */
function textOf(data: TxtData): string {
  const strings = Array.isArray(data) ? data : [data]
  return Buffer.concat(strings.map((one) => Buffer.from(one))).toString()
}
