import { once } from "node:events"
import { type AddressInfo, createServer, connect, type Server, type Socket } from "node:net"

const HOST = "127.0.0.1"

/**
 * Stands between clients and a server and does to their connections what a network, a kill or a stop
 * of the server does to them.
 */
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

  /** Listens, on a free port unless one is given, and passes everything on to a port of this machine. */
  static async open(targetPort: number, port = 0): Promise<ConnectionRelay> {
    const relay = new ConnectionRelay(targetPort)
    await relay.#listen(port)
    return relay
  }

  /** Where clients connect. */
  get port(): number {
    return this.#port
  }

  /** How many connections there are now. */
  get connections(): number {
    return this.#pairs.size
  }

  /** How many there were so far. */
  get accepted(): number {
    return this.#accepted
  }

  /** Breaks all connections; new ones are taken. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** As a stopped server: connections stay and new ones are taken, and nothing comes through. */
  freeze(): void {
    this.#isFrozen = true
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  /** Goes on where it was frozen. */
  thaw(): void {
    this.#isFrozen = false
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  /** As a killed server: all connections break and new ones are refused. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, "close")
    this.#server.close()
    this.cut()
    await closed
  }

  /** Takes connections again, on the same port. */
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
    return createServer((client) => this.#join(client))
  }

  #join(client: Socket): void {
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
      // Each error is followed by the close.
      from.on("error", () => undefined)
    }
    if (this.#isFrozen) for (const socket of pair) socket.pause()
  }
}
