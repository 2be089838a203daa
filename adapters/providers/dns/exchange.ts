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
import { ProviderSilent, ProviderUnavailable, inTime } from "../outside.ts"
import { framed, packetsIn } from "./tcp.ts"
import { decoded, MOST_OVER_UDP } from "./replies.ts"

/** A server has so long to answer. */
const WITHIN_MS = 2_000
/** A transfer ends at so many records; whoever has more is scanned. */
const MOST_OF_A_TRANSFER = 5_000
const HEADER_BYTES = 12
const OPT_BYTES = 11
const NOT_REACHED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "EACCES",
])

/** A question, and to whom. */
export interface Question {
  /** `address:port`; an IPv6 address stands in brackets. */
  readonly server: string
  readonly name: string
  readonly type: RecordType
  readonly recurse: boolean
}

/**
 * Asks a name server one question.
 *
 * @throws ProviderUnavailable where the server is not reached, ProviderSilent where it says nothing in time
 */
export async function exchange(pacer: Pacer, question: Question): Promise<DecodedPacket> {
  const ended = new AbortController()
  const talk = async (): Promise<DecodedPacket> => {
    const answer = await overUdp(question, ended.signal)
    if (!answer.flag_tc) return answer
    for await (const packet of overTcp(question, ended.signal)) return packet
    throw new ProviderSilent(`the name server ${question.server} ended the connection`)
  }
  return settled(pacer, question, ended, talk())
}

/**
 * Asks for a whole zone.
 *
 * @returns what it holds, with its SOA in front and at the end; null where it is refused or too long
 * @throws ProviderUnavailable, ProviderSilent
 */
export async function transfer(
  pacer: Pacer,
  server: string,
  name: string,
): Promise<readonly Answer[] | null> {
  const ended = new AbortController()
  const question: Question = { server, name, type: "AXFR", recurse: false }
  const talk = async (): Promise<readonly Answer[] | null> => {
    const records: Answer[] = []
    for await (const { answers = [], flags = 0 } of overTcp(question, ended.signal)) {
      if ((flags & 0xf) !== 0 || answers.length === 0) return null
      records.push(...answers)
      const isWhole = records.length > 1 && records.at(-1)?.type === "SOA"
      if (records.length > MOST_OF_A_TRANSFER || records[0]?.type !== "SOA") return null
      if (isWhole) return records
    }
    return null
  }
  return settled(pacer, question, ended, talk())
}

/** Waits for an answer, and lets go of the socket however that ends. */
async function settled<T>(
  pacer: Pacer,
  { server }: Question,
  ended: AbortController,
  answer: Promise<T>,
): Promise<T> {
  try {
    return await inTime(pacer, `the name server ${server}`, answer, WITHIN_MS)
  } catch (error) {
    if (!NOT_REACHED.has((error as { readonly code?: unknown }).code)) throw error
    throw new ProviderUnavailable(`the name server ${server} cannot be reached`, { cause: error })
  } finally {
    ended.abort()
  }
}

async function overUdp(question: Question, signal: AbortSignal): Promise<DecodedPacket> {
  const { host, port } = placeOf(question.server)
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4")
  signal.addEventListener("abort", () => socket.close(), { once: true })
  const packet = packetOf(question)
  socket.connect(port, host)
  await once(socket, "connect")
  const messages = on(socket, "message", { signal }) as AsyncIterable<[Buffer]>
  socket.send(packet)
  for await (const [bytes] of messages) {
    const answer = answerTo(packet, bytes, "udp")
    if (answer !== null) return answer
  }
  throw new ProviderSilent(`the name server ${question.server} said nothing`)
}

async function* overTcp(question: Question, signal: AbortSignal): AsyncGenerator<DecodedPacket> {
  const socket = connect(placeOf(question.server))
  signal.addEventListener("abort", () => socket.destroy(), { once: true })
  const packet = packetOf(question)
  socket.write(framed(packet))
  for await (const bytes of packetsIn(socket as AsyncIterable<Buffer>)) {
    const answer = answerTo(packet, bytes, "tcp")
    if (answer === null) throw new ProviderSilent(`${question.server} answered something else`)
    yield answer
  }
}

/** Where a server is, of `address:port`. */
function placeOf(server: string): { readonly host: string; readonly port: number } {
  const at = server.lastIndexOf(":")
  return { host: server.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(server.slice(at + 1)) }
}

function packetOf({ name, type, recurse }: Question): Buffer {
  return encode({
    type: "query",
    id: randomInt(65_536),
    flags: recurse ? RECURSION_DESIRED : 0,
    questions: [{ name: inRandomCase(name), type }],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: MOST_OVER_UDP,
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
function inRandomCase(name: string): string {
  const random = randomBytes(name.length)
  return [...name].map((one, i) => ((random[i] ?? 0) & 1 ? one.toUpperCase() : one)).join("")
}

/** What bytes say to our question; null where they are no answer to it. */
function answerTo(asked: Buffer, bytes: Buffer, over: "udp" | "tcp"): DecodedPacket | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt16BE(0) !== asked.readUInt16BE(0)) return null
  const answer = decoded(bytes)
  if (answer === null || !answer.flag_qr) return null
  // The question ends where our OPT begins.
  const question = asked.subarray(HEADER_BYTES, asked.length - OPT_BYTES)
  const isRepeated = bytes.subarray(HEADER_BYTES, HEADER_BYTES + question.length).equals(question)
  if (isRepeated) return answer
  // A refusal may leave it out, and so may the further packets of a transfer.
  const mayLeaveOut = over === "tcp" || ((answer.flags ?? 0) & 0xf) !== 0
  return mayLeaveOut && answer.questions?.length === 0 ? answer : null
}
