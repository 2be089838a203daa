/**
 * Calls whose body is still on its way when the server stops. Nothing is decided of them yet, so
 * nothing is lost with them: their connections are ended after a moment, or one caller that never
 * sends its last byte would hold up the stop for everybody.
 */
import type { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import type { FastifyInstance } from "fastify"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { BODY_WITHIN_MS } from "../routes/declare/body-bounds.ts"
import type { EntryConfig } from "./outgoing.ts"

/** So long a body may come in that was refused before it was read. */
const REFUSED_WITHIN_MS = BODY_WITHIN_MS
/** What is just coming in may still come. */
const BODIES_WITHIN_MS = 1_000

/** Watches the bodies of an app's calls from here on. */
export function endUnreadBodies(app: FastifyInstance, pacer: Pacer): void {
  const unread = new Set<IncomingMessage>()
  const closed = new AbortController()
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    const { "content-length": length, "transfer-encoding": encoding } = raw.headers
    // What has no body is whole at once.
    if (length !== undefined || encoding !== undefined) {
      unread.add(raw)
      const { socket } = raw
      raw.once("close", () => {
        unread.delete(raw)
        // Node ends the connection with it only while the answer is on its way: what nobody reads any
        // more would fill it, and hold up the stop.
        if (!raw.complete && socket instanceof Socket) socket.destroy()
      })
    }
    done()
  })
  // The server itself waits for as long as its slowest route takes: a stranger is not waited for so long.
  app.addHook("onResponse", ({ raw, routeOptions }, _reply, done) => {
    const { client } = routeOptions.config as EntryConfig
    // A person at a terminal sees why only where all that is pushed is taken off.
    if (!raw.complete && !raw.destroyed && client === undefined) {
      const timer = setTimeout(() => raw.destroy(), REFUSED_WITHIN_MS).unref()
      raw.once("close", () => clearTimeout(timer))
    }
    done()
  })
  app.addHook("preClose", async () => {
    void pacer.pause(BODIES_WITHIN_MS, closed.signal).then(() => {
      for (const raw of unread) if (!raw.complete) raw.destroy()
    })
  })
  app.addHook("onClose", async () => closed.abort())
}
