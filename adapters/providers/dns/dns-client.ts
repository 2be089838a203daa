/**
 * One question to one server: over UDP with a random id, a socket of its own that hears that server alone,
 * and letters in random case, so that nobody else can answer it; over TCP where the answer was too long.
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

/** A server has so long to answer. */
const TIMEOUT_MS = 2_000
/** A transfer ends at so many records; whoever has more is scanned. */
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

/** A question, and to whom. */
export interface DnsQuestion {
  /** `address:port`; an IPv6 address stands in brackets. */
  readonly server: string
  readonly name: string
  readonly type: RecordType
  readonly isRecursive: boolean
}

/**
 * Asks a name server one question.
 *
 * @throws ProviderUnavailable where the server is not reached, ProviderOutcomeUnknown where it says nothing in time
 */
export async function queryNameServer(pacer: Pacer, question: DnsQuestion): Promise<DecodedPacket> {
  const ended = new AbortController()
  const talk = async (): Promise<DecodedPacket> => {
    const answer = await queryOverUdp(question, ended.signal)
    if (!answer.flag_tc) return answer
    for await (const packet of queryOverTcp(question, ended.signal)) return packet
    throw new ProviderOutcomeUnknown(`the name server ${question.server} ended the connection`)
  }
  return awaitAnswer(pacer, question, ended, talk())
}

/**
 * Asks for a whole zone.
 *
 * @returns what it holds, with its SOA in front and at the end; null where it is refused or too long
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function transferZone(
  pacer: Pacer,
  server: string,
  name: string,
): Promise<readonly Answer[] | null> {
  const ended = new AbortController()
  const question: DnsQuestion = { server, name, type: "AXFR", isRecursive: false }
  const talk = async (): Promise<readonly Answer[] | null> => {
    const records: Answer[] = []
    for await (const { answers = [], flags = 0 } of queryOverTcp(question, ended.signal)) {
      if ((flags & 0xf) !== 0 || answers.length === 0) return null
      records.push(...answers)
      const isWhole = records.length > 1 && records.at(-1)?.type === "SOA"
      if (records.length > MAX_TRANSFER_RECORDS || records[0]?.type !== "SOA") return null
      if (isWhole) return records
    }
    return null
  }
  return awaitAnswer(pacer, question, ended, talk())
}

/** Waits for an answer, and lets go of the socket however that ends. */
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
  throw new ProviderOutcomeUnknown(`the name server ${question.server} said nothing`)
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
      throw new ProviderOutcomeUnknown(`${question.server} answered something else`)
    yield answer
  }
}

/** Where a server is, of `address:port`. */
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

/** Servers repeat the letters as they came (0x20): who did not see the question cannot know them. */
function randomizeCase(name: string): string {
  const random = randomBytes(name.length)
  return [...name].map((one, i) => ((random[i] ?? 0) & 1 ? one.toUpperCase() : one)).join("")
}

/** What bytes say to our question; null where they are no answer to it. */
function matchAnswer(asked: Buffer, bytes: Buffer, over: "udp" | "tcp"): DecodedPacket | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt16BE(0) !== asked.readUInt16BE(0)) return null
  const answer = decodePacket(bytes)
  if (answer === null || !answer.flag_qr) return null
  // The question ends where our OPT begins.
  const question = asked.subarray(HEADER_BYTES, asked.length - OPT_BYTES)
  const isRepeated = bytes.subarray(HEADER_BYTES, HEADER_BYTES + question.length).equals(question)
  if (isRepeated) return answer
  // A refusal may leave it out, and so may the further packets of a transfer.
  const mayLeaveOut = over === "tcp" || ((answer.flags ?? 0) & 0xf) !== 0
  return mayLeaveOut && answer.questions?.length === 0 ? answer : null
}
