/** Converts requests of the web server to API calls. */
import { rateLimitAddress, refuseMalformedRequest } from "./host-routes.ts"
import type { IncomingMessage } from "node:http"
import type { FastifyReply, FastifyRequest, FastifyInstance } from "fastify"
import type { HeaderFields, Route } from "../routes/declare/route.ts"
import { BODY_TIMEOUT_MS } from "../routes/declare/route.ts"
import type { ApiCall, IncomingBody } from "../routes/api-call.ts"
import { BodyCutOff, BodyTooLarge, BodyTooLate } from "../routes/api-call.ts"
import type { RouteVariants } from "../routes/declare/route-variants.ts"
import { Socket } from "node:net"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { EntryConfig } from "./responses.ts"

/** How long the unread body of a rejected request may still arrive. */
const REFUSED_WITHIN_MS = BODY_TIMEOUT_MS

/** How long bodies in transit may still arrive during shutdown. */
const BODY_GRACE_MS = 1_000

/** Converts a request to an API call. @param stopping aborted when the server is about to stop */
export function callFromRequest(
  route: Route | RouteVariants,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): ApiCall {
  const { raw } = request
  const gone = new AbortController()
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return {
    route,
    requestId: request.id,
    params: request.params as ApiCall["params"],
    query: request.query,
    headers: headerFieldsOf(raw),
    target: request.url,
    body: incomingBodyOf(raw),
    // A Unix socket has no address.
    address: rateLimitAddress(request.ip ?? ""),
    callerGone: gone.signal,
    stopping,
    identify: null,
  }
}

/** Collects the header fields with all of their values: the server would join repeated ones. */
export function headerFieldsOf({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): HeaderFields {
  const fields: Record<string, string[]> = Object.create(null) as Record<string, string[]>
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const value = rawHeaders[i + 1] as string
    const former = fields[name]
    if (former === undefined) fields[name] = [value]
    else former.push(value)
  }
  return fields
}

/** Returns a reader of the request's body. */
export function incomingBodyOf(raw: IncomingMessage): IncomingBody {
  const isThere =
    raw.headers["content-length"] !== undefined || raw.headers["transfer-encoding"] !== undefined
  return {
    bytes: async (mostBytes, withinMs) => (isThere ? readBytes(raw, mostBytes, withinMs) : null),
    chunks: () => raw as AsyncIterable<Uint8Array>,
  }
}

/** Reads a whole body. @throws BodyTooLarge, BodyCutOff, BodyTooLate */
async function readBytes(
  raw: IncomingMessage,
  mostBytes: number,
  withinMs: number,
): Promise<Uint8Array> {
  const declared = raw.headers["content-length"]
  if (declared !== undefined && Number(declared) > mostBytes) throw new BodyTooLarge(mostBytes)
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const pieces: Buffer[] = []
  let length = 0
  const onData = (piece: Buffer): void => {
    length += piece.length
    if (length > mostBytes) reject(new BodyTooLarge(mostBytes))
    else pieces.push(piece)
  }
  const onEnd = (): void => {
    const isWhole = declared === undefined || Number(declared) === length
    if (isWhole) resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
    else reject(new BodyCutOff(`${length} bytes of ${declared}`))
  }
  const onLost = (): void => {
    // The stream also closes after its end; creating an error then would be wasted work.
    if (!raw.readableEnded) reject(new BodyCutOff("the client disconnected"))
  }
  const timer = setTimeout(() => {
    refuseMalformedRequest({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, raw.socket)
    reject(new BodyTooLate(`not within ${withinMs} ms`))
  }, withinMs).unref()
  raw.on("data", onData).on("end", onEnd).on("error", onLost).on("close", onLost)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    raw.off("data", onData).off("end", onEnd).off("error", onLost).off("close", onLost)
    // Discard the rest of the body.
    if (!raw.complete) raw.resume()
  }
}

/** Closes connections whose request bodies stay unread, after a rejection or during shutdown. */
export function closeUnreadBodies(app: FastifyInstance, pacer: Pacer): void {
  const unread = new Set<IncomingMessage>()
  const closed = new AbortController()
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    const { "content-length": length, "transfer-encoding": encoding } = raw.headers
    // A request without a body is complete.
    if (length !== undefined || encoding !== undefined) {
      unread.add(raw)
      const { socket } = raw
      raw.once("close", () => {
        unread.delete(raw)
        // Node closes the connection only while the answer is in transit; an unread body would fill the
        // buffer and delay the shutdown.
        if (!raw.complete && socket instanceof Socket) socket.destroy()
      })
    }
    done()
  })
  // The server's own timeout fits its slowest route, which is too long for a rejected client.
  app.addHook("onResponse", ({ raw, routeOptions }, _reply, done) => {
    const { nonApiClient } = routeOptions.config as EntryConfig
    // Git shows the error only after its whole push was read.
    if (!raw.complete && !raw.destroyed && nonApiClient === undefined) {
      const timer = setTimeout(() => raw.destroy(), REFUSED_WITHIN_MS).unref()
      raw.once("close", () => clearTimeout(timer))
    }
    done()
  })
  app.addHook("preClose", async () => {
    void pacer.pause(BODY_GRACE_MS, closed.signal).then(() => {
      for (const raw of unread) if (!raw.complete) raw.destroy()
    })
  })
  app.addHook("onClose", async () => closed.abort())
}
