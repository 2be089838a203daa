/** The name server: it answers over UDP and TCP at one port. */
import type { Socket as UdpSocket } from "node:dgram"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { isIPv6 } from "node:net"
import type { Pacer } from "../../machine/clock/port.ts"
import type { ServedZones } from "./served-zones.ts"
import { createTcpServer } from "./tcp.ts"
import ipaddr from "ipaddr.js"
import type { ZoneAuthority } from "../../../domain/domains/authority.ts"
import type { DnsQuery } from "./wire-format.ts"
import {
  parseQuery,
  MAX_TCP_REPLY_BYTES,
  headerOnlyReply,
  codeReply,
  maxUdpReplyBytes,
  truncatedReply,
  zoneReply,
} from "./wire-format.ts"

/** Answers per second to one network; further ones are truncated. */
const MAX_ANSWERS_PER_SECOND = 200

const WINDOW_MS = 1_000

/** Attempts to find a port that is free for both UDP and TCP. */
const MAX_PORT_ATTEMPTS = 20

interface NameServerOptions {
  /** An address of this machine. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly zones: Pick<ServedZones, "findZone">
  readonly pacer: Pacer
  /** Receives errors other than those of clients' questions. */
  readonly onError: (error: unknown) => void
}

interface ListeningNameServer {
  readonly host: string
  readonly port: number
  readonly close: () => Promise<void>
}

/**
 * Opens the name server.
 *
 * @throws Error of node:net: EADDRINUSE if the port is taken, EACCES if it may not be used
 */
export async function openNameServer(options: NameServerOptions): Promise<ListeningNameServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await listen(options)
    } catch (error) {
      // A port that is free for TCP may be taken for UDP.
      const isTaken = (error as { readonly code?: unknown }).code === "EADDRINUSE"
      if (options.port !== 0 || !isTaken || tries === MAX_PORT_ATTEMPTS) throw error
    }
  }
}

async function listen(options: NameServerOptions): Promise<ListeningNameServer> {
  const { host, zones, pacer, onError } = options
  const answer = createQueryHandler(zones)
  const tcp = createTcpServer(
    pacer,
    (packet) => answer({ packet, transport: "tcp", isWithinLimit: true }),
    onError,
  )
  tcp.server.listen({ host, port: options.port })
  await once(tcp.server, "listening")
  const { port } = tcp.server.address() as AddressInfo
  const udp = createSocket({ type: isIPv6(host) ? "udp6" : "udp4" })
  try {
    udp.bind({ address: host, port, exclusive: true })
    await once(udp, "listening")
  } catch (error) {
    await tcp.close()
    throw error
  }
  udp.on("error", onError)
  tcp.server.on("error", onError)
  serveUdp(udp, answer, pacer, onError)
  return {
    host,
    port,
    close: async () => {
      udp.close()
      await tcp.close()
    },
  }
}

function serveUdp(
  udp: UdpSocket,
  answer: ReturnType<typeof createQueryHandler>,
  pacer: Pacer,
  onError: (error: unknown) => void,
): void {
  const isWithinLimit = openAnswerRateLimit(pacer)
  let isOpen = true
  udp.once("close", () => (isOpen = false))
  udp.on("message", (packet, { address, port }) => {
    // Nothing can be sent to port 0, so no client asks from it.
    if (port === 0) return
    const reply = answer({ packet, transport: "udp", isWithinLimit: isWithinLimit(address) })
    const send = (bytes: Buffer | null): void => {
      // A lost answer is no error: the client asks again.
      if (bytes !== null && isOpen) udp.send(bytes, port, address, () => undefined)
    }
    if (reply instanceof Promise) reply.then(send).catch(onError)
    else send(reply)
  })
}

/**
 * Opens a rate limit of answers by network and second. It returns whether another answer may
 * contain records; its memory is bounded by the packets of one second.
 */
export function openAnswerRateLimit({ elapsedMs }: Pick<Pacer, "elapsedMs">) {
  const counts = new Map<string, number>()
  let startedAt = elapsedMs()
  return (address: string): boolean => {
    const now = elapsedMs()
    if (now - startedAt >= WINDOW_MS) {
      counts.clear()
      startedAt = now
    }
    const network = networkOf(address)
    const count = (counts.get(network) ?? 0) + 1
    counts.set(network, count)
    return count <= MAX_ANSWERS_PER_SECOND
  }
}

/** The network of an address: /24 for IPv4, /56 for IPv6. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address.slice(0, address.lastIndexOf("."))
  const [plain = ""] = address.split("%")
  // A dual-stack socket writes an IPv4 address as an IPv6 one: ::ffff:192.0.2.1.
  const parsed = ipaddr.process(plain)
  if (parsed instanceof ipaddr.IPv4) return networkOf(parsed.toString())
  return parsed.toByteArray().slice(0, 7).join(":")
}

interface IncomingPacket {
  readonly packet: Buffer
  readonly transport: "udp" | "tcp"
  /** For UDP: whether the client's network is within the rate limit. */
  readonly isWithinLimit: boolean
}

/**
 * Creates a handler that answers packets from these zones; null if a packet gets no answer. No
 * packet makes it throw.
 */
export function createQueryHandler(
  zones: Pick<ServedZones, "findZone">,
): (incoming: IncomingPacket) => Buffer | null | Promise<Buffer | null> {
  return ({ packet, transport, isWithinLimit }) => {
    const read = parseQuery(packet)
    if (read === null) return null
    if ("code" in read) return headerOnlyReply(read.code, read.id, read.flags)
    const { query } = read
    const refusal = refusalOf(query)
    if (refusal !== null) return codeReply(query, refusal)
    if (!isWithinLimit) return truncatedReply(query)
    const maxBytes = transport === "tcp" ? MAX_TCP_REPLY_BYTES : maxUdpReplyBytes(query)
    const zone = zones.findZone(query.name.toLowerCase())
    return zone instanceof Promise
      ? zone.then((found) => replyOf(query, found, maxBytes))
      : replyOf(query, zone, maxBytes)
  }
}

/**
 * The code for a question that is rejected whatever zones are served: an unknown EDNS version or
 * class, or a zone transfer.
 */
function refusalOf(query: DnsQuery): "BADVERS" | "REFUSED" | null {
  if (query.edns !== null && query.edns.version !== 0) return "BADVERS"
  const isPlain = query.class === "IN" && query.type !== "AXFR" && query.type !== "IXFR"
  return isPlain ? null : "REFUSED"
}

function replyOf(query: DnsQuery, zone: ZoneAuthority | "busy" | null, maxBytes: number): Buffer {
  if (zone === "busy") return codeReply(query, "SERVFAIL")
  if (zone === null) return codeReply(query, "REFUSED")
  const name = query.name.toLowerCase()
  const isStart = query.type === "SOA" && name === zone.zone.apex
  const reply = zoneReply(
    query,
    zone.answer(name, query.type),
    isStart ? zone.soaRecord : null,
    maxBytes,
  )
  // Truncated even over TCP: SERVFAIL stops the client from repeating the question.
  const isTruncated = maxBytes === MAX_TCP_REPLY_BYTES && (reply.readUInt8(2) & 0x02) !== 0
  return isTruncated ? codeReply(query, "SERVFAIL") : reply
}
