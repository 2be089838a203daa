/** Parses DNS questions and encodes the answers. */
import type { Answer, OptAnswer } from "dns-packet"
import { encode, decode } from "dns-packet"
import type { SoaRecord, ServedRecord, ZoneAnswer } from "../../../domain/domains/authority.ts"

/**
 * Longest answer over UDP, bytes: it fits into one packet on every network and amplifies little.
 */
export const MAX_UDP_REPLY_BYTES = 1_232
/** Longest answer over UDP to a question without EDNS. */
const MIN_UDP_REPLY_BYTES = 512
/** The length prefix over TCP has two bytes. */
export const MAX_TCP_REPLY_BYTES = 65_535

const [RESPONSE, AUTHORITATIVE, TRUNCATED, RECURSION] = [0x8000, 0x0400, 0x0200, 0x0100]
/** Flags that a reply to an unparsable packet repeats: the opcode and recursion. */
const REPEATED_FLAGS = 0x7900
const MAX_STRING_BYTES = 255

/** Longest answer to this question over UDP, bytes. */
export function maxUdpReplyBytes({ edns }: DnsQuery): number {
  return Math.min(Math.max(MIN_UDP_REPLY_BYTES, edns?.size ?? 0), MAX_UDP_REPLY_BYTES)
}

/** A reply of only a header, for a packet that could not be parsed. */
export function headerOnlyReply(code: DnsResponseCode, id: number, flags: number): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(RESPONSE | (flags & REPEATED_FLAGS) | DNS_RESPONSE_CODES[code], 2)
  return header
}

/** A reply without records. */
export function codeReply(query: DnsQuery, code: DnsResponseCode): Buffer {
  return encodeReply(query, code, 0, {})
}

/** A truncated reply, which sends the client to TCP. It is no longer than the question. */
export function truncatedReply(query: DnsQuery): Buffer {
  return encodeReply(query, "NOERROR", TRUNCATED, {})
}

/**
 * Encodes the answer of a zone.
 *
 * @param start the zone's SOA record, if the question asks for it
 * @param maxBytes longest reply; a longer one is truncated and holds no records
 */
export function zoneReply(
  query: DnsQuery,
  answer: ZoneAnswer,
  start: SoaRecord | null,
  maxBytes: number,
): Buffer {
  const { code, isAuthoritative, answers, referral, glue, negative } = answer
  const flags = isAuthoritative ? AUTHORITATIVE : 0
  const found = answers.flatMap((record) => encodeRecord(record, query))
  const reply = encodeReply(query, code, flags, {
    answers: start === null ? found : [...found, encodeSoa(start, query)],
    authorities:
      negative === null
        ? referral.flatMap((record) => encodeRecord(record, query))
        : [encodeSoa(negative, query)],
    additionals: glue.flatMap((record) => encodeRecord(record, query)),
  })
  if (reply.length <= maxBytes) return reply
  return encodeReply(query, code, flags | TRUNCATED, {})
}

interface Sections {
  readonly answers?: Answer[]
  readonly authorities?: Answer[]
  readonly additionals?: readonly Answer[]
}

/** Encodes a reply that repeats its question byte for byte. */
function encodeReply(
  query: DnsQuery,
  code: DnsResponseCode,
  flags: number,
  sections: Sections,
): Buffer {
  const { id, isRecursive, edns, question } = query
  const { answers = [], authorities = [], additionals = [] } = sections
  const opt = edns === null ? [] : [optFor(code, edns.isDo)]
  const rest = encode({ answers, authorities, additionals: [...additionals, ...opt] })
  const reply = Buffer.concat([rest.subarray(0, 12), question, rest.subarray(12)])
  const recursion = isRecursive ? RECURSION : 0
  reply.writeUInt16BE(id, 0)
  reply.writeUInt16BE(RESPONSE | flags | recursion | (DNS_RESPONSE_CODES[code] & 0xf), 2)
  reply.writeUInt16BE(1, 4)
  return reply
}

/** The OPT record, for clients that sent one. It holds the upper bits of an extended code. */
function optFor(code: DnsResponseCode, isDo: boolean): Answer {
  return {
    type: "OPT",
    name: ".",
    udpPayloadSize: MAX_UDP_REPLY_BYTES,
    extendedRcode: DNS_RESPONSE_CODES[code] >> 4,
    ednsVersion: 0,
    flags: isDo ? 0x8000 : 0,
    flag_do: isDo,
    options: [],
  }
}

/** The name in the letter case of the question, if it is the same name. */
const echoNameCase = (name: string, query: DnsQuery): string =>
  query.name.toLowerCase() === name ? query.name : name

function encodeSoa({ apex, ttl, soa }: SoaRecord, query: DnsQuery): Answer {
  return { type: "SOA", name: echoNameCase(apex, query), ttl, data: { ...soa } }
}

function encodeRecord(record: ServedRecord, query: DnsQuery): readonly Answer[] {
  const { type, content, ttl, priority } = record
  const name = echoNameCase(record.name, query)
  switch (type) {
    case "A":
    case "AAAA":
    case "CNAME":
    case "NS":
      return [{ type, name, ttl, data: content }]
    case "MX":
      return [{ type, name, ttl, data: { preference: priority ?? 0, exchange: content } }]
    case "TXT":
      return [{ type, name, ttl, data: splitText(content) }]
    case "HINFO":
      return [{ type, name, ttl, data: { cpu: content, os: "" } }]
    case "SRV": {
      const [weight = "", port = "", target = ""] = content.split(" ")
      const data = { priority: priority ?? 0, weight: Number(weight), port: Number(port), target }
      return [{ type, name, ttl, data }]
    }
    case "CAA": {
      const [, flags = "", tag = "", value = ""] = /^(\d+) (\w+) "(.*)"$/.exec(content) ?? []
      // The types of dns-packet list three tags; it encodes any.
      return [{ type, name, ttl, data: { flags: Number(flags), tag: tag as "issue", value } }]
    }
  }
}

/** Splits a text into strings of at most 255 bytes; dns-packet encodes longer ones wrongly. */
function splitText(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / MAX_STRING_BYTES)
  return Array.from({ length: count }, (_, i) =>
    bytes.subarray(i * MAX_STRING_BYTES, (i + 1) * MAX_STRING_BYTES),
  )
}

// dns-packet misreads some names (a dot within a label, bytes that are not UTF-8). A question is
// accepted only if encoding it again gives the same bytes.

/** Response codes (RFC 1035 §4.1.1, RFC 6891 §9). */
export const DNS_RESPONSE_CODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

type DnsResponseCode = keyof typeof DNS_RESPONSE_CODES

const HEADER_BYTES = 12
const OPCODE = 0b0111_1000
/** The root name and the type 41. */
const OPT_PREFIX = Buffer.from([0, 0, 41])

/** A parsed question. */
export interface DnsQuery {
  readonly id: number
  readonly isRecursive: boolean
  /** In the letter case of the question, without a trailing dot; empty for the root. */
  readonly name: string
  /** The type's name; `UNKNOWN_65` for a type that dns-packet does not know. */
  readonly type: string
  /** The class's name: `IN`. */
  readonly class: string
  /** The bytes of the question, which an answer repeats. */
  readonly question: Buffer
  /** Null without EDNS. */
  readonly edns: { readonly version: number; readonly size: number; readonly isDo: boolean } | null
}

/** The result of parsing a packet: a question, an error code to reply, or null for no reply. */
type ParsedQuery =
  | { readonly query: DnsQuery }
  | { readonly code: "FORMERR" | "NOTIMP"; readonly id: number; readonly flags: number }
  | null

/** Parses a packet. Answers are ignored, or two servers could answer each other forever. */
export function parseQuery(packet: Buffer): ParsedQuery {
  if (packet.length < HEADER_BYTES) return null
  const id = packet.readUInt16BE(0)
  const flags = packet.readUInt16BE(2)
  if ((flags & 0x8000) !== 0) return null
  if (((flags >> 8) & OPCODE) !== 0) return { code: "NOTIMP", id, flags }
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) =>
    packet.readUInt16BE(at),
  )
  const isPlain = questions === 1 && answers === 0 && authorities === 0 && (additionals ?? 0) <= 1
  const query = isPlain ? parseQuestion(packet, additionals === 1) : null
  return query === null ? { code: "FORMERR", id, flags } : { query }
}

/** The question of a packet; null if it cannot be parsed exactly. */
function parseQuestion(packet: Buffer, hasMore: boolean): DnsQuery | null {
  const end = endOfQuestion(packet)
  if (end === null || end > packet.length) return null
  // An additional record is accepted only if it is an OPT record.
  if (hasMore && !packet.subarray(end).subarray(0, 3).equals(OPT_PREFIX)) return null
  const read = decodePacket(packet)
  const [first] = read?.questions ?? []
  if (read === null || first === undefined) return null
  const question = packet.subarray(HEADER_BYTES, end)
  const again = encode({ questions: [{ ...first, name: normalizeRoot(first.name) }] })
  if (!again.subarray(HEADER_BYTES).equals(question)) return null
  const opt = read.additionals?.find((one): one is OptAnswer => one.type === "OPT")
  return {
    id: read.id ?? 0,
    isRecursive: read.flag_rd,
    name: normalizeRoot(first.name),
    type: first.type,
    class: first.class ?? "IN",
    question,
    edns:
      opt === undefined
        ? null
        : { version: opt.ednsVersion, size: opt.udpPayloadSize, isDo: opt.flag_do },
  }
}

/** dns-packet writes the root as a dot. */
const normalizeRoot = (name: string): string => (name === "." ? "" : name)

/** The index after the question, which has no compression pointers; null if it is cut off. */
function endOfQuestion(packet: Buffer): number | null {
  let at = HEADER_BYTES
  for (;;) {
    const length = packet[at]
    if (length === undefined || length > 63) return null
    at += 1 + length
    if (length === 0) return at + 4
  }
}

/** Decodes untrusted bytes; null if dns-packet cannot. */
export function decodePacket(packet: Buffer): ReturnType<typeof decode> | null {
  try {
    return decode(packet)
  } catch (error) {
    // dns-packet throws plain errors of several kinds; nothing else runs here.
    if (error instanceof Error) return null
    throw error
  }
}
