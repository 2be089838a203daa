/** DNS over TCP: each packet follows its length; questions are answered in order (RFC 7766). */
import { once } from "node:events"
import type { Server, Socket } from "node:net"
import { createServer } from "node:net"
import type { Pacer } from "../../machine/clock/port.ts"

/** Maximum number of open connections; further ones are closed. */
const MAX_CONNECTIONS = 200
/** A connection without a question for this long is closed. */
const IDLE_MS = 10_000
const IDLE_CHECK_INTERVAL_MS = 1_000

/** Answers one packet; null closes the connection. */
type AnswerPacket = (packet: Buffer) => Buffer | null | Promise<Buffer | null>

/** Answers questions on TCP connections. */
interface TcpServer {
  /** Not listening yet. */
  readonly server: Server
  /** Cuts off all connections and resolves when they are closed. */
  readonly close: () => Promise<void>
}

/** Creates the server. */
export function createTcpServer(
  pacer: Pacer,
  answer: AnswerPacket,
  onError: (error: unknown) => void,
): TcpServer {
  const lastQuestionAt = new Map<Socket, number>()
  const server = createServer((socket) => {
    const onQuestion = () => lastQuestionAt.set(socket, pacer.elapsedMs())
    onQuestion()
    socket.once("close", () => lastQuestionAt.delete(socket))
    // Errors of clients' connections are not ours to report.
    socket.on("error", () => socket.destroy())
    serveConnection(socket, answer, onQuestion).catch((error: unknown) => {
      socket.destroy()
      if (!isConnectionError(error)) onError(error)
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  const closing = new AbortController()
  const closeIdle = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await pacer.pause(IDLE_CHECK_INTERVAL_MS, closing.signal)
      for (const [socket, at] of lastQuestionAt) {
        if (pacer.elapsedMs() - at >= IDLE_MS) socket.destroy()
      }
    }
  }
  server.once("listening", () => void closeIdle())
  return {
    server,
    close: async () => {
      closing.abort()
      const closed = once(server, "close")
      server.close()
      for (const socket of lastQuestionAt.keys()) socket.destroy()
      await closed
    },
  }
}

/** Answers questions until the client ends, or asks one that gets no answer. */
async function serveConnection(
  socket: Socket,
  answer: AnswerPacket,
  onQuestion: () => void,
): Promise<void> {
  for await (const packet of readPackets(socket as AsyncIterable<Buffer>)) {
    onQuestion()
    const reply = await answer(packet)
    if (reply === null) break
    await send(socket, reply)
  }
  socket.destroySoon()
}

/** Resolves when the reply is sent, so that replies to slow readers do not pile up. */
function send(socket: Socket, reply: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(framePacket(reply), (error) => (error ? reject(error) : resolve()))
  })
}

const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"].includes(
    String(error.code),
  )

/** Bytes of the length prefix (RFC 1035 §4.2.2). */
const LENGTH_BYTES = 2

/** The packets of a connection, in order. */
export async function* readPackets(connection: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let received = Buffer.alloc(0)
  // One chunk at a time: a fast sender has to wait.
  for await (const chunk of connection) {
    received = Buffer.concat([received, chunk])
    for (let packet = firstPacket(received); packet !== null; packet = firstPacket(received)) {
      received = received.subarray(LENGTH_BYTES + packet.length)
      yield packet
    }
  }
}

/** The first complete packet; null if more bytes are needed. */
function firstPacket(received: Buffer): Buffer | null {
  if (received.length < LENGTH_BYTES) return null
  const end = LENGTH_BYTES + received.readUInt16BE(0)
  return received.length < end ? null : received.subarray(LENGTH_BYTES, end)
}

/** Puts the length prefix before a packet. */
export function framePacket(packet: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
