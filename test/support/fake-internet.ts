/**
 * A simulated DNS for tests, usable as `DNS_RESOLVER`: a map holds the registries' delegations, and recursive queries
 * are forwarded to the delegated host, a former one or our name server.
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

/** What answers for a name server: a zone, or the `address:port` of a real server. */
export type NameServerHost = Zone | string

export interface FakeInternet {
  /** The value for `DNS_RESOLVER`. */
  readonly address: string
  /** Delegates a domain to name servers; without any, the domain is not registered. */
  readonly delegate: (domain: string, nameServers: readonly string[], isSigned?: boolean) => void
  /** Sets what answers for a name server, or for all below a name such as `ns.localhost`. */
  readonly serveNameServer: (nameServer: string, host: NameServerHost) => void
  /** Number of UDP queries so far. */
  readonly queryCount: () => number
  readonly close: () => Promise<void>
}

/** Opens a simulated DNS without registered domains, at a free port of the loopback. */
export async function openFakeInternet(): Promise<FakeInternet> {
  const world: DnsState = { registered: new Map(), hosts: new Map() }
  let queries = 0
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
    queries += 1
    void resolveQuery(world, packet).then((reply) => {
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
    queryCount: () => queries,
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
  const ancestors = [...registered.keys()].filter((one) => name === one || name.endsWith(`.${one}`))
  return ancestors.toSorted((a, b) => b.length - a.length)[0] ?? null
}

/** The host of the first of these servers that has one. */
function hostOf({ hosts }: DnsState, nameServers: readonly string[]): NameServerHost | null {
  for (const server of nameServers) {
    for (const [name, host] of hosts) {
      if (server === name || server.endsWith(`.${name}`)) return host
    }
  }
  return null
}

async function resolveQuery(world: DnsState, packet: Buffer): Promise<Buffer | null> {
  const question = decode(packet)
  const [query] = question.questions ?? []
  if (query === undefined) return null
  const name = query.name.toLowerCase()
  const domain = registeredAbove(world, name)
  const known = domain === null ? undefined : world.registered.get(domain)
  if (domain === null || known === undefined) return dnsResponse(packet, NXDOMAIN, [], [])
  if (query.type === "DS" && name === domain) {
    const ds: Answer = {
      type: "DS",
      name: query.name,
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
  return resolveAtHost(world, packet, hostOf(world, known.nameServers))
}

/** Resolves a query at a host, and follows a CNAME to its target. */
async function resolveAtHost(
  world: DnsState,
  packet: Buffer,
  host: NameServerHost | null,
): Promise<Buffer | null> {
  if (host === null) return dnsResponse(packet, SERVFAIL, [], [])
  const reply = await queryHost(host, packet)
  if (reply === null) return null
  const answer = decode(reply)
  const [query] = answer.questions ?? []
  const last = answer.answers?.at(-1)
  const isUnresolved = last?.type === "CNAME" && query !== undefined && query.type !== "CNAME"
  if (!isUnresolved || (answer.answers?.length ?? 0) > MAX_CHAIN_LENGTH) return reply
  const next = encode({
    type: "query",
    id: answer.id ?? 0,
    flags: WANTS_RECURSION,
    questions: [{ name: last.data, type: query.type }],
  })
  const target = await resolveQuery(world, next)
  const rest: DecodedPacket | null = target === null ? null : decode(target)
  const code = rest === null ? SERVFAIL : (rest.flags ?? 0) & 0xf
  return dnsResponse(packet, code, [...(answer.answers ?? []), ...(rest?.answers ?? [])], [])
}

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

/** Queries a host over UDP; null if it does not answer within two seconds. */
async function queryHost(host: NameServerHost, packet: Buffer): Promise<Buffer | null> {
  if (typeof host !== "string") return answerFromZone(host, packet, "udp")
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
    // The client gets no answer either.
    return null
  } finally {
    socket.close()
  }
}

function answerFromZone(zone: Zone, packet: Buffer, transport: "udp" | "tcp"): Buffer | null {
  const authority = buildZoneAuthority(zone)
  const isHere = (name: string) => name === zone.apex || name.endsWith(`.${zone.apex}`)
  const answer = createQueryHandler({ findZone: (name) => (isHere(name) ? authority : null) })
  return answer({ packet, transport, isWithinLimit: true }) as Buffer | null
}

/** Serves a TCP connection: forwards it to the host of its first query. */
async function overTcp(world: DnsState, socket: Socket): Promise<void> {
  for await (const packet of readPackets(socket as AsyncIterable<Buffer>)) {
    const [query] = decode(packet).questions ?? []
    const domain = registeredAbove(world, query?.name.toLowerCase() ?? "")
    const host = hostOf(world, world.registered.get(domain ?? "")?.nameServers ?? [])
    if (host === null) return void socket.destroy()
    if (typeof host !== "string") {
      const reply = answerFromZone(host, packet, "tcp")
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
