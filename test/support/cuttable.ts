import { once } from "node:events"
import { type AddressInfo, type Socket, connect, createServer } from "node:net"
import { onTestFinished } from "vitest"

/** A way to a database that can be cut. */
export interface CuttableWay {
  /** The database's address by this way. */
  readonly url: string
  /** Cuts it, with all that go it now, or opens it again. */
  readonly set: (open: boolean) => void
}

/** Makes a way to a database that can be cut; it ends with the running test. */
export async function cuttable(databaseUrl: string): Promise<CuttableWay> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isOpen = true
  const server = createServer((near) => {
    if (!isOpen) return near.destroy()
    const far = connect(Number(port), hostname)
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      sockets.add(one)
      one.on("error", () => other.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
    return undefined
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => void server.close())
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = String((server.address() as AddressInfo).port)
  const set = (open: boolean) => {
    isOpen = open
    if (!open) for (const socket of sockets) socket.destroy()
  }
  return { url: url.href, set }
}
