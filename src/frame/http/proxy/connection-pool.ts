/**
 * Connections that are reused for the next request to the same target, because dialing costs more than a page.
 * The same server answers all of them, so reuse reveals nothing new to it.
 */
import type { ClientRequestArgs, IncomingMessage } from "node:http"
import { Agent } from "node:http"
import { Socket } from "node:net"
import { Duplex } from "node:stream"

/** Maximum number of idle connections per target. */
const MAX_IDLE_CONNECTIONS = 16
/** Shorter than the keep-alive of common servers; Node's five seconds are among the shortest. */
const IDLE_TIMEOUT_MS = 4_000

/** Dials a connection; null if nothing listens. Never throws. */
export type Dial = () => Promise<Duplex | null>

export interface ConnectionOptions extends ClientRequestArgs {
  /** A connection that was just dialed; null for none. */
  readonly dialed: Duplex | null
  readonly dial: Dial
}

type ConnectCallback = (error: Error | null, connection: Duplex) => void

class PoolAgent extends Agent {
  constructor() {
    // An agent timeout would apply to every connection, and some are not sockets.
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS })
  }

  override createConnection(
    options: ClientRequestArgs,
    onConnected?: ConnectCallback,
  ): Duplex | undefined {
    const { dialed, dial } = options as ConnectionOptions
    if (dialed !== null) return dialed
    void dial().then((connection) => {
      if (connection !== null) onConnected?.(null, connection)
      else onConnected?.(new Error("nothing listens"), new Duplex())
    })
    return undefined
  }

  /** Keeps sockets only: other connections have no idle timeout. */
  override keepSocketAlive(connection: Duplex): boolean {
    if (!(connection instanceof Socket)) return false
    // The declared type is void, but the method returns false for a connection that it rejects.
    const isKept: unknown = super.keepSocketAlive(connection)
    connection.setTimeout(IDLE_TIMEOUT_MS)
    return isKept !== false
  }
}

/** Reusable connections, by target. */
export class ConnectionPool {
  readonly #agent = new PoolAgent()

  /** Whether an idle connection to a target is available. */
  hasIdle(target: string): boolean {
    return (this.#agent.freeSockets[this.#agent.getName(agentAddress(target))] ?? []).length > 0
  }

  /** Returns options for a request: an idle connection, else the dialed one, else a new one. */
  connectionOptions(target: string, dialed: Duplex | null, dial: Dial): ConnectionOptions {
    return { agent: this.#agent, ...agentAddress(target), dialed, dial }
  }
}

const agentAddress = (target: string) => ({ host: target, port: 80 })

/**
 * Whether a request may use a reused connection: if that was about to close, the request is sent again, so it
 * must be safe and have no body.
 */
export function canReuseConnection({ method = "GET", headers }: IncomingMessage): boolean {
  const hasBody = "transfer-encoding" in headers || Number(headers["content-length"] ?? 0) > 0
  return (method === "GET" || method === "HEAD") && !hasBody
}
