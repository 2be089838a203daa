/**
 * Connections that are kept for the next request to the same place: dialling costs more than a page. What
 * answers there answers all of them, so nothing that it leaves in one is news to whom it answers next.
 */
import type { ClientRequestArgs, IncomingMessage } from "node:http"
import { Agent } from "node:http"
import { Socket } from "node:net"
import { Duplex } from "node:stream"

/** So many a place are kept. */
const MAX_IDLE_CONNECTIONS = 16
/** Shorter than servers keep theirs: Node's own five seconds are among the shortest. */
const IDLE_TIMEOUT_MS = 4_000

/** Dials, and never throws; null where nothing listens. */
export type Dial = () => Promise<Duplex | null>

/** What a request is asked over. */
export interface ConnectionOptions extends ClientRequestArgs {
  /** What was dialled just now, if anything was. */
  readonly dialed: Duplex | null
  readonly dial: Dial
}

type ConnectCallback = (error: Error | null, connection: Duplex) => void

class PoolAgent extends Agent {
  constructor() {
    // A time for the whole agent would be set on each connection, and not each is a socket that has one.
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS })
  }

  override createConnection(
    options: ClientRequestArgs,
    told?: ConnectCallback,
  ): Duplex | undefined {
    const { dialed, dial } = options as ConnectionOptions
    if (dialed !== null) return dialed
    void dial().then((connection) => {
      if (connection !== null) told?.(null, connection)
      else told?.(new Error("nothing listens"), new Duplex())
    })
    return undefined
  }

  /** A connection that is no socket has no time after which it ends. */
  override keepSocketAlive(connection: Duplex): boolean {
    if (!(connection instanceof Socket)) return false
    // Its type leaves out that it may say no.
    const isKept: unknown = super.keepSocketAlive(connection)
    connection.setTimeout(IDLE_TIMEOUT_MS)
    return isKept !== false
  }
}

/** Connections, by the names of the places they lead to. */
export class ConnectionPool {
  readonly #agent = new PoolAgent()

  /** Whether one to a place is free. */
  hasIdle(place: string): boolean {
    return (this.#agent.freeSockets[this.#agent.getName(agentAddress(place))] ?? []).length > 0
  }

  /** How a request gets to a place: by one that is free, else by what was dialled, or is then. */
  connectionOptions(place: string, dialed: Duplex | null, dial: Dial): ConnectionOptions {
    return { agent: this.#agent, ...agentAddress(place), dialed, dial }
  }
}

const agentAddress = (place: string) => ({ host: place, port: 80 })

/**
 * Whether a request may be asked over a connection that is kept: it is asked again where that was about to
 * end, so it may do nothing and has no body.
 */
export function canReuseConnection({ method = "GET", headers }: IncomingMessage): boolean {
  const hasBody = "transfer-encoding" in headers || Number(headers["content-length"] ?? 0) > 0
  return (method === "GET" || method === "HEAD") && !hasBody
}
