/** Hands connections from the supervisor to a worker, one at a time, and receives them there. */
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import type { FastifyInstance } from "fastify"
import type { ConnectionStart } from "./connection-routing.ts"
import { z } from "zod"

interface PendingConnection {
  readonly start: ConnectionStart
  readonly socket: Socket
  /** The number of the worker that should serve it. */
  readonly homeWorker: number
}

/**
 * Hands connections to a worker. Node does not report connections that were unsent when the worker
 * died, so this process keeps its end of each open until the worker has it.
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

  /** The worker has received the connection that was sent. */
  readonly acknowledge = (): void => {
    this.#close()
    this.#next()
  }

  /**
   * The worker has exited. A connection that it may have received is closed; returns those that
   * were never sent.
   */
  readonly stop = (): readonly PendingConnection[] => {
    this.#close()
    return this.#waiting.splice(0)
  }

  /** Closes this process's end. The connection ends if no other process has it. */
  #close(): void {
    this.#sent?.destroy()
    this.#sent = null
  }

  #next(): void {
    const [connection] = this.#waiting
    // A dead worker is noticed by its exit, and the remaining connections are routed again.
    if (connection === undefined || this.#sent !== null || !this.#child.connected) return
    this.#waiting.shift()
    const { socket, homeWorker, start } = connection
    if (socket.destroyed) return this.#next()
    this.#sent = socket
    const message: SupervisorMessage = { type: "connection", home: homeWorker, head: start.head }
    this.#child.send(message, socket, { keepOpen: true }, () => undefined)
  }
}

/** Calls with this status can be retried in another worker. */
const TRY_AGAIN = 503

export interface ConnectionReceiver {
  readonly receive: (message: SupervisorMessage, socket: Socket | undefined) => void
  /** Resolves when there are no connections. */
  readonly whenEmpty: () => Promise<void>
}

/** Receives connections into an app that is not listening. */
export function openConnectionReceiver(app: FastifyInstance): ConnectionReceiver {
  const homes = new Map<Socket, number>()
  /** Connections with another home worker: they close after the next answer. */
  const leaving = new WeakSet<Socket>()
  const empty = new Set<() => void>()
  app.addHook("onSend", async (request, reply) => {
    const { socket } = request.raw
    const isLeaving = homes.has(socket) && (leaving.has(socket) || reply.statusCode === TRY_AGAIN)
    if (isLeaving) reply.header("connection", "close")
  })
  const serveConnection = (socket: Socket, home: number, head: Uint8Array) => {
    homes.set(socket, home)
    socket.once("close", () => {
      homes.delete(socket)
      if (homes.size === 0) for (const resolve of empty) resolve()
    })
    // A half-closed client may still wait for an answer.
    socket.allowHalfOpen = true
    app.server.emit("connection", socket)
    // Replays the bytes that the supervisor read.
    socket.emit("data", Buffer.from(head))
  }
  return {
    receive: (message, socket) => {
      // A connection that ended on the way has no socket.
      if (message.type === "connection" && socket !== undefined) {
        serveConnection(socket, message.home, message.head)
      }
      if (message.type !== "home") return
      for (const [one, home] of homes) if (home === message.number) leaving.add(one)
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        if (homes.size === 0) return resolve()
        empty.add(resolve)
      }),
  }
}

/** The first message to a worker: which worker it is, and what all workers share. */
export const WorkerAssignment = z.object({
  type: z.literal("assignment"),
  /** The worker's number, from 1. Worker 1 also serves operators and runs the tasks that run once per machine. */
  number: z.int(),
  /** Total number of workers. */
  total: z.int(),
  /** The private socket for internal calls; handed-off connections need no listening socket. */
  socketPath: z.string(),
  url: z.string(),
  databaseUrl: z.string(),
  databaseConnections: z.int(),
  /** The supervisor, which receives stop signals. */
  parentPid: z.int(),
  demo: z.boolean(),
  /** Whether this start created the demo company's week. */
  isSeeded: z.boolean(),
  /** Whether this replaces a worker that has announced the server already. */
  isRestart: z.boolean(),
})

export type WorkerAssignment = z.infer<typeof WorkerAssignment>

/** A later message to a worker. */
export type SupervisorMessage =
  /** The socket sent with it is a connection; `head` was read from it. */
  | { readonly type: "connection"; readonly home: number; readonly head: Uint8Array }
  /** This worker serves again, so connections with it as their home should return to it. */
  | { readonly type: "home"; readonly number: number }
  | { readonly type: "stop" }
  /** A health check. */
  | { readonly type: "ping" }

export type WorkerMessage =
  /** The program is loaded and starts to open the installation. */
  | { readonly type: "loaded" }
  | { readonly type: "ready" }
  /** The answer to a health check. */
  | { readonly type: "pong" }
  /** The connection has arrived. */
  | { readonly type: "received" }
  | { readonly type: "fault"; readonly sentence: string }
