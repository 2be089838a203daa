/**
 * Sends one question to one name server. UDP questions use a random id, a connected socket and
 * random letter case, so that other hosts cannot forge an answer; long answers are fetched over
 * TCP.
 */
import { randomBytes, randomInt } from "node:crypto"
import { createSocket } from "node:dgram"
import { on, once } from "node:events"
import { connect, isIPv6 } from "node:net"
import type { Answer, DecodedPacket, RecordType } from "dns-packet"
import { RECURSION_DESIRED, encode } from "dns-packet"
import type { Pacer } from "../../machine/clock/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
} from "../provider-errors.ts"
import { framePacket, readPackets } from "./tcp.ts"
import { decodePacket, MAX_UDP_REPLY_BYTES } from "./wire-format.ts"

const TIMEOUT_MS = 2_000
/** Maximum number of records in a transfer; larger zones are scanned by name instead. */
const MAX_TRANSFER_RECORDS = 5_000
const HEADER_BYTES = 12
const OPT_BYTES = 11
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "EACCES",
])

export interface DnsQuestion {
  /** `address:port`; IPv6 addresses in brackets. */
  readonly server: string
  readonly name: string
  readonly type: RecordType
  readonly isRecursive: boolean
}

/**
 * Asks a name server one question.
 *
 * @throws ProviderUnavailable if the server cannot be reached, ProviderOutcomeUnknown if it does
 * not answer in time
 */
export async function queryNameServer(pacer: Pacer, question: DnsQuestion): Promise<DecodedPacket> {
  const ended = new AbortController()
  const exchange = async (): Promise<DecodedPacket> => {
    const answer = await queryOverUdp(question, ended.signal)
    if (!answer.flag_tc) return answer
    for await (const packet of queryOverTcp(question, ended.signal)) return packet
    throw new ProviderOutcomeUnknown(`the name server ${question.server} ended the connection`)
  }
  return awaitAnswer(pacer, question, ended, exchange())
}

/**
 * Transfers a whole zone.
 *
 * @returns its records, with the SOA first and last; null if the server refuses or the zone is too
 * long
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function transferZone(
  pacer: Pacer,
  server: string,
  name: string,
): Promise<readonly Answer[] | null> {
  const ended = new AbortController()
  const question: DnsQuestion = { server, name, type: "AXFR", isRecursive: false }
  const exchange = async (): Promise<readonly Answer[] | null> => {
    const records: Answer[] = []
    for await (const { answers = [], flags = 0 } of queryOverTcp(question, ended.signal)) {
      if ((flags & 0xf) !== 0 || answers.length === 0) return null
      records.push(...answers)
      const isComplete = records.length > 1 && records.at(-1)?.type === "SOA"
      if (records.length > MAX_TRANSFER_RECORDS || records[0]?.type !== "SOA") return null
      if (isComplete) return records
    }
    return null
  }
  return awaitAnswer(pacer, question, ended, exchange())
}

/** Waits for an answer and closes the socket in any case. */
async function awaitAnswer<T>(
  pacer: Pacer,
  { server }: DnsQuestion,
  ended: AbortController,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await withProviderTimeout(pacer, `the name server ${server}`, answer, TIMEOUT_MS)
  } catch (error) {
    if (!UNREACHABLE_CODES.has((error as { readonly code?: unknown }).code)) throw error
    throw new ProviderUnavailable(`the name server ${server} cannot be reached`, { cause: error })
  } finally {
    ended.abort()
  }
}

async function queryOverUdp(question: DnsQuestion, signal: AbortSignal): Promise<DecodedPacket> {
  const { host, port } = parseServer(question.server)
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4")
  signal.addEventListener("abort", () => socket.close(), { once: true })
  const packet = encodeQuestion(question)
  socket.connect(port, host)
  await once(socket, "connect")
  const messages = on(socket, "message", { signal }) as AsyncIterable<[Buffer]>
  socket.send(packet)
  for await (const [bytes] of messages) {
    const answer = matchAnswer(packet, bytes, "udp")
    if (answer !== null) return answer
  }
  throw new ProviderOutcomeUnknown(`the name server ${question.server} did not answer`)
}

async function* queryOverTcp(
  question: DnsQuestion,
  signal: AbortSignal,
): AsyncGenerator<DecodedPacket> {
  const socket = connect(parseServer(question.server))
  signal.addEventListener("abort", () => socket.destroy(), { once: true })
  const packet = encodeQuestion(question)
  socket.write(framePacket(packet))
  for await (const bytes of readPackets(socket as AsyncIterable<Buffer>)) {
    const answer = matchAnswer(packet, bytes, "tcp")
    if (answer === null)
      throw new ProviderOutcomeUnknown(`${question.server} answered a different question`)
    yield answer
  }
}

function parseServer(server: string): { readonly host: string; readonly port: number } {
  const at = server.lastIndexOf(":")
  return { host: server.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(server.slice(at + 1)) }
}

function encodeQuestion({ name, type, isRecursive }: DnsQuestion): Buffer {
  return encode({
    type: "query",
    id: randomInt(65_536),
    flags: isRecursive ? RECURSION_DESIRED : 0,
    questions: [{ name: randomizeCase(name), type }],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: MAX_UDP_REPLY_BYTES,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  })
}

/** Servers repeat the letter case of the question (0x20), which a forger cannot know. */
function randomizeCase(name: string): string {
  const random = randomBytes(name.length)
  return [...name].map((one, i) => ((random[i] ?? 0) & 1 ? one.toUpperCase() : one)).join("")
}

/** Decodes an answer to our question; null if the bytes do not answer it. */
function matchAnswer(sentPacket: Buffer, bytes: Buffer, over: "udp" | "tcp"): DecodedPacket | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt16BE(0) !== sentPacket.readUInt16BE(0))
    return null
  const answer = decodePacket(bytes)
  if (answer === null || !answer.flag_qr) return null
  // The question ends where our OPT record begins.
  const question = sentPacket.subarray(HEADER_BYTES, sentPacket.length - OPT_BYTES)
  const isRepeated = bytes.subarray(HEADER_BYTES, HEADER_BYTES + question.length).equals(question)
  if (isRepeated) return answer
  // Error replies and the later packets of a transfer may omit the question.
  const mayLeaveOut = over === "tcp" || ((answer.flags ?? 0) & 0xf) !== 0
  return mayLeaveOut && answer.questions?.length === 0 ? answer : null
}
