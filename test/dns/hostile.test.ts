import { createSocket } from "node:dgram"
import { once } from "node:events"
import { connect } from "node:net"
import { encode } from "dns-packet"
import fc from "fast-check"
import { afterEach, describe, expect, it } from "vitest"
import {
  createQueryHandler,
  openAnswerRateLimit,
} from "../../adapters/providers/dns/name-server.ts"
import { framePacket, readPackets } from "../../adapters/providers/dns/tcp.ts"
import { openServedZones } from "../../adapters/providers/dns/served-zones.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import { buildZoneAuthority } from "../../domain/domains/authority.ts"
import { zoneRecord, serveZones, zoneWith } from "./dns-server.ts"

const ZONE = zoneWith("acme.com", [
  zoneRecord("A", "acme.com", "192.0.2.1"),
  ...Array.from({ length: 70 }, (_, i) => zoneRecord("A", "many.acme.com", `192.0.2.${i}`)),
  ...Array.from({ length: 8 }, (_, i) => zoneRecord("TXT", "long.acme.com", `${i}`.repeat(2_000))),
])
const authority = buildZoneAuthority(ZONE)
const answer = createQueryHandler({
  findZone: (name) => (name.endsWith("acme.com") ? authority : null),
})
const ask = (packet: Buffer, isWithinLimit = true) =>
  answer({ packet, transport: "udp", isWithinLimit }) as Buffer | null

const FORMERR = 1
const query = (name: string, type: "A" | "TXT" = "A", udpPayloadSize = 0): Buffer =>
  encode({
    type: "query",
    id: 4_711,
    flags: 0x100,
    questions: [{ name, type }],
    additionals:
      udpPayloadSize === 0
        ? []
        : [
            {
              type: "OPT",
              name: ".",
              udpPayloadSize,
              extendedRcode: 0,
              ednsVersion: 0,
              flags: 0,
              flag_do: false,
              options: [],
            },
          ],
  })

/** A query whose name has these raw bytes. */
function rawQuery(name: readonly number[]): Buffer {
  const header = query("a").subarray(0, 12)
  return Buffer.concat([header, Buffer.from(name), Buffer.from([0, 1, 0, 1])])
}

/** A clock that the test advances. */
class Time {
  now = 0
  readonly pacer: Pacer = {
    elapsedMs: () => this.now,
    pause: (_, signal) =>
      new Promise((resolve) => signal?.addEventListener("abort", () => resolve())),
  }
}

describe("a packet from a stranger", () => {
  it("is a format error if its name could be read as another name", () => {
    const dotted = [8, ...Buffer.from("acme.com"), 0]
    const notText = [
      4,
      0xff,
      0xfe,
      0x61,
      0x62,
      4,
      ...Buffer.from("acme"),
      3,
      ...Buffer.from("com"),
      0,
    ]
    const toItself = [0xc0, 12]
    const toHeader = [0xc0, 0]
    const endless = Array<number>(300).fill(63)
    for (const name of [dotted, notText, toItself, toHeader, endless]) {
      const reply = ask(rawQuery(name))
      expect(reply?.length).toBe(12)
      expect((reply?.readUInt8(3) ?? 0) & 0xf).toBe(FORMERR)
    }
  })

  it("gets its question back byte for byte, or a format error, whatever its bytes are", () => {
    const seeds = ["acme.com", "AcMe.com", "many.acme.com", "x.other.com"].flatMap((name) => [
      query(name),
      query(name, "TXT", 60_000),
    ])
    const mutation = fc.record({ at: fc.nat(60), byte: fc.nat(255), cut: fc.nat(60) })
    const mutated = fc
      .tuple(fc.constantFrom(...seeds), fc.array(mutation, { minLength: 1, maxLength: 4 }))
      .map(([seed, changes]) => {
        const bytes = Buffer.from(seed)
        for (const { at, byte } of changes) bytes[at % bytes.length] = byte
        const cut = (changes[0]?.cut ?? 60) < 30 ? (changes[0]?.cut ?? 0) : bytes.length
        return bytes.subarray(0, Math.max(cut, 1))
      })
    let replies = 0
    fc.assert(
      fc.property(mutated, (packet) => {
        const reply = ask(packet)
        if (reply === null) return
        replies += 1
        expect(reply.length).toBeLessThanOrEqual(1_232)
        expect(reply.readUInt16BE(0)).toBe(packet.readUInt16BE(0))
        if (reply.length === 12) return
        let end = 12
        while ((packet[end] ?? 0) !== 0) end += 1 + (packet[end] ?? 0)
        expect(reply.subarray(12, end + 5).equals(packet.subarray(12, end + 5))).toBe(true)
      }),
      { numRuns: 20_000 },
    )
    expect(replies).toBeGreaterThan(1_000)
  })

  it("gets no reply if it is a reply itself, or too short for a header", () => {
    const reply = query("acme.com")
    reply.writeUInt16BE(0x8000, 2)
    expect(ask(reply)).toBeNull()
    expect(ask(Buffer.alloc(11))).toBeNull()
  })
})

describe("a reply over UDP", () => {
  it("is never longer than 1,232 bytes, whatever size the query allows", () => {
    for (const size of [0, 100, 512, 1_232, 4_096, 65_535]) {
      for (const name of ["many.acme.com", "long.acme.com", "acme.com"]) {
        for (const type of ["A", "TXT"] as const) {
          const packet = query(name, type, size)
          const reply = ask(packet)
          expect(reply?.length).toBeLessThanOrEqual(size === 0 ? 512 : Math.max(512, size))
          expect(reply?.length).toBeLessThanOrEqual(1_232)
        }
      }
    }
  })

  it("beyond the rate limit is truncated, so that the client retries over TCP, and no longer than its query", () => {
    for (const packet of [query("many.acme.com"), query("many.acme.com", "A", 4_096)]) {
      const reply = ask(packet, false)
      expect((reply?.readUInt8(2) ?? 0) & 0x02).toBe(0x02)
      expect(reply?.length).toBe(packet.length)
    }
  })
})

describe("the rate limit of replies", () => {
  it("allows each network 200 per second, independently of the others", () => {
    const time = new Time()
    const isWithin = openAnswerRateLimit(time.pacer)
    const counted = (network: string, times: number) =>
      Array.from({ length: times }, (_, i) => isWithin(`${network}.${i % 250}`)).filter(Boolean)
        .length
    expect(counted("198.51.100", 1_000)).toBe(200)
    expect(counted("203.0.113", 150)).toBe(150)
    time.now += 999
    expect(counted("198.51.100", 10)).toBe(0)
    time.now += 1
    expect(counted("198.51.100", 1_000)).toBe(200)
  })

  it("allows 100 networks 10,000 per second, and counts IPv6 by /56", () => {
    const isWithin = openAnswerRateLimit(new Time().pacer)
    const many = Array.from({ length: 10_000 }, (_, i) => isWithin(`127.0.${i % 100}.1`))
    expect(many.every(Boolean)).toBe(true)
    const six = Array.from({ length: 300 }, (_, i) =>
      isWithin(`2001:db8:0:${(i % 256).toString(16)}::${i}`),
    )
    expect(six.filter(Boolean).length).toBe(200)
    expect(isWithin("2001:db8:0:100::1")).toBe(true)
  })

  it("counts IPv4-mapped IPv6 addresses of a dual-stack socket as IPv4", () => {
    const isWithin = openAnswerRateLimit(new Time().pacer)
    const many = Array.from({ length: 10_000 }, (_, i) => isWithin(`::ffff:127.0.${i % 100}.1`))
    expect(many.every(Boolean)).toBe(true)
    const one = Array.from({ length: 300 }, () => isWithin("::ffff:198.51.100.7"))
    expect(one.filter(Boolean).length).toBe(200)
    expect(isWithin("198.51.100.8")).toBe(false)
  })
})

describe("served zones", () => {
  it("batch lookups, load each domain once, and answer from memory while the database is away", async () => {
    const time = new Time()
    const lookups: (readonly string[])[] = []
    let isAway = false
    const faults: unknown[] = []
    const zones = openServedZones({
      pacer: time.pacer,
      load: async (apexes) => {
        if (isAway) throw new Error("the database is away")
        lookups.push(apexes)
        return apexes.map((apex) => (apex === "acme.com" ? ZONE : null))
      },
      fixed: [],
      onError: (error) => faults.push(error),
    })
    const names = ["acme.com", "a.other.com"]
    const [found, other] = await Promise.all(names.map((name) => zones.findZone(name)))
    expect(found).toMatchObject({ zone: ZONE })
    expect(other).toBeNull()
    expect(lookups).toEqual([["acme.com", "other.com"]])
    // A name below a known one needs no lookup.
    expect(zones.findZone("random-1.b.acme.com")).toBe(found)
    expect(zones.findZone("random-2.other.com")).toBeNull()
    time.now += 2_000
    isAway = true
    expect(await zones.findZone("acme.com")).toBe(found)
    expect(await zones.findZone("never-asked.com")).toBe("busy")
    expect(faults.length).toBe(2)
  })

  it("have at most 2,000 lookups pending, however many names are queried", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let largestBatch = 0
    const zones = openServedZones({
      pacer: new Time().pacer,
      load: async (apexes) => {
        largestBatch = Math.max(largestBatch, apexes.length)
        await promise
        return apexes.map(() => null)
      },
      fixed: [],
      onError: () => undefined,
    })
    const answers = Array.from({ length: 5_000 }, (_, i) => zones.findZone(`n${i}.com`))
    expect(answers.filter((one) => one === "busy").length).toBe(3_000)
    resolve()
    await Promise.all(answers)
    expect(largestBatch).toBe(500)
  })
})

describe("a name server on its sockets", () => {
  const opened: { readonly close: () => Promise<void> }[] = []
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
  })
  const open = async (pacer?: Pacer) => {
    const server = await serveZones([ZONE], pacer)
    opened.push(server)
    return server
  }

  it("sends a network 200 replies per second, and then truncated ones that ask for TCP", async () => {
    const { port } = await open(new Time().pacer)
    const from = async (address: string, count: number) => {
      const socket = createSocket("udp4")
      socket.bind(0, address)
      await once(socket, "listening")
      let cut = 0
      for (let i = 0; i < count; i += 1) {
        const reply = once(socket, "message") as Promise<[Buffer]>
        socket.send(query("acme.com"), port, "127.0.0.1")
        const [bytes] = await reply
        if ((bytes.readUInt8(2) & 0x02) !== 0) cut += 1
      }
      socket.close()
      return cut
    }
    expect(await from("127.9.9.1", 250)).toBe(50)
    expect(await from("127.9.9.2", 10)).toBe(10)
    expect(await from("127.9.8.1", 10)).toBe(0)
  })

  it("answers several queries on one connection in order, even if they arrive in pieces", async () => {
    const { port } = await open()
    const socket = connect(port, "127.0.0.1")
    const bytes = Buffer.concat([query("acme.com"), query("many.acme.com")].map(framePacket))
    for (const byte of bytes.subarray(0, 20)) socket.write(Buffer.from([byte]))
    socket.end(bytes.subarray(20))
    const counts: number[] = []
    for await (const reply of readPackets(socket as AsyncIterable<Buffer>)) {
      counts.push(reply.readUInt16BE(6))
    }
    expect(counts).toEqual([1, 70])
  })

  it("ends its open connections when it closes", async () => {
    const server = await serveZones([ZONE])
    const socket = connect(server.port, "127.0.0.1")
    await once(socket, "connect")
    socket.on("error", () => undefined)
    const ended = once(socket, "close")
    await server.close()
    await ended
    expect(server.faults).toEqual([])
  })

  it("reports a port that is already in use", async () => {
    const { port } = await open()
    const again = import("../../adapters/providers/dns/name-server.ts").then(({ openNameServer }) =>
      openNameServer({
        host: "127.0.0.1",
        port,
        pacer: new Time().pacer,
        zones: { findZone: () => null },
        onError: () => undefined,
      }),
    )
    await expect(again).rejects.toMatchObject({ code: "EADDRINUSE" })
  })
})
