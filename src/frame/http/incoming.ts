/** Requests of the web server as calls. */
import type { IncomingMessage } from "node:http"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Fields } from "../routes/as-sent.ts"
import type { Call, SentBody } from "../routes/call.ts"
import { BodyCutOff, BodyTooLarge, BodyTooLate } from "../routes/call.ts"
import type { Route } from "../routes/declare/route.ts"
import type { OneOf } from "../routes/declare/one-of.ts"
import { countedAddress } from "./address.ts"
import { refuseBytes } from "./outside-routes.ts"

/** A request as a call. @param stopping aborted when the server is about to stop */
export function callOf(
  route: Route | OneOf,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): Call {
  const { raw } = request
  const gone = new AbortController()
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return {
    route,
    requestId: request.id,
    params: request.params as Call["params"],
    query: request.query,
    headers: fieldsOf(raw),
    target: request.url,
    body: sentBody(raw),
    // A socket in the file system has no address.
    address: countedAddress(request.ip ?? ""),
    gone: gone.signal,
    stopping,
    who: null,
  }
}

/** Header fields with all their values apart: where two were sent, the server would make one of them. */
export function fieldsOf({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): Fields {
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

/** The body of a request, as it comes. */
export function sentBody(raw: IncomingMessage): SentBody {
  const isThere =
    raw.headers["content-length"] !== undefined || raw.headers["transfer-encoding"] !== undefined
  return {
    bytes: async (mostBytes, withinMs) => (isThere ? readBytes(raw, mostBytes, withinMs) : null),
    pieces: () => raw as AsyncIterable<Uint8Array>,
  }
}

/** Reads a whole body. @throws BodyTooLarge, BodyCutOff, BodyTooLate */
async function readBytes(
  raw: IncomingMessage,
  mostBytes: number,
  withinMs: number,
): Promise<Uint8Array> {
  const said = raw.headers["content-length"]
  if (said !== undefined && Number(said) > mostBytes) throw new BodyTooLarge(`${said} bytes`)
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const pieces: Buffer[] = []
  let length = 0
  const onData = (piece: Buffer): void => {
    length += piece.length
    if (length > mostBytes) reject(new BodyTooLarge(`more than ${mostBytes} bytes`))
    else pieces.push(piece)
  }
  const onEnd = (): void => {
    const isWhole = said === undefined || Number(said) === length
    if (isWhole) resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))
    else reject(new BodyCutOff(`${length} bytes of ${said}`))
  }
  const onLost = (): void => {
    // It closes behind its end as well, where an error would be made for nobody.
    if (!raw.readableEnded) reject(new BodyCutOff("its sender is gone"))
  }
  const timer = setTimeout(() => {
    refuseBytes({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, raw.socket)
    reject(new BodyTooLate(`not within ${withinMs} ms`))
  }, withinMs).unref()
  raw.on("data", onData).on("end", onEnd).on("error", onLost).on("close", onLost)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    raw.off("data", onData).off("end", onEnd).off("error", onLost).off("close", onLost)
    // What still comes is of no use to anybody.
    if (!raw.complete) raw.resume()
  }
}
