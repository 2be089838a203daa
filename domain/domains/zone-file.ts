/**
 * Zones as standard zone files (RFC 1035 §5): full names, one record per line, accepted by `named-checkzone`. No
 * content of a record can end its line or string.
 */
import type { RecordBody, Zone } from "./dns-records.ts"
import { NULL_TARGET, RECORD_TTL_SECONDS, encodeUtf8 } from "./dns-records.ts"

const MAX_STRING_BYTES = 255
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Formats a zone as a zone file. */
export function formatZoneFile(zone: Zone): string {
  const { mname, rname, serial, refresh, retry, expire, minimum } = startOfAuthority(zone)
  const times = `${serial} ${refresh} ${retry} ${expire} ${minimum}`
  const records = [...apexNameServers(zone), ...zone.records]
  return [
    `$ORIGIN ${zone.apex}.`,
    `$TTL ${RECORD_TTL_SECONDS}`,
    `${zone.apex}. ${RECORD_TTL_SECONDS} IN SOA ${mname}. ${rname}. ${times}`,
    ...records.map(formatLine),
    "",
  ].join("\n")
}

function formatLine(record: Zone["records"][number]): string {
  const { name, ttl, type } = record
  return `${name}. ${ttl} IN ${type} ${formatRecordContent(record)}`
}

/** Formats the content of a record for zone files and compatible servers: full names, quoted strings. */
export function formatRecordContent({ type, content, priority }: RecordBody): string {
  switch (type) {
    case "A":
    case "AAAA":
    case "CAA":
      return content
    case "CNAME":
    case "NS":
      return fullyQualified(content)
    case "MX":
    case "SRV":
      return `${priority ?? 0} ${fullyQualified(content)}`
    case "TXT":
      return quotedStrings(content)
  }
}

const fullyQualified = (name: string): string => (name.endsWith(NULL_TARGET) ? name : `${name}.`)

function quotedStrings(text: string): string {
  const bytes = encodeUtf8(text)
  const strings: string[] = []
  for (let start = 0; start < bytes.length; start += MAX_STRING_BYTES) {
    strings.push(
      `"${bytes
        .slice(start, start + MAX_STRING_BYTES)
        .map(escaped)
        .join("")}"`,
    )
  }
  return strings.join(" ")
}

function escaped(byte: number): string {
  if (byte === QUOTE || byte === BACKSLASH) return `\\${String.fromCharCode(byte)}`
  if (byte >= 0x20 && byte <= 0x7e) return String.fromCharCode(byte)
  return `\\${String(byte).padStart(3, "0")}`
}

/** How long resolvers may cache that a record does not exist, in seconds. */
export const NEGATIVE_TTL_SECONDS = 300
/** For secondary servers, in seconds: time to refresh, to retry after a failure, and to give up. */
const REFRESH = 7_200
const RETRY = 900
const EXPIRE = 1_209_600
/** Serials have 32 bits. */
const SERIALS = 2 ** 32

/** The content of a zone's SOA, in the order of its fields. */
export interface StartOfAuthority {
  readonly mname: string
  /** The mail address of our name servers' operator, as a name. */
  readonly rname: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  readonly minimum: number
}

/** Returns the SOA of a zone. */
export function startOfAuthority({ nameServers, serial }: Zone): StartOfAuthority {
  const [mname = ""] = nameServers
  const rname = `hostmaster${mname.slice(Math.max(0, mname.indexOf(".")))}`
  return {
    mname,
    rname,
    serial: serial % SERIALS,
    refresh: REFRESH,
    retry: RETRY,
    expire: EXPIRE,
    minimum: NEGATIVE_TTL_SECONDS,
  }
}

/** Returns the zone's own NS records. */
export function apexNameServers({ apex, nameServers }: Zone): Zone["records"] {
  return nameServers.map((content) => ({
    type: "NS",
    name: apex,
    content,
    priority: null,
    ttl: RECORD_TTL_SECONDS,
  }))
}
