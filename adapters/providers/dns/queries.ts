/**
 * Reading questions off the wire, from anybody. dns-packet reads some names as others (a dot within a
 * label, bytes that are no UTF-8): only what it writes again byte for byte was understood.
 */
import type { OptAnswer } from "dns-packet"
import { decode, encode } from "dns-packet"

/** Codes of answers (RFC 1035 §4.1.1, RFC 6891 §9). */
export const CODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

/** A code of an answer, by its word. */
export type Code = keyof typeof CODES

const HEADER_BYTES = 12
const OPCODE = 0b0111_1000
/** The root, and the type 41. */
const BEGIN_OF_OPT = Buffer.from([0, 0, 41])

/** A question that was understood. */
export interface Query {
  readonly id: number
  readonly wantsRecursion: boolean
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
export type ReadQuery =
  | { readonly query: Query }
  | { readonly code: "FORMERR" | "NOTIMP"; readonly id: number; readonly flags: number }
  | null

/** Reads a packet. An answer is never answered, or two servers could keep each other busy for ever. */
export function readQuery(packet: Buffer): ReadQuery {
  if (packet.length < HEADER_BYTES) return null
  const id = packet.readUInt16BE(0)
  const flags = packet.readUInt16BE(2)
  if ((flags & 0x8000) !== 0) return null
  if (((flags >> 8) & OPCODE) !== 0) return { code: "NOTIMP", id, flags }
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) =>
    packet.readUInt16BE(at),
  )
  const isPlain = questions === 1 && answers === 0 && authorities === 0 && (additionals ?? 0) <= 1
  const query = isPlain ? understood(packet, additionals === 1) : null
  return query === null ? { code: "FORMERR", id, flags } : { query }
}

/** The question in a packet; null where it is none, or not the one that was read. */
function understood(packet: Buffer, hasMore: boolean): Query | null {
  const end = endOfQuestion(packet)
  if (end === null || end > packet.length) return null
  // Nothing but an OPT is read beside the question.
  if (hasMore && !packet.subarray(end).subarray(0, 3).equals(BEGIN_OF_OPT)) return null
  const read = decoded(packet)
  const [asked] = read?.questions ?? []
  if (read === null || asked === undefined) return null
  const question = packet.subarray(HEADER_BYTES, end)
  const written = encode({ questions: [{ ...asked, name: nameOf(asked.name) }] })
  if (!written.subarray(HEADER_BYTES).equals(question)) return null
  const opt = read.additionals?.find((one): one is OptAnswer => one.type === "OPT")
  return {
    id: read.id ?? 0,
    wantsRecursion: read.flag_rd,
    name: nameOf(asked.name),
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
const nameOf = (name: string): string => (name === "." ? "" : name)

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
export function decoded(packet: Buffer): ReturnType<typeof decode> | null {
  try {
    return decode(packet)
  } catch (error) {
    // It says so by errors of each kind, none of which is ours: nothing else runs here.
    if (error instanceof Error) return null
    throw error
  }
}
