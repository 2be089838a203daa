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

/** What Node has of a socket once it is sent, until the other side has it. */
type Handle = { readonly close: () => void } | null

/** Hands connections to a process. Node tells nobody of those that it had not sent where that one dies. */
export class HandOver {
  readonly #child: ChildProcess
  #waiting: Connection[] = []
  #sent: { readonly handle: Handle } | null = null

  constructor(child: ChildProcess) {
    this.#child = child
  }

  readonly add = (connection: Connection): void => {
    this.#waiting.push(connection)
    this.#next()
  }

  /** The process has the one that was sent. */
  readonly taken = (): void => {
    this.#sent = null
    this.#next()
  }

  /**
   * The process has ended. Whose call it may have begun is told so by the end of the connection; answers those
   * that it never saw.
   */
  readonly ended = (): readonly Connection[] => {
    this.#sent?.handle?.close()
    return this.#waiting.splice(0)
  }

  #next(): void {
    const [connection] = this.#waiting
    // One that has ended is told of by its exit, at which the others go elsewhere.
    if (connection === undefined || this.#sent !== null || !this.#child.connected) return
    this.#waiting.shift()
    const { socket, home, beginning } = connection
    if (socket.destroyed) return this.#next()
    const { _handle: handle } = socket as unknown as { _handle: Handle }
    this.#sent = { handle }
    const message: ToProcess = { is: "connection", home, head: beginning.head }
    this.#child.send(message, socket, { keepOpen: false }, () => undefined)
  }
}
