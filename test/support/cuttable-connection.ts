/** A TCP proxy in front of a database, whose connections a test can cut or freeze. */
import { once } from "node:events"
import { type AddressInfo, type Socket, connect, createServer } from "node:net"
import { onTestFinished } from "vitest"

export interface CuttableConnection {
  /** The database's connection string through the proxy. */
  readonly url: string
  /** Cuts all connections and rejects new ones, or accepts connections again. */
  readonly setOpen: (open: boolean) => void
  /** Stops all data without closing anything; new connections are accepted and get no answer. */
  readonly silence: () => void
  /** Resumes after `silence`; delayed data arrives. */
  readonly thaw: () => void
  /** Serves new connections; existing ones stay open and never get data again. */
  readonly failOver: () => void
  /** Closes the proxy and all its connections. */
  readonly close: () => void
}

/** Opens a proxy in front of a database, which closes with the running test. */
export async function cuttableConnection(databaseUrl: string): Promise<CuttableConnection> {
  const proxy = await openCuttableConnection(databaseUrl)
  onTestFinished(() => proxy.close())
  return proxy
}

/** Opens a proxy in front of a database; the caller closes it. */
export async function openCuttableConnection(databaseUrl: string): Promise<CuttableConnection> {
  const { hostname, port } = new URL(databaseUrl)
  const clients = new Set<ProxiedClient>()
  let state: "open" | "silent" | "cut" = "open"
  const server = createServer((near) => {
    if (state === "cut") return void near.destroy()
    const client = new ProxiedClient(near, () => connect(Number(port), hostname))
    clients.add(client)
    near.on("close", () => clients.delete(client))
    if (state === "open") client.go()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    state = "cut"
    for (const client of clients) client.end()
  }
  return {
    url: url.href,
    setOpen: (open) => {
      if (open) state = "open"
      else cut()
    },
    silence: () => {
      state = "silent"
      for (const client of clients) client.halt()
    },
    thaw: () => {
      state = "open"
      for (const client of clients) client.go()
    },
    failOver: () => {
      state = "open"
      for (const client of clients) client.forget()
    },
    close: () => {
      cut()
      server.close()
    },
  }
}

/** A client's connection and the one to the database. */
class ProxiedClient {
  readonly #near: Socket
  readonly #toFar: () => Socket
  #far: Socket | null = null
  #isForgotten = false

  constructor(near: Socket, toFar: () => Socket) {
    this.#near = near
    this.#toFar = toFar
    near.on("error", () => near.destroy())
    near.on("close", () => this.#far?.destroy())
  }

  go(): void {
    if (this.#isForgotten) return
    if (this.#far === null) {
      const far = this.#toFar()
      far.on("error", () => far.destroy())
      far.on("close", () => this.#isForgotten || this.#near.destroy())
      this.#far = far
    }
    this.#near.pipe(this.#far)
    this.#far.pipe(this.#near)
  }

  halt(): void {
    this.#near.unpipe().pause()
    this.#far?.unpipe().pause()
  }

  /** Closes the database's side without closing the client's. */
  forget(): void {
    this.halt()
    this.#isForgotten = true
    this.#far?.destroy()
  }

  end(): void {
    this.#near.destroy()
    this.#far?.destroy()
  }
}
