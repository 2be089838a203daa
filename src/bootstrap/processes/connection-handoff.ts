/** The connections on their way from the parent to a process, one at a time, and what becomes of them there. */
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import type { FastifyInstance } from "fastify"
import type { ConnectionStart } from "./connection-routing.ts"
import { z } from "zod"

/** A connection of which so much was read. */
interface PendingConnection {
  readonly start: ConnectionStart
  readonly socket: Socket
  /** The number of the process that it is better off in. */
  readonly homeWorker: number
}

/**
 * Hands connections to a process. Node reports none that it had not sent where that one dies, so this process keeps
 * its own end of each open until the other one has it.
 */
export class ConnectionHandoff {
  readonly #child: ChildProcess
  #waiting: PendingConnection[] = []
  #sent: Socket | null = null

  constructor(child: ChildProcess) {
    this.#child = child
  }

  readonly add = (connection: PendingConnection): void => {
    this.#waiting.push(connection)
    this.#next()
  }

  /** The process has the one that was sent. */
  readonly acknowledge = (): void => {
    this.#close()
    this.#next()
  }

  /**
   * The process has ended. Whose call it may have begun is told so by the end of the connection; answers those
   * that it never saw.
   */
  readonly stop = (): readonly PendingConnection[] => {
    this.#close()
    return this.#waiting.splice(0)
  }

  /** Closes this process's end. The connection ends where no other process has it. */
  #close(): void {
    this.#sent?.destroy()
    this.#sent = null
  }

  #next(): void {
    const [connection] = this.#waiting
    // One that has ended is told of by its exit, at which the others go elsewhere.
    if (connection === undefined || this.#sent !== null || !this.#child.connected) return
    this.#waiting.shift()
    const { socket, homeWorker, start } = connection
    if (socket.destroyed) return this.#next()
    this.#sent = socket
    const message: SupervisorMessage = { is: "connection", home: homeWorker, head: start.head }
    this.#child.send(message, socket, { keepOpen: true }, () => undefined)
  }
}

/** Calls that are told so may go well in another process. */
const TRY_AGAIN = 503

/** What takes them. */
export interface ConnectionReceiver {
  readonly receive: (message: SupervisorMessage, socket: Socket | undefined) => void
  /** Resolves once none is left. */
  readonly whenEmpty: () => Promise<void>
}

/** Takes connections into an app that is not ready yet. */
export function openConnectionReceiver(app: FastifyInstance): ConnectionReceiver {
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
    receive: (message, socket) => {
      // One that ended on its way is not there.
      if (message.is === "connection" && socket !== undefined) {
        takeOne(socket, message.home, message.head)
      }
      if (message.is !== "home") return
      for (const [one, home] of homes) if (home === message.number) leaving.add(one)
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        if (homes.size === 0) return resolve()
        empty.add(resolve)
      }),
  }
}

/** What a process is told first: which of them it is, and what they have together. */
export const WorkerAssignment = z.object({
  is: z.literal("seat"),
  /** 1 for the one that also serves operators, and what a machine has once. */
  number: z.int(),
  /** How many there are. */
  total: z.int(),
  /** Where calls of its own come in: what hands them over is no socket that listens. */
  socketPath: z.string(),
  url: z.string(),
  databaseUrl: z.string(),
  databaseConnections: z.int(),
  /** The parent, which is who is told to stop. */
  parentPid: z.int(),
  demo: z.boolean(),
  isPlayed: z.boolean(),
  /** Whether it was there before, and said everything then. */
  isAgain: z.boolean(),
})

/** The same, read. */
export type WorkerAssignment = z.infer<typeof WorkerAssignment>

/** What a process is told behind that. */
export type SupervisorMessage =
  /** The socket that comes along is one of its connections, of which this was read. */
  | { readonly is: "connection"; readonly home: number; readonly head: Uint8Array }
  /** Connections whose home is that process find it there again. */
  | { readonly is: "home"; readonly number: number }
  | { readonly is: "stop" }
  /** Whether it still answers. */
  | { readonly is: "ask" }

/** What it says. */
export type WorkerMessage =
  /** It is loaded, and opens from now on what it serves from. */
  | { readonly is: "begun" }
  | { readonly is: "ready" }
  /** It does. */
  | { readonly is: "answer" }
  /** The connection that was sent has arrived. */
  | { readonly is: "taken" }
  | { readonly is: "fault"; readonly sentence: string }
