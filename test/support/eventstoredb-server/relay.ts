import { once } from "node:events"
import { type AddressInfo, createServer, connect, type Server, type Socket } from "node:net"

const HOST = "127.0.0.1"

/** A TCP relay between clients and a server, which simulates network faults, a kill and a stop of the server. */
export class ConnectionRelay {
  readonly #targetPort: number
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #server: Server
  #port = 0
  #isFrozen = false
  #accepted = 0

  private constructor(targetPort: number) {
    this.#targetPort = targetPort
    this.#server = this.#listener()
  }

  /** Opens a relay to a port of this machine; listens on a free port by default. */
  static async open(targetPort: number, port = 0): Promise<ConnectionRelay> {
    const relay = new ConnectionRelay(targetPort)
    await relay.#listen(port)
    return relay
  }

  get port(): number {
    return this.#port
  }

  get connections(): number {
    return this.#pairs.size
  }

  get accepted(): number {
    return this.#accepted
  }

  /** Cuts all connections; new ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** Behaves like a stopped process: connections stay open, new ones are accepted, and no data passes. */
  freeze(): void {
    this.#isFrozen = true
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  /** Continues after `freeze`. */
  thaw(): void {
    this.#isFrozen = false
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  /** Behaves like a killed server: cuts all connections and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, "close")
    this.#server.close()
    this.cut()
    await closed
  }

  /** Accepts connections again, on the same port. */
  async accept(): Promise<void> {
    this.#server = this.#listener()
    await this.#listen(this.#port)
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, HOST)
    await once(this.#server, "listening")
    this.#port = (this.#server.address() as AddressInfo).port
  }

  #listener(): Server {
    return createServer((client) => this.#pair(client))
  }

  #pair(client: Socket): void {
    const target = connect(this.#targetPort, HOST)
    const pair = [client, target] as const
    this.#accepted += 1
    this.#pairs.add(pair)
    for (const [from, to] of [pair, [target, client] as const]) {
      from.setNoDelay(true)
      from.on("data", (bytes) => to.write(bytes))
      from.on("close", () => {
        this.#pairs.delete(pair)
        to.destroy()
      })
      // A close follows every error.
      from.on("error", () => undefined)
    }
    if (this.#isFrozen) for (const socket of pair) socket.pause()
  }
}
