/**
 * An internet of names for tests, usable as `DNS_RESOLVER`: what registries say is a map, and a question
 * with recursion is forwarded to whom they name, a former host or a name server of ours.
 */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"
import type { Answer, DecodedPacket } from "dns-packet"
import { decode, encode } from "dns-packet"
import type { Zone } from "../../domain/domains/dns-records.ts"
import { buildZoneAuthority } from "../../domain/domains/authority.ts"
import { createQueryHandler } from "../../adapters/providers/dns/name-server.ts"
import { framePacket, readPackets } from "../../adapters/providers/dns/tcp.ts"

const [NXDOMAIN, SERVFAIL, RECURSES, WANTS_RECURSION] = [3, 2, 0x80, 0x100]
const MAX_CHAIN_LENGTH = 8

/** Who answers for a name server: what it serves, or the `address:port` of a real one. */
export type NameServerHost = Zone | string

/** An internet. */
export interface FakeInternet {
  /** What `DNS_RESOLVER` is set to. */
  readonly address: string
  /** Has the registry of a domain name these servers; with none, the domain is not registered. */
  readonly delegate: (domain: string, nameServers: readonly string[], isSigned?: boolean) => void
  /** Says who answers at a name server, or at all under a name: `ns.localhost`. */
  readonly serveNameServer: (nameServer: string, host: NameServerHost) => void
  /** How many questions it was asked. */
  readonly queryCount: () => number
  readonly close: () => Promise<void>
}

/** Opens an internet in which nothing is registered, at a free port of the loopback. */
export async function openFakeInternet(): Promise<FakeInternet> {
  const world: DnsState = { registered: new Map(), hosts: new Map() }
  let asked = 0
  const udp = createSocket("udp4")
  const sockets = new Set<Socket>()
  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    void overTcp(world, socket).catch(() => socket.destroy())
  })
  tcp.listen(0, "127.0.0.1")
  await once(tcp, "listening")
  const { port } = tcp.address() as AddressInfo
  udp.bind(port, "127.0.0.1")
  await once(udp, "listening")
  udp.on("message", (packet, { address, port: from }) => {
    asked += 1
    void answered(world, packet).then((reply) => {
      if (reply !== null) udp.send(reply, from, address, () => undefined)
    })
  })
  return {
    address: `127.0.0.1:${port}`,
    delegate: (domain, nameServers, isSigned = false) => {
      if (nameServers.length === 0) world.registered.delete(domain)
      else world.registered.set(domain, { nameServers, isSigned })
    },
    serveNameServer: (nameServer, host) => world.hosts.set(nameServer, host),
    queryCount: () => asked,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      udp.close()
      tcp.close()
      await once(tcp, "close")
    },
  }
}

interface DnsState {
  readonly registered: Map<string, { nameServers: readonly string[]; isSigned: boolean }>
  readonly hosts: Map<string, NameServerHost>
}

/** The longest registered name at or above this one. */
function registeredAbove({ registered }: DnsState, name: string): string | null {
  const above = [...registered.keys()].filter((one) => name === one || name.endsWith(`.${one}`))
  return above.toSorted((a, b) => b.length - a.length)[0] ?? null
}

/** Who answers at the first of these servers that is there. */
function hostOf({ hosts }: DnsState, nameServers: readonly string[]): NameServerHost | null {
  for (const server of nameServers) {
    for (const [name, host] of hosts) {
      if (server === name || server.endsWith(`.${name}`)) return host
    }
  }
  return null
}

async function answered(world: DnsState, packet: Buffer): Promise<Buffer | null> {
  const question = decode(packet)
  const [asked] = question.questions ?? []
  if (asked === undefined) return null
  const name = asked.name.toLowerCase()
  const domain = registeredAbove(world, name)
  const known = domain === null ? undefined : world.registered.get(domain)
  if (domain === null || known === undefined) return dnsResponse(packet, NXDOMAIN, [], [])
  if (asked.type === "DS" && name === domain) {
    const ds: Answer = {
      type: "DS",
      name: asked.name,
      ttl: 300,
      data: { keyTag: 1, algorithm: 13, digestType: 2, digest: Buffer.alloc(32, 1) },
    }
    return dnsResponse(packet, 0, known.isSigned ? [ds] : [], [])
  }
  if (!question.flag_rd) {
    const referral = known.nameServers.map((data): Answer => ({
      type: "NS",
      name: domain,
      ttl: 300,
      data,
    }))
    return dnsResponse(packet, 0, [], referral)
  }
  return found(world, packet, hostOf(world, known.nameServers))
}

/** What a recursive server answers: it follows a CNAME to where that leads. */
async function found(
  world: DnsState,
  packet: Buffer,
  host: NameServerHost | null,
): Promise<Buffer | null> {
  if (host === null) return dnsResponse(packet, SERVFAIL, [], [])
  const reply = await queryHost(host, packet)
  if (reply === null) return null
  const answer = decode(reply)
  const [asked] = answer.questions ?? []
  const last = answer.answers?.at(-1)
  const isLoose = last?.type === "CNAME" && asked !== undefined && asked.type !== "CNAME"
  if (!isLoose || (answer.answers?.length ?? 0) > MAX_CHAIN_LENGTH) return reply
  const next = encode({
    type: "query",
    id: answer.id ?? 0,
    flags: WANTS_RECURSION,
    questions: [{ name: last.data, type: asked.type }],
  })
  const more = await answered(world, next)
  const rest: DecodedPacket | null = more === null ? null : decode(more)
  const code = rest === null ? SERVFAIL : (rest.flags ?? 0) & 0xf
  return dnsResponse(packet, code, [...(answer.answers ?? []), ...(rest?.answers ?? [])], [])
}

/** An answer of the internet itself. */
function dnsResponse(
  packet: Buffer,
  code: number,
  answers: Answer[],
  authorities: Answer[],
): Buffer {
  const { id = 0, questions = [], flag_rd: isRecursive } = decode(packet)
  const flags = code | RECURSES | (isRecursive ? WANTS_RECURSION : 0)
  return encode({ type: "response", id, flags, questions, answers, authorities })
}

/** Asks a host over UDP; null where it says nothing in two seconds. */
async function queryHost(host: NameServerHost, packet: Buffer): Promise<Buffer | null> {
  if (typeof host !== "string") return inProcess(host, packet, "udp")
  const [address = "", port] = host.split(":")
  const socket = createSocket("udp4")
  try {
    socket.connect(Number(port), address)
    await once(socket, "connect")
    socket.send(packet)
    const [reply] = (await once(socket, "message", { signal: AbortSignal.timeout(2_000) })) as [
      Buffer,
    ]
    return reply
  } catch {
    // Nobody is there: whoever asked hears nothing either.
    return null
  } finally {
    socket.close()
  }
}

function inProcess(zone: Zone, packet: Buffer, transport: "udp" | "tcp"): Buffer | null {
  const authority = buildZoneAuthority(zone)
  const isHere = (name: string) => name === zone.apex || name.endsWith(`.${zone.apex}`)
  const answer = createQueryHandler({ findZone: (name) => (isHere(name) ? authority : null) })
  return answer({ packet, transport, isWithinLimit: true }) as Buffer | null
}

/** A connection: forwarded to the host of its first question as it is. */
async function overTcp(world: DnsState, socket: Socket): Promise<void> {
  for await (const packet of readPackets(socket as AsyncIterable<Buffer>)) {
    const [asked] = decode(packet).questions ?? []
    const domain = registeredAbove(world, asked?.name.toLowerCase() ?? "")
    const host = hostOf(world, world.registered.get(domain ?? "")?.nameServers ?? [])
    if (host === null) return void socket.destroy()
    if (typeof host !== "string") {
      const reply = inProcess(host, packet, "tcp")
      if (reply !== null) socket.write(framePacket(reply))
      continue
    }
    const [address = "", port] = host.split(":")
    const upstream = connect(Number(port), address)
    upstream.write(framePacket(packet))
    for await (const reply of readPackets(upstream as AsyncIterable<Buffer>)) {
      socket.write(framePacket(reply))
    }
    return void socket.end()
  }
}
