/**
 * Calls whose body is still on its way when the server stops. Nothing is decided of them yet, so
 * nothing is lost with them: their connections are ended after a moment, or one caller that never
 * sends its last byte would hold up the stop for everybody.
 */
import type { IncomingMessage } from "node:http"
import type { FastifyInstance } from "fastify"
import type { Pacer } from "../../../adapters/clock/port.ts"

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
      raw.once("close", () => unread.delete(raw))
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
