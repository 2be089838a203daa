/** Questions over TCP: each with its length before it, answered in their order (RFC 7766). */
import { once } from "node:events"
import type { Server, Socket } from "node:net"
import { createServer } from "node:net"
import type { Pacer } from "../../machine/clock/port.ts"

/** So many connections there are at once; further ones are closed. */
const MAX_CONNECTIONS = 200
/** A connection on which no question came for so long is closed. */
const IDLE_MS = 10_000
/** How often that is looked at. */
const IDLE_CHECK_INTERVAL_MS = 1_000

/** Answers one packet; null closes the connection. */
type AnswerPacket = (packet: Buffer) => Buffer | null | Promise<Buffer | null>

/** Answers questions on connections. */
interface TcpServer {
  /** It does not listen yet. */
  readonly server: Server
  /** Resolves once nothing of it is open; connections are cut off. */
  readonly close: () => Promise<void>
}

/** Makes one. */
export function createTcpServer(
  pacer: Pacer,
  answer: AnswerPacket,
  onFault: (error: unknown) => void,
): TcpServer {
  const askedAt = new Map<Socket, number>()
  const server = createServer((socket) => {
    const onAsked = () => askedAt.set(socket, pacer.elapsedMs())
    onAsked()
    socket.once("close", () => askedAt.delete(socket))
    // Strangers' connections end as they like.
    socket.on("error", () => socket.destroy())
    serveConnection(socket, answer, onAsked).catch((error: unknown) => {
      socket.destroy()
      if (!isConnectionError(error)) onFault(error)
    })
  })
  server.maxConnections = MAX_CONNECTIONS
  const closing = new AbortController()
  const closeIdle = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await pacer.pause(IDLE_CHECK_INTERVAL_MS, closing.signal)
      for (const [socket, at] of askedAt) {
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
      for (const socket of askedAt.keys()) socket.destroy()
      await closed
    },
  }
}

/** Reads and answers until the other side ends, or asks what gets no answer. */
async function serveConnection(
  socket: Socket,
  answer: AnswerPacket,
  onAsked: () => void,
): Promise<void> {
  for await (const packet of readPackets(socket as AsyncIterable<Buffer>)) {
    onAsked()
    const reply = await answer(packet)
    if (reply === null) break
    await send(socket, reply)
  }
  socket.destroySoon()
}

/** Resolves once it has left: answers do not gather for those who do not read them. */
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

/** Packets on a connection: each has its length before it (RFC 1035 §4.2.2). */
const LENGTH_BYTES = 2

/** The packets that come, in their order. */
export async function* readPackets(connection: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let come = Buffer.alloc(0)
  // One piece after the other: who sends faster than it is read waits.
  for await (const piece of connection) {
    come = Buffer.concat([come, piece])
    for (let packet = firstPacket(come); packet !== null; packet = firstPacket(come)) {
      come = come.subarray(LENGTH_BYTES + packet.length)
      yield packet
    }
  }
}

/** The first whole packet of what came; null where it is not all there yet. */
function firstPacket(come: Buffer): Buffer | null {
  if (come.length < LENGTH_BYTES) return null
  const end = LENGTH_BYTES + come.readUInt16BE(0)
  return come.length < end ? null : come.subarray(LENGTH_BYTES, end)
}

/** A packet with its length before it. */
export function framePacket(packet: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
