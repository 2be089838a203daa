/**
 * Rules for the records of a domain: their form, and which records may share a name.
 *
 * The specification defines the writable types and the length of their fields. The form of each is one that
 * `named-checkzone` loads and that no reader of a zone file or packet can misread.
 */
import { normalizeHostName, isSameOrSubdomain, normalizeDomainName } from "./host-names.ts"

const GROUPS = 8

/** Record types that callers can write. */
export const WRITABLE_RECORD_TYPES = ["A", "AAAA", "CNAME", "MX", "TXT"] as const
/** Additional types that are copied when a domain is connected; they are served and exported unchanged. */
export const COPIED_RECORD_TYPES = ["CAA", "SRV", "NS"] as const

type WritableType = (typeof WRITABLE_RECORD_TYPES)[number]
/** A record type of a zone, except for its own SOA and NS. */
export type RecordType = WritableType | (typeof COPIED_RECORD_TYPES)[number]

/** The origin of a record: the former DNS host, a caller, email setup, or an app address. */
export type RecordSource = "copied" | "added" | "email" | "app"

/** TTL of records in seconds. */
export const RECORD_TTL_SECONDS = 300
/** Maximum length of a content in characters (code points). */
export const MAX_CONTENT_LENGTH = 2_048
/** The target of an MX or SRV record that means: there is none (RFC 7505). */
export const NULL_TARGET = "."
/** Maximum size in bytes of all records of one name and type; they must fit into one answer. */
const MAX_RECORD_SET_BYTES = 32_768

/** The normalized form of a record: equal records have equal fields. */
export interface RecordBody {
  readonly type: RecordType
  /** The full name in lower case and punycode, without a trailing dot; may start with `*.`. */
  readonly name: string
  /**
   * By type: an address; the full name of a host, or `.` for none; the text of a TXT as one string; `weight port
   * target` of an SRV; `flags tag "value"` of a CAA.
   */
  readonly content: string
  /** For MX and SRV; null for others. */
  readonly priority: number | null
}

interface ZoneRecord extends RecordBody {
  readonly id: string
  readonly ttl: number
  readonly source: RecordSource
}

/** A zone as served and exported; its SOA and own NS records are derived from it. */
export interface Zone {
  readonly apex: string
  /** The normalized names of the zone's own name servers, at least one. */
  readonly nameServers: readonly string[]
  /** Number of changes; never decreases. */
  readonly serial: number
  readonly records: readonly (RecordBody & Pick<ZoneRecord, "ttl">)[]
}

/** A record as entered by a caller. */
export interface RecordInput {
  readonly type: RecordType
  /** Relative to the domain, or full; `@` is the domain itself. */
  readonly name: string
  readonly content: string
  readonly priority: number | null
}

/** Why a record is invalid: the field, and the end of a sentence that starts with it. */
interface RecordFault {
  readonly field: "name" | "content" | "priority"
  readonly sentence: string
}

type ParsedRecord = { readonly record: RecordBody } | { readonly fault: RecordFault }

/** Parses a record of a domain. @param apex the domain's normalized name */
export function parseRecord(apex: string, input: RecordInput): ParsedRecord {
  const { type, priority } = input
  const name = ownerNameOf(apex, input.name)
  if (name === null) {
    return fault(
      "name",
      `must be a name under ${apex}, or @ for the domain itself; it may start with *.`,
    )
  }
  const length = [...input.content].length
  if (length < 1 || length > MAX_CONTENT_LENGTH) {
    return fault("content", `must have 1 to ${MAX_CONTENT_LENGTH} characters`)
  }
  const hasPriority = type === "MX" || type === "SRV"
  if (hasPriority !== (priority !== null)) {
    return fault("priority", hasPriority ? `is required for ${type}` : "is only for MX")
  }
  if (priority !== null && !(Number.isInteger(priority) && priority >= 0 && priority <= 65_535)) {
    return fault("priority", "must be a whole number from 0 to 65535")
  }
  const content = normalizeContent(type, input.content)
  if (content === null) return fault("content", EXPECTED[type])
  if (type === "CNAME" && content === name)
    return fault("content", "must be a different name than the record's own")
  if (type === "NS" && name.startsWith("*.")) return fault("name", "must not start with *. for NS")
  if (type === "NS" && name === apex) {
    return fault("name", "must be under the domain; the domain itself uses our name servers")
  }
  return { record: { type, name, content, priority } }
}

const fault = (field: RecordFault["field"], sentence: string): ParsedRecord => ({
  fault: { field, sentence },
})

/** The full name of an entered name; null if it is invalid or too long with its domain. */
function ownerNameOf(apex: string, written: string): string | null {
  if (written === "@" || written === "") return apex
  const isFullName = written.endsWith(".")
  const name = normalizeDomainName(written, { wildcard: true })
  if (name !== null && isSameOrSubdomain(name, apex)) return name
  return isFullName ? null : normalizeDomainName(`${written}.${apex}`, { wildcard: true })
}

const EXPECTED: Readonly<Record<RecordType, string>> = {
  A: "must be an IPv4 address such as 192.0.2.1",
  AAAA: "must be an IPv6 address such as 2001:db8::1",
  CNAME: "must be the full name of a host, such as app.example.com",
  MX: "must be the full name of a host, such as mail.example.com",
  NS: "must be the full name of a host, such as ns1.example.com",
  TXT: "must be text without the character U+0000",
  SRV: "must be weight, port and the full name of a host",
  CAA: 'must be flags, tag and a value in quotes, such as 0 issue "ca.example"',
}

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
  const isValid = isNumber(weight) && isNumber(port) && host !== null && more.length === 0
  return isValid ? `${weight} ${port} ${host}` : null
}

/** Whether two records are equal. */
export function isSameRecord(one: RecordBody, other: RecordBody): boolean {
  return (
    one.type === other.type &&
    one.name === other.name &&
    one.content === other.content &&
    one.priority === other.priority
  )
}

/**
 * Explains in a sentence why a record cannot be added to those of its domain; null if it can. A CNAME must be the
 * only record of its name, so it is impossible at the domain itself, which has name servers.
 */
export function recordConflict(
  apex: string,
  records: readonly RecordBody[],
  added: RecordBody,
): string | null {
  const { type, name } = added
  if (type === "CNAME" && name === apex) {
    return `${apex} itself cannot have a CNAME, because it has NS records; use a name under it.`
  }
  const sameName = records.filter((one) => one.name === name)
  if (sameName.some((one) => isSameRecord(one, added))) return `The same record already exists.`
  const alias = sameName.find((one) => one.type === "CNAME")
  if (alias !== undefined)
    return `${name} has a CNAME, which must be its only record; remove the CNAME first.`
  if (type === "CNAME" && sameName.length > 0) {
    return `A CNAME must be the only record of its name; remove the other records of ${name} first.`
  }
  const set = [...sameName.filter((one) => one.type === type), added]
  if (
    set.reduce((sum, one) => sum + 16 + encodeUtf8(one.content).length, 0) > MAX_RECORD_SET_BYTES
  ) {
    return `The ${type} records of ${name} would be larger than ${MAX_RECORD_SET_BYTES} bytes, the limit; shorten or remove some.`
  }
  return null
}

/** Accepts four decimal numbers only; null for other spellings, which parsers read differently. */
function normalizeIpv4(text: string): string | null {
  const numbers = text.split(".")
  const isPlain = (part: string) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256
  return numbers.length === 4 && numbers.every(isPlain) ? text : null
}

/** Normalizes an IPv6 address by RFC 5952; null if it is invalid or names a zone (`%eth0`). */
function normalizeIpv6(text: string): string | null {
  const groups = ipv6Groups(text)
  return groups === null ? null : compressed(groups)
}

function ipv6Groups(text: string): readonly number[] | null {
  const halves = text.toLowerCase().split("::")
  if (halves.length > 2) return null
  const [before, after] = halves.map((half, i) => groupsIn(half, i === halves.length - 1))
  if (before === undefined || before === null || after === null) return null
  if (after === undefined) return before.length === GROUPS ? before : null
  const missing = GROUPS - before.length - after.length
  return missing < 1 ? null : [...before, ...Array<number>(missing).fill(0), ...after]
}

/** The numbers of a part without `::`; the last may be an IPv4 address. */
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
function compressed(groups: readonly number[]): string {
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

/** Encodes well-formed text as UTF-8 bytes. */
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
