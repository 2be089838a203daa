/** Doors in the app: what comes to their host names is theirs, before anything else looks at it. */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import type { FastifyInstance } from "fastify"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { countedAddress } from "./incoming.ts"
import type { Alias, Door } from "./hosts.ts"
import { doorOf, hostOf, ledTo, ownTarget } from "./hosts.ts"
import { NO_UPGRADE, TWO_HOSTS, hostRefusal, refuseBytes } from "./outside-routes.ts"
import { sendRefusal } from "./outgoing.ts"

/** What the router sees of what is a door's: a path that is no route, and that it never refuses itself. */
export const DOOR_TARGET = "/door"

/** What just ends when the server stops may still end by itself. */
const ENDS_WITHIN_MS = 1_000

/**
 * Hands what comes to a door's host names to that door. It may go on for ever, as events and web sockets
 * do: once the server stops, it is ended after a moment, or one visitor would hold up the stop.
 */
export function addDoors(
  app: FastifyInstance,
  { doors, aliases }: { readonly doors: readonly Door[]; readonly aliases: readonly Alias[] },
  pacer: Pacer,
): void {
  const open = new Set<{ readonly destroy: () => unknown }>()
  const closed = new AbortController()
  app.addHook("onRequest", async (request, reply) => {
    const host = hostOf(request.raw)
    const door = doorOf(doors, host)
    if (door === null) return
    const isSecure = request.protocol === "https"
    const origin = { address: countedAddress(request.ip), isSecure }
    if (ledTo(aliases, host) !== null) return door.passes?.(request.raw, origin)
    request.raw.url = request.originalUrl
    const refused = hostRefusal(request.raw)
    if (refused !== null) return sendRefusal(reply, refused)
    request.raw.url = ownTarget(request.originalUrl)
    // From here on the answer is the door's.
    void reply.hijack()
    const { raw } = reply
    open.add(raw)
    raw.once("close", () => open.delete(raw))
    door.serve(request.raw, raw, origin)
  })
  app.addHook("preClose", async () => {
    void pacer.pause(ENDS_WITHIN_MS, closed.signal).then(() => {
      for (const one of open) one.destroy()
    })
  })
  app.addHook("onClose", async () => closed.abort())
  // Before 24.9 Node asks for every one, as soon as anybody listens.
  if (doors.every(({ upgrade }) => upgrade === undefined)) return
  app.server.on("upgrade", (request, socket: Socket, head) => {
    const take = upgradeOf(doors, request)
    if (take === null) return refuseBytes({ code: NO_UPGRADE }, socket)
    if (hostRefusal(request) !== null) return refuseBytes({ code: TWO_HOSTS }, socket)
    request.url = ownTarget(request.url ?? "/")
    // Who leaves in the middle says so by an error, which is nobody's fault here.
    socket.on("error", () => socket.destroy())
    open.add(socket)
    socket.once("close", () => open.delete(socket))
    return take(request, socket, head)
  })
}

/** Who takes a connection that is to speak another protocol; null where nobody does. */
export function upgradeOf(
  doors: readonly Door[],
  request: IncomingMessage,
): NonNullable<Door["upgrade"]> | null {
  return doorOf(doors, hostOf(request))?.upgrade ?? null
}
