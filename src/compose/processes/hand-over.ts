/** The connections on their way to one process, one at a time: what it has not taken is not lost with it. */
import type { ChildProcess } from "node:child_process"
import type { Socket } from "node:net"
import type { Beginning } from "./beginning.ts"
import type { ToProcess } from "./messages.ts"

/** A connection of which so much was read. */
export interface Connection {
  readonly beginning: Beginning
  readonly socket: Socket
  /** The number of the process that it is better off in. */
  readonly home: number
}

/**
 * Hands connections to a process. Node reports none that it had not sent where that one dies, so this process keeps
 * its own end of each open until the other one has it.
 */
export class HandOver {
  readonly #child: ChildProcess
  #waiting: Connection[] = []
  #sent: Socket | null = null

  constructor(child: ChildProcess) {
    this.#child = child
  }

  readonly add = (connection: Connection): void => {
    this.#waiting.push(connection)
    this.#next()
  }

  /** The process has the one that was sent. */
  readonly taken = (): void => {
    this.#close()
    this.#next()
  }

  /**
   * The process has ended. Whose call it may have begun is told so by the end of the connection; answers those
   * that it never saw.
   */
  readonly ended = (): readonly Connection[] => {
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
    const { socket, home, beginning } = connection
    if (socket.destroyed) return this.#next()
    this.#sent = socket
    const message: ToProcess = { is: "connection", home, head: beginning.head }
    this.#child.send(message, socket, { keepOpen: true }, () => undefined)
  }
}
