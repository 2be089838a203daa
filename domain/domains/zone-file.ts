/**
 * A zone as a standard zone file (RFC 1035 §5): every name whole, a record a line, loaded by
 * `named-checkzone`. Nothing that a record holds can end its line or its string.
 */
import type { RecordBody, Zone } from "./records.ts"
import { NO_TARGET, RECORD_TTL } from "./records.ts"
import { ownNameServers, startOfAuthority } from "./start-of-authority.ts"
import { utf8Of } from "./utf8.ts"

/** Bytes of one string of a TXT. */
const MOST_OF_A_STRING = 255
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The text of a zone. */
export function zoneFile(zone: Zone): string {
  const { mname, rname, serial, refresh, retry, expire, minimum } = startOfAuthority(zone)
  const times = `${serial} ${refresh} ${retry} ${expire} ${minimum}`
  const records = [...ownNameServers(zone), ...zone.records]
  return [
    `$ORIGIN ${zone.apex}.`,
    `$TTL ${RECORD_TTL}`,
    `${zone.apex}. ${RECORD_TTL} IN SOA ${mname}. ${rname}. ${times}`,
    ...records.map(lineOf),
    "",
  ].join("\n")
}

function lineOf(record: Zone["records"][number]): string {
  const { name, ttl, type } = record
  return `${name}. ${ttl} IN ${type} ${contentOf(record)}`
}

/** A content as zone files and servers that take their form write it: names whole, strings in quotes. */
export function contentOf({ type, content, priority }: RecordBody): string {
  switch (type) {
    case "A":
    case "AAAA":
    case "CAA":
      return content
    case "CNAME":
    case "NS":
      return whole(content)
    case "MX":
    case "SRV":
      return `${priority ?? 0} ${whole(content)}`
    case "TXT":
      return quotedStrings(content)
  }
}

const whole = (name: string): string => (name.endsWith(NO_TARGET) ? name : `${name}.`)

/** A text as strings of at most 255 bytes, in quotes. */
function quotedStrings(text: string): string {
  const bytes = utf8Of(text)
  const strings: string[] = []
  for (let start = 0; start < bytes.length; start += MOST_OF_A_STRING) {
    strings.push(
      `"${bytes
        .slice(start, start + MOST_OF_A_STRING)
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
