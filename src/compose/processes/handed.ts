/** Connections that were handed to a process. */
import type { Socket } from "node:net"
import type { FastifyInstance } from "fastify"
import type { ToProcess } from "./messages.ts"

/** Calls that are told so may go well in another process. */
const TRY_AGAIN = 503

/** What takes them. */
export interface Handed {
  readonly take: (message: ToProcess, socket: Socket | undefined) => void
  /** Resolves once none is left. */
  readonly isEmpty: () => Promise<void>
}

/** Takes connections into an app that is not ready yet. */
export function takeHanded(app: FastifyInstance): Handed {
  /** The home of each. */
  const homes = new Map<Socket, number>()
  /** Those that are better off elsewhere: they end with the answer to what they asked. */
  const leaving = new WeakSet<Socket>()
  const empty = new Set<() => void>()
  app.addHook("onSend", async (request, reply) => {
    const { socket } = request.raw
    const isLeaving = homes.has(socket) && (leaving.has(socket) || reply.statusCode === TRY_AGAIN)
    if (isLeaving) reply.header("connection", "close")
  })
  const takeOne = (socket: Socket, home: number, head: Uint8Array) => {
    homes.set(socket, home)
    socket.once("close", () => {
      homes.delete(socket)
      if (homes.size === 0) for (const resolve of empty) resolve()
    })
    // Who says no more may wait for an answer.
    socket.allowHalfOpen = true
    app.server.emit("connection", socket)
    // What the parent read of it, as if it came now.
    socket.emit("data", Buffer.from(head))
  }
  return {
    take: (message, socket) => {
      // One that ended on its way is not there.
      if (message.is === "connection" && socket !== undefined) {
        takeOne(socket, message.home, message.head)
      }
      if (message.is !== "home") return
      for (const [one, home] of homes) if (home === message.number) leaving.add(one)
    },
    isEmpty: () =>
      new Promise((resolve) => {
        if (homes.size === 0) return resolve()
        empty.add(resolve)
      }),
  }
}
