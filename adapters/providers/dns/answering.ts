/** From a packet to the packet that answers it. */
import type { Authority } from "../../../domain/domains/authority.ts"
import type { Query } from "./queries.ts"
import { readQuery } from "./queries.ts"
import {
  MOST_OVER_TCP,
  bareReply,
  codeReply,
  roomOverUdp,
  truncatedReply,
  zoneReply,
} from "./replies.ts"
import type { ServedZones } from "./served-zones.ts"

/** A packet as it came. */
export interface Asked {
  readonly packet: Buffer
  readonly over: "udp" | "tcp"
  /** Over UDP: whether the asker's network may get records in this answer. */
  readonly isWithinLimit: boolean
}

/** Answers packets from these zones; null to what gets no answer. It throws at nothing that a packet holds. */
export function answeringFrom(
  zones: Pick<ServedZones, "of">,
): (asked: Asked) => Buffer | null | Promise<Buffer | null> {
  return ({ packet, over, isWithinLimit }) => {
    const read = readQuery(packet)
    if (read === null) return null
    if ("code" in read) return bareReply(read.code, read.id, read.flags)
    const { query } = read
    const refusal = refusalOf(query)
    if (refusal !== null) return codeReply(query, refusal)
    if (!isWithinLimit) return truncatedReply(query)
    const room = over === "tcp" ? MOST_OVER_TCP : roomOverUdp(query)
    const zone = zones.of(query.name.toLowerCase())
    return zone instanceof Promise
      ? zone.then((found) => replyOf(query, found, room))
      : replyOf(query, zone, room)
  }
}

/** Why a question gets no answer, whatever is served: another EDNS or class, or a whole zone is wanted. */
function refusalOf(query: Query): "BADVERS" | "REFUSED" | null {
  if (query.edns !== null && query.edns.version !== 0) return "BADVERS"
  const isPlain = query.class === "IN" && query.type !== "AXFR" && query.type !== "IXFR"
  return isPlain ? null : "REFUSED"
}

function replyOf(query: Query, zone: Authority | "busy" | null, room: number): Buffer {
  if (zone === "busy") return codeReply(query, "SERVFAIL")
  if (zone === null) return codeReply(query, "REFUSED")
  const name = query.name.toLowerCase()
  const isStart = query.type === "SOA" && name === zone.zone.apex
  const reply = zoneReply(query, zone.answer(name, query.type), isStart ? zone.start : null, room)
  // Even over TCP it would be cut off: whoever asks is not to ask again and again.
  const isCut = room === MOST_OVER_TCP && (reply.readUInt8(2) & 0x02) !== 0
  return isCut ? codeReply(query, "SERVFAIL") : reply
}
