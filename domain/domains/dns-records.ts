/**
 * What a record of a domain may be, and beside which others it may stand.
 *
 * The specification says which types are written and how long their fields are; the form of each is what
 * `named-checkzone` loads and what no reader of a zone file or a packet can take for something else.
 */
import { normalizeHostName, isSameOrSubdomain, normalizeDomainName } from "./host-names.ts"

const GROUPS = 8

/** What callers write. */
export const WRITABLE_RECORD_TYPES = ["A", "AAAA", "CNAME", "MX", "TXT"] as const
/** What is copied beside these when a domain is connected: it is served and exported as it was. */
export const COPIED_RECORD_TYPES = ["CAA", "SRV", "NS"] as const

/** The types of record that callers write. */
type WritableType = (typeof WRITABLE_RECORD_TYPES)[number]
/** The types of record that a zone has beside its own SOA and NS. */
export type RecordType = WritableType | (typeof COPIED_RECORD_TYPES)[number]

/** Where a record comes from: the former host, a caller, the set-up of email, an address of the app. */
export type RecordSource = "copied" | "added" | "email" | "app"

/** Seconds for which resolvers may keep a record. */
export const RECORD_TTL_SECONDS = 300
/** Characters (code points) of a content. */
export const MAX_CONTENT_LENGTH = 2_048
/** The target of an MX or SRV that says: there is none (RFC 7505). */
export const NULL_TARGET = "."
/** Bytes of all records of one name and type: an answer has to hold them. */
const MAX_RECORD_SET_BYTES = 32_768

/** What a record says, in its normal form: two that say the same are equal. */
export interface RecordBody {
  readonly type: RecordType
  /** The whole name, in lower case and punycode, without a dot at the end; `*.` may lead it. */
  readonly name: string
  /**
   * By the type: an address; the whole name of a host, or `.` for none; the text of a TXT, which is not
   * parted; of a SRV `weight port target`; of a CAA `flags tag "value"`.
   */
  readonly content: string
  /** Of an MX or SRV; null for others. */
  readonly priority: number | null
}

/** A record of a zone. */
interface ZoneRecord extends RecordBody {
  readonly id: string
  /** Seconds. */
  readonly ttl: number
  readonly source: RecordSource
}

/** A zone as it is served and exported; its SOA and its own NS follow from it. */
export interface Zone {
  /** The domain, in the form of names. */
  readonly apex: string
  /** Whom the zone itself names, in the form of names; at least one. */
  readonly nameServers: readonly string[]
  /** Counts the changes: never less than before. */
  readonly serial: number
  readonly records: readonly (RecordBody & Pick<ZoneRecord, "ttl">)[]
}

/** A record as somebody wrote it. */
export interface RecordInput {
  readonly type: RecordType
  /** Relative to the domain, or whole; `@` is the domain itself. */
  readonly name: string
  readonly content: string
  readonly priority: number | null
}

/** Why a record cannot be: the field at fault, and what is wrong with it, to be read behind its name. */
interface RecordFault {
  readonly field: "name" | "content" | "priority"
  readonly sentence: string
}

/** A record in its normal form, or what is wrong with it. */
type ParsedRecord = { readonly record: RecordBody } | { readonly fault: RecordFault }

/**
 * Reads a record of a domain.
 *
 * @param apex the domain, in the form of names
 */
export function parseRecord(apex: string, written: RecordInput): ParsedRecord {
  const { type, priority } = written
  const name = ownerNameOf(apex, written.name)
  if (name === null) {
    return fault("name", `must be a name under ${apex}, @ for itself, or begin with *.`)
  }
  const length = [...written.content].length
  if (length < 1 || length > MAX_CONTENT_LENGTH) {
    return fault("content", `must have 1 to ${MAX_CONTENT_LENGTH} characters`)
  }
  const hasPriority = type === "MX" || type === "SRV"
  if (hasPriority !== (priority !== null)) {
    return fault("priority", hasPriority ? `is needed for ${type}` : "is for MX alone")
  }
  if (priority !== null && !(Number.isInteger(priority) && priority >= 0 && priority <= 65_535)) {
    return fault("priority", "must be a whole number from 0 to 65535")
  }
  const content = normalizeContent(type, written.content)
  if (content === null) return fault("content", EXPECTED[type])
  if (type === "CNAME" && content === name) return fault("content", "must be another name")
  if (type === "NS" && name.startsWith("*.")) return fault("name", "must not begin with *. for NS")
  if (type === "NS" && name === apex) {
    return fault("name", "must be under the domain: its own name servers are ours")
  }
  return { record: { type, name, content, priority } }
}

const fault = (field: RecordFault["field"], sentence: string): ParsedRecord => ({
  fault: { field, sentence },
})

/** The whole name of what is written; null where it is none, or too long with its domain. */
function ownerNameOf(apex: string, written: string): string | null {
  if (written === "@" || written === "") return apex
  const isWhole = written.endsWith(".")
  const name = normalizeDomainName(written, { wildcard: true })
  if (name !== null && isSameOrSubdomain(name, apex)) return name
  return isWhole ? null : normalizeDomainName(`${written}.${apex}`, { wildcard: true })
}

/** What a content must be, by type. */
const EXPECTED: Readonly<Record<RecordType, string>> = {
  A: "must be an IPv4 address such as 192.0.2.1",
  AAAA: "must be an IPv6 address such as 2001:db8::1",
  CNAME: "must be the whole name of a host, such as app.example.com",
  MX: "must be the whole name of a host, such as mail.example.com",
  NS: "must be the whole name of a host, such as ns1.example.com",
  TXT: "must be text without the character U+0000",
  SRV: "must be weight, port and the whole name of a host",
  CAA: 'must be flags, tag and a value in quotes, such as 0 issue "ca.example"',
}

/** The normal form of a content; null where it cannot be one of its type. */
function normalizeContent(type: RecordType, content: string): string | null {
  switch (type) {
    case "A":
      return normalizeIpv4(content)
    case "AAAA":
      return normalizeIpv6(content)
    case "CNAME":
    case "NS":
      return normalizeHostName(content)
    case "MX":
      return content === NULL_TARGET ? content : normalizeHostName(content)
    case "TXT":
      return content.isWellFormed() && !content.includes("\0") ? content : null
    case "SRV":
      return normalizeSrvContent(content)
    case "CAA":
      return /^\d{1,3} [a-z0-9]{1,15} "[ !#-[\]-~]{0,1000}"$/.test(content) &&
        Number.parseInt(content, 10) < 256
        ? content
        : null
  }
}

function normalizeSrvContent(content: string): string | null {
  const [weight = "", port = "", target = "", ...more] = content.split(" ")
  const isNumber = (word: string) => /^(0|[1-9]\d{0,4})$/.test(word) && Number(word) <= 65_535
  const host = target === NULL_TARGET ? target : normalizeHostName(target)
  const isOne = isNumber(weight) && isNumber(port) && host !== null && more.length === 0
  return isOne ? `${weight} ${port} ${host}` : null
}

/** Whether two records say the same. */
export function isSameRecord(one: RecordBody, other: RecordBody): boolean {
  return (
    one.type === other.type &&
    one.name === other.name &&
    one.content === other.content &&
    one.priority === other.priority
  )
}

/**
 * Why a record cannot stand beside those of its domain, as a sentence; null where it can. A CNAME stands
 * alone, so never at the domain itself, which has name servers.
 */
export function recordConflict(
  apex: string,
  records: readonly RecordBody[],
  added: RecordBody,
): string | null {
  const { type, name } = added
  if (type === "CNAME" && name === apex) {
    return `A CNAME stands alone: ${apex} itself can have none.`
  }
  const beside = records.filter((one) => one.name === name)
  if (beside.some((one) => isSameRecord(one, added))) return `The same record is there already.`
  const alone = beside.find((one) => one.type === "CNAME")
  if (alone !== undefined) return `${name} has a CNAME, which stands alone.`
  if (type === "CNAME" && beside.length > 0) {
    return `A CNAME stands alone, and ${name} has other records.`
  }
  const set = [...beside.filter((one) => one.type === type), added]
  if (
    set.reduce((sum, one) => sum + 16 + encodeUtf8(one.content).length, 0) > MAX_RECORD_SET_BYTES
  ) {
    return `The ${type} records of ${name} would be too long to be answered.`
  }
  return null
}

/** An IPv4 address of four decimal numbers; null for other ways to write one, which parsers differ in. */
function normalizeIpv4(text: string): string | null {
  const numbers = text.split(".")
  const isPlain = (part: string) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256
  return numbers.length === 4 && numbers.every(isPlain) ? text : null
}

/** An IPv6 address as RFC 5952 writes it; null where it is none, or names a zone (`%eth0`). */
function normalizeIpv6(text: string): string | null {
  const groups = ipv6Groups(text)
  return groups === null ? null : shortened(groups)
}

/** The eight numbers of an IPv6 address; null where it is none. */
function ipv6Groups(text: string): readonly number[] | null {
  const halves = text.toLowerCase().split("::")
  if (halves.length > 2) return null
  const [before, after] = halves.map((half, i) => groupsIn(half, i === halves.length - 1))
  if (before === undefined || before === null || after === null) return null
  if (after === undefined) return before.length === GROUPS ? before : null
  const missing = GROUPS - before.length - after.length
  return missing < 1 ? null : [...before, ...Array<number>(missing).fill(0), ...after]
}

/** The numbers in a part without `::`; an IPv4 address may be the last of them. */
function groupsIn(part: string, isLast: boolean): readonly number[] | null {
  if (part === "") return []
  const words = part.split(":")
  const found: number[] = []
  for (const [i, word] of words.entries()) {
    if (/^[0-9a-f]{1,4}$/.test(word)) {
      found.push(Number.parseInt(word, 16))
      continue
    }
    const inner = isLast && i === words.length - 1 ? normalizeIpv4(word) : null
    if (inner === null) return null
    const [a = 0, b = 0, c = 0, d = 0] = inner.split(".").map(Number)
    found.push(a * 256 + b, c * 256 + d)
  }
  return found
}

/** The longest run of zeros, the first of equal ones, becomes `::`. */
function shortened(groups: readonly number[]): string {
  let best = { start: -1, length: 1 }
  let start = 0
  for (const [i, group] of groups.entries()) {
    if (group !== 0) start = i + 1
    else if (i - start + 1 > best.length) best = { start, length: i - start + 1 }
  }
  const text = (some: readonly number[]) => some.map((one) => one.toString(16)).join(":")
  if (best.start < 0) return text(groups)
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`
}

/** The bytes of a text without lone surrogates, in UTF-8. */
export function encodeUtf8(text: string): readonly number[] {
  const bytes: number[] = []
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const tail = (bits: number) => 0x80 | ((code >> bits) & 0x3f)
    if (code < 0x80) bytes.push(code)
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(0))
    else if (code < 0x1_0000) bytes.push(0xe0 | (code >> 12), tail(6), tail(0))
    else bytes.push(0xf0 | (code >> 18), tail(12), tail(6), tail(0))
  }
  return bytes
}
