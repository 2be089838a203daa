import { once } from "node:events"
import { type AddressInfo, type Socket, connect, createServer } from "node:net"
import { onTestFinished } from "vitest"

/** A way to a database that can be cut, or fall silent. */
export interface CuttableConnection {
  /** The database's address by this way. */
  readonly url: string
  /** Cuts it, with all that go it now, or opens it again. */
  readonly setOpen: (open: boolean) => void
  /** From now on nothing comes through; who comes is let in and hears nothing. Nobody is told. */
  readonly silence: () => void
  /** It was only frozen: everything arrives now. */
  readonly thaw: () => void
  /** Whoever comes from now on is served; who was there before never hears anything again. */
  readonly failOver: () => void
  /** Ends it with all that go it. */
  readonly close: () => void
}

/** Makes a way to a database that can be cut; it ends with the running test. */
export async function cuttableConnection(databaseUrl: string): Promise<CuttableConnection> {
  const way = await openCuttableConnection(databaseUrl)
  onTestFinished(() => way.close())
  return way
}

/** Makes a way to a database that can be cut; whoever made it closes it. */
export async function openCuttableConnection(databaseUrl: string): Promise<CuttableConnection> {
  const { hostname, port } = new URL(databaseUrl)
  const goers = new Set<ProxiedClient>()
  let state: "open" | "silent" | "cut" = "open"
  const server = createServer((near) => {
    if (state === "cut") return void near.destroy()
    const goer = new ProxiedClient(near, () => connect(Number(port), hostname))
    goers.add(goer)
    near.on("close", () => goers.delete(goer))
    if (state === "open") goer.go()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    state = "cut"
    for (const goer of goers) goer.end()
  }
  return {
    url: url.href,
    setOpen: (open) => {
      if (open) state = "open"
      else cut()
    },
    silence: () => {
      state = "silent"
      for (const goer of goers) goer.halt()
    },
    thaw: () => {
      state = "open"
      for (const goer of goers) goer.go()
    },
    failOver: () => {
      state = "open"
      for (const goer of goers) goer.forget()
    },
    close: () => {
      cut()
      server.close()
    },
  }
}

/** Somebody who goes a way to a database. */
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

  /** The database's side ends, and this one does not hear of it. */
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
