/** Sites on the loopback, at names that lead to a public address as far as the reader is told. */
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

/** An address of a site on the Internet. */
export const PUBLIC_ADDRESS = "93.184.215.14"

/** Time that passes where a test says so. */
export class ManualTime {
  #now = 0
  readonly #due = new Set<{ readonly at: number; readonly end: () => void }>()
  readonly #changes = newSignal()
  /** Resolves once a condition holds, looked at whenever others or fewer wait. */
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

  /** How many wait. */
  get waiting(): number {
    return this.#due.size
  }

  /** Lets so many milliseconds pass. */
  pass(ms: number): void {
    this.#now += ms
    for (const pause of this.#due) {
      if (pause.at > this.#now) continue
      this.#due.delete(pause)
      pause.end()
    }
  }
}

/** What a site does with a request. */
export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => void

/** A site on the loopback. */
export interface SiteServer {
  readonly port: number
  /** Connects to it, whatever address is meant, and believes its certificate. */
  readonly connect: ConnectTls
  /** The addresses that were meant. */
  readonly destinations: TlsDestination[]
  readonly requests: IncomingMessage[]
  /** How many connections are open. */
  readonly openConnections: () => number
  /** Resolves once a condition holds, looked at with each connection, its end and each request. */
  readonly until: Signal["until"]
  readonly close: () => Promise<void>
}

/** Opens a site that has a certificate for these names. */
export async function openSiteServer(
  answering: SiteHandler,
  names: readonly string[] = ["acme.example", "www.acme.example"],
): Promise<SiteServer> {
  const { certificate, privateKey } = selfSignedCertificate(names)
  const requests: IncomingMessage[] = []
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    requests.push(request)
    answering(request, response)
    tell()
  })
  server.on("tlsClientError", () => undefined)
  const destinations: TlsDestination[] = []
  const { port, sockets, close, tell, until } = await listening(server)
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

/** A server that takes connections and never says a word. */
export async function openSilentServer(): Promise<SiteServer> {
  const destinations: TlsDestination[] = []
  const silent = createTcpServer((socket) => socket.resume())
  const { port, sockets, close, until } = await listening(silent)
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

async function listening(server: ReturnType<typeof createTcpServer>) {
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
  return { port, sockets, close, tell: notify, until }
}
