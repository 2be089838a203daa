/** Sites on the loopback, whose names resolve to a public address for the reader under test. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { createServer as createTcpServer } from "node:net"
import { connect as connectTls } from "node:tls"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { ConnectTls, TlsDestination } from "../../adapters/providers/sites/page-request.ts"
import { selfSignedCertificate } from "../support/eventstoredb-server/certificate.ts"
import { newSignal } from "../support/signal.ts"
import type { Signal } from "../support/signal.ts"

/** The public address that a site's name resolves to. */
export const PUBLIC_ADDRESS = "93.184.215.14"

/** Time that passes only when a test advances it. */
export class ManualTime {
  #now = 0
  readonly #due = new Set<{ readonly at: number; readonly end: () => void }>()
  readonly #changes = newSignal()
  /** Resolves once a condition holds; it is checked whenever a timer starts or stops. */
  readonly until = this.#changes.until
  readonly pacer: Pacer = {
    elapsedMs: () => this.#now,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        const pause = { at: this.#now + ms, end: resolve }
        this.#due.add(pause)
        this.#changes.notify()
        signal?.addEventListener("abort", () => {
          this.#due.delete(pause)
          this.#changes.notify()
          resolve()
        })
      }),
  }

  get waiting(): number {
    return this.#due.size
  }

  pass(ms: number): void {
    this.#now += ms
    for (const pause of this.#due) {
      if (pause.at > this.#now) continue
      this.#due.delete(pause)
      pause.end()
    }
  }
}

export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => void

export interface SiteServer {
  readonly port: number
  /** Connects to this site whatever the address is, and trusts its certificate. */
  readonly connect: ConnectTls
  /** The addresses that connections were requested to. */
  readonly destinations: TlsDestination[]
  readonly requests: IncomingMessage[]
  readonly openConnections: () => number
  /** Resolves once a condition holds; it is checked at each connection, its end and each request. */
  readonly until: Signal["until"]
  readonly close: () => Promise<void>
}

/** Opens a site with a certificate for these names. */
export async function openSiteServer(
  handler: SiteHandler,
  names: readonly string[] = ["acme.example", "www.acme.example"],
): Promise<SiteServer> {
  const { certificate, privateKey } = selfSignedCertificate(names)
  const requests: IncomingMessage[] = []
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    requests.push(request)
    handler(request, response)
    notify()
  })
  server.on("tlsClientError", () => undefined)
  const destinations: TlsDestination[] = []
  const { port, sockets, close, notify, until } = await listen(server)
  return {
    port,
    destinations,
    requests,
    until,
    close,
    openConnections: () => sockets.size,
    connect: (to) => {
      destinations.push(to)
      const { servername } = to
      return connectTls({ host: "127.0.0.1", port, servername, ca: certificate })
    },
  }
}

/** Opens a server that accepts connections and never sends a byte. */
export async function openSilentServer(): Promise<SiteServer> {
  const destinations: TlsDestination[] = []
  const silent = createTcpServer((socket) => socket.resume())
  const { port, sockets, close, until } = await listen(silent)
  return {
    port,
    destinations,
    requests: [],
    until,
    close,
    openConnections: () => sockets.size,
    connect: (to) => {
      destinations.push(to)
      return connectTls({ host: "127.0.0.1", port, servername: to.servername })
    },
  }
}

async function listen(server: ReturnType<typeof createTcpServer>) {
  const sockets = new Set<Socket>()
  const { notify, until } = newSignal()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    notify()
    socket.on("error", () => undefined)
    socket.on("close", () => {
      sockets.delete(socket)
      notify()
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, "close")
  }
  return { port, sockets, close, notify, until }
}
