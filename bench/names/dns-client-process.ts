/** Run in a process of its own on the same cores: queries over UDP from many networks at an even pace. */
import type { Socket } from "node:dgram"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { performance } from "node:perf_hooks"
import { setTimeout as pause } from "node:timers/promises"
import { decode, encode } from "dns-packet"
import type { DnsLoadResult, DnsLoad } from "./dns-load.ts"

/** Interval at which due queries are sent. */
const SEND_INTERVAL_MS = 5
/** Answers that arrive later than this after the last query are lost. */
const LAST_WAIT_MS = 500
/** Number of query ids. */
const IDS = 65_536

process.on("message", (questions: DnsLoad) => {
  void sendAll(questions).then((answered) => process.send?.(answered))
})

async function sendAll(questions: DnsLoad): Promise<DnsLoadResult> {
  const { port, names, networks, perSecond, forMs } = questions
  const sockets = await Promise.all(Array.from({ length: networks }, (_, n) => socketOf(n)))
  const packets = names.map((name) => encode({ id: 0, questions: [{ type: "A", name }] }))
  const sentAt = new Float64Array(IDS)
  const took: number[] = []
  let [asked, truncated, others] = [0, 0, 0]
  const hear = (packet: Buffer): void => {
    const { id = 0, answers = [], flag_tc: isCut } = decode(packet)
    if (answers.length > 0) took.push((performance.now() - (sentAt[id] ?? 0)) * 1_000)
    else if (isCut) truncated += 1
    else others += 1
  }
  for (const socket of sockets) socket.on("message", hear)
  const begun = performance.now()
  for (let now = begun; now - begun < forMs; now = performance.now()) {
    for (const due = ((now - begun) * perSecond) / 1_000; asked < due; asked += 1) {
      const packet = Buffer.from(packets[asked % packets.length] ?? "")
      packet.writeUInt16BE(asked % IDS, 0)
      sentAt[asked % IDS] = performance.now()
      sockets[asked % sockets.length]?.send(packet, port, "127.0.0.1")
    }
    await pause(SEND_INTERVAL_MS)
  }
  await pause(LAST_WAIT_MS)
  for (const socket of sockets) socket.close()
  took.sort((a, b) => a - b)
  const p99 = took[Math.floor(took.length * 0.99)] ?? 0
  return { asked, whole: took.length, truncated, others, p99 }
}

async function socketOf(network: number): Promise<Socket> {
  const socket = createSocket("udp4")
  socket.bind({ address: `127.0.${network + 1}.1`, port: 0 })
  await once(socket, "listening")
  return socket
}
