/** Writing answers to questions for the wire. */
import type { Answer, OptAnswer } from "dns-packet"
import { encode, decode } from "dns-packet"
import type { SoaRecord, ServedRecord, ZoneAnswer } from "../../../domain/domains/authority.ts"

/** The longest answer over UDP, in bytes: it fits into one packet everywhere, and amplifies little. */
export const MAX_UDP_REPLY_BYTES = 1_232
/** What a UDP answer may have where the question says nothing of it. */
const MIN_UDP_REPLY_BYTES = 512
/** The length of an answer over TCP is told in two bytes. */
export const MAX_TCP_REPLY_BYTES = 65_535

const [RESPONSE, AUTHORITATIVE, TRUNCATED, RECURSION] = [0x8000, 0x0400, 0x0200, 0x0100]
/** What of the flags of a packet that was not understood is repeated: kind of question and recursion. */
const REPEATED_FLAGS = 0x7900
const MAX_STRING_BYTES = 255

/** How long an answer to this question over UDP may be, in bytes. */
export function maxUdpReplyBytes({ edns }: DnsQuery): number {
  return Math.min(Math.max(MIN_UDP_REPLY_BYTES, edns?.size ?? 0), MAX_UDP_REPLY_BYTES)
}

/** An answer of a code alone to a packet that was not understood: its header. */
export function headerOnlyReply(code: DnsResponseCode, id: number, flags: number): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(id, 0)
  header.writeUInt16BE(RESPONSE | (flags & REPEATED_FLAGS) | DNS_RESPONSE_CODES[code], 2)
  return header
}

/** An answer of a code alone. */
export function codeReply(query: DnsQuery, code: DnsResponseCode): Buffer {
  return encodeReply(query, code, 0, {})
}

/** No answer, but that there is one over TCP. It is as long as the question, or shorter. */
export function truncatedReply(query: DnsQuery): Buffer {
  return encodeReply(query, "NOERROR", TRUNCATED, {})
}

/**
 * The answer of a zone.
 *
 * @param start the SOA of the zone, where that was asked for
 * @param room bytes that it may have; what is longer says so, and holds no records
 */
export function zoneReply(
  query: DnsQuery,
  answer: ZoneAnswer,
  start: SoaRecord | null,
  room: number,
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
  if (reply.length <= room) return reply
  return encodeReply(query, code, flags | TRUNCATED, {})
}

interface Sections {
  readonly answers?: Answer[]
  readonly authorities?: Answer[]
  readonly additionals?: readonly Answer[]
}

/** A reply that repeats its question as it came. */
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

/** What is said of EDNS to whoever spoke of it. The upper bits of a code stand here. */
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

/** The name of an answer in the letters of the question, where it is that name. */
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
      // Its types know three tags; it writes any.
      return [{ type, name, ttl, data: { flags: Number(flags), tag: tag as "issue", value } }]
    }
  }
}

/** A text as strings of at most 255 bytes: dns-packet writes longer ones broken. */
function splitText(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / MAX_STRING_BYTES)
  return Array.from({ length: count }, (_, i) =>
    bytes.subarray(i * MAX_STRING_BYTES, (i + 1) * MAX_STRING_BYTES),
  )
}

// Reading questions off the wire, from anybody. dns-packet reads some names as others (a dot within a
// label, bytes that are no UTF-8): only what it writes again byte for byte was understood.

/** Codes of answers (RFC 1035 §4.1.1, RFC 6891 §9). */
export const DNS_RESPONSE_CODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

/** A code of an answer, by its word. */
type DnsResponseCode = keyof typeof DNS_RESPONSE_CODES

const HEADER_BYTES = 12
const OPCODE = 0b0111_1000
/** The root, and the type 41. */
const OPT_PREFIX = Buffer.from([0, 0, 41])

/** A question that was understood. */
export interface DnsQuery {
  readonly id: number
  readonly isRecursive: boolean
  /** As it was asked, in large and small letters; without a dot at the end, and empty for the root. */
  readonly name: string
  /** The word for its type; `UNKNOWN_65` for what dns-packet has no word for. */
  readonly type: string
  /** The word for its class: `IN`. */
  readonly class: string
  /** The bytes of the question, which an answer repeats. */
  readonly question: Buffer
  /** Null without EDNS. */
  readonly edns: { readonly version: number; readonly size: number; readonly isDo: boolean } | null
}

/** What a packet was: a question, one to be told a code, or nothing to be answered at all. */
type ParsedQuery =
  | { readonly query: DnsQuery }
  | { readonly code: "FORMERR" | "NOTIMP"; readonly id: number; readonly flags: number }
  | null

/** Reads a packet. An answer is never answered, or two servers could keep each other busy for ever. */
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

/** The question in a packet; null where it is none, or not the one that was read. */
function parseQuestion(packet: Buffer, hasMore: boolean): DnsQuery | null {
  const end = endOfQuestion(packet)
  if (end === null || end > packet.length) return null
  // Nothing but an OPT is read beside the question.
  if (hasMore && !packet.subarray(end).subarray(0, 3).equals(OPT_PREFIX)) return null
  const read = decodePacket(packet)
  const [asked] = read?.questions ?? []
  if (read === null || asked === undefined) return null
  const question = packet.subarray(HEADER_BYTES, end)
  const again = encode({ questions: [{ ...asked, name: normalizeRoot(asked.name) }] })
  if (!again.subarray(HEADER_BYTES).equals(question)) return null
  const opt = read.additionals?.find((one): one is OptAnswer => one.type === "OPT")
  return {
    id: read.id ?? 0,
    isRecursive: read.flag_rd,
    name: normalizeRoot(asked.name),
    type: asked.type,
    class: asked.class ?? "IN",
    question,
    edns:
      opt === undefined
        ? null
        : { version: opt.ednsVersion, size: opt.udpPayloadSize, isDo: opt.flag_do },
  }
}

/** dns-packet calls the root a dot. */
const normalizeRoot = (name: string): string => (name === "." ? "" : name)

/** Where the question ends, which holds no pointer; null where it does not end. */
function endOfQuestion(packet: Buffer): number | null {
  let at = HEADER_BYTES
  for (;;) {
    const length = packet[at]
    if (length === undefined || length > 63) return null
    at += 1 + length
    if (length === 0) return at + 4
  }
}

/** What dns-packet reads in bytes of a stranger; null where it finds no sense in them. */
export function decodePacket(packet: Buffer): ReturnType<typeof decode> | null {
  try {
    return decode(packet)
  } catch (error) {
    // It says so by errors of each kind, none of which is ours: nothing else runs here.
    if (error instanceof Error) return null
    throw error
  }
}
