/** Sends answers through the web server. */
import { once } from "node:events"
import { PassThrough, Readable } from "node:stream"
import type { FastifyReply, FastifyInstance, FastifyRequest } from "fastify"
import type { AnswerTrace, TracedAnswer } from "../routes/answers/answer.ts"
import { answerForClient, refusalAnswer } from "../routes/answers/answer.ts"
import type { ErrorFormat, NonApiClient } from "../routes/declare/route.ts"
import { applyErrorFormat } from "../routes/declare/route.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import type { RangedBytes, StreamedFile } from "../routes/answers/answer-bodies.ts"
import type { Log } from "../kernel/log.ts"
import type { Ports } from "../ports.ts"
import type { IncomingHttpHeaders } from "node:http"
import { parse } from "range-parser"

/** The `range-parser` flag for a part that is not satisfiable. */
const UNSATISFIABLE_FLAG = 1

/** A range of bytes, `until` exclusive. */
interface ByteRange {
  readonly from: number
  readonly until: number
}

const refusedReplies = new WeakMap<FastifyReply, string>()
const traces = new WeakMap<FastifyReply, AnswerTrace>()

/** Returns the caller and charge of an answer; null if no route was called. */
function traceOf(reply: FastifyReply): AnswerTrace | null {
  return traces.get(reply) ?? null
}

/** Returns the error code of a rejected request; null if it was accepted. */
export function sentRefusalCode(reply: FastifyReply): string | null {
  return refusedReplies.get(reply) ?? null
}

/** Sends an answer; resolves when it is handed over, or the client disconnects. */
export async function sendAnswer(
  reply: FastifyReply,
  answer: TracedAnswer,
  log: Log,
): Promise<void> {
  const { status, headers, body, error, trace } = answer
  traces.set(reply, trace)
  if (error !== null) refusedReplies.set(reply, error)
  void reply.code(status).headers(headers)
  // The framework would serialize null as JSON.
  if (body === null) void reply.send(undefined)
  else if (typeof body === "string") void reply.send(body)
  else if ("write" in body) await sendFile(reply, body, log)
  else sendBytes(reply, body, log)
}

export interface EntryConfig {
  /** Set if the entry serves other clients than those of the API. */
  readonly nonApiClient?: NonApiClient
  /** Set if its refusals have another format than those of the API. */
  readonly errorFormat?: ErrorFormat
}

/**
 * Sends a refusal without a route. A hook must return the reply, so that the framework waits for it instead of
 * calling the route.
 */
export function sendRefusal(reply: FastifyReply, why: Refusal): FastifyReply {
  const { nonApiClient, errorFormat } = reply.request.routeOptions.config as EntryConfig
  const answer = answerForClient(nonApiClient, refusalAnswer(why))
  const { status, headers, body, error } = applyErrorFormat(errorFormat, answer, undefined)
  if (error !== null) refusedReplies.set(reply, error)
  // A request rejected now may succeed next time, so no proxy may store this.
  return reply.code(status).header("cache-control", "no-store").headers(headers).send(body)
}

/** Sends the requested part of stored bytes. */
function sendBytes(reply: FastifyReply, { size, read, ...sent }: RangedBytes, log: Log): void {
  const { method, headers } = reply.request
  const tag = sent.etag === undefined ? null : `"${sent.etag}"`
  // A HEAD request has no ranges.
  const part = method === "HEAD" ? null : byteRangeOf(headers, size, tag)
  if (part === "none") return sendRangeNotSatisfiable(reply, size)
  const { from, until } = part ?? { from: 0, until: size }
  void reply.code(part === null ? 200 : 206).headers({
    "accept-ranges": "bytes",
    "content-length": String(until - from),
    ...sent.headers,
    ...(tag === null ? {} : { etag: tag }),
    ...(part === null ? {} : { "content-range": `bytes ${from}-${until - 1}/${size}` }),
  })
  const bytes = Readable.from(method === "HEAD" ? [] : read(from, until))
  // The error cuts the connection off; the log is the only other trace.
  bytes.on("error", (error) => log.warn("a download was cut off", error))
  void reply.type(sent.mediaType).send(bytes)
}

function sendRangeNotSatisfiable(reply: FastifyReply, size: number): void {
  const message = `The requested range is outside the file, which has ${size} bytes.`
  const why = refusal("range_not_satisfiable", message)
  const { status, headers, body } = refusalAnswer(why)
  refusedReplies.set(reply, why.error)
  void reply
    .code(status)
    .headers({ ...headers, "content-range": `bytes */${size}` })
    .send(body)
}

/** Sends a file while it is produced; resolves at its end, or when the client disconnects. */
async function sendFile(reply: FastifyReply, file: StreamedFile, log: Log): Promise<void> {
  const { mediaType, name, write } = file
  const stream = new PassThrough()
  const gone = new AbortController()
  stream.once("close", () => gone.abort())
  // The stream's reader sees the error too; it is logged below.
  stream.on("error", () => undefined)
  if (name !== null) void reply.header("content-disposition", `attachment; filename="${name}"`)
  void reply.header("content-type", mediaType).send(stream)
  const { signal } = gone
  const send = async (piece: string | Uint8Array) => {
    if (!stream.write(piece)) await once(stream, "drain", { signal })
  }
  try {
    await write({ send, progress: () => undefined, signal })
    stream.end()
  } catch (error) {
    if (signal.aborted) return
    log.warn(`a response (${name ?? mediaType}) was cut off`, error)
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Returns a function that runs `work` at most once per period and reuses its result in between. */
export function cachedFor<T>(
  periodMs: number,
  { pacer }: Pick<Ports, "pacer">,
  work: () => Promise<T>,
): () => Promise<T> {
  let cached: Promise<T> | null = null
  let since = 0
  return () => {
    const now = pacer.elapsedMs()
    if (cached === null || now - since >= periodMs) {
      since = now
      cached = work()
    }
    return cached
  }
}

/**
 * Returns the requested range; null for all bytes: without a valid single range, or if the bytes have changed.
 * `none` if the range is outside the bytes.
 *
 * @param tag the `ETag` with its quotes; null if the bytes have none
 */
export function byteRangeOf(
  { range, "if-range": expectedTag }: IncomingHttpHeaders,
  size: number,
  tag: string | null,
): ByteRange | "none" | null {
  if (range === undefined || (expectedTag !== undefined && expectedTag !== tag)) return null
  const { type, code, ranges } = parse(size, range)
  const [only, ...others] = ranges
  if (type !== "bytes" || (code & UNSATISFIABLE_FLAG) !== 0 || others.length > 0) return null
  if (only !== undefined) {
    // Several ranges were requested and only one of them exists.
    return code === 0 ? { from: only.start, until: only.end + 1 } : null
  }
  return code === 0 ? null : "none"
}

/**
 * Logs requests, without bodies, queries, keys, numbers and names of people.
 *
 * @param share of successful requests to log, 0 to 1; rejected and failed ones are always logged
 * @param quiet paths that monitoring polls; not logged
 */
export function logRequests(
  app: FastifyInstance,
  log: Log,
  share: number,
  quiet: readonly string[],
): void {
  let accumulated = 0
  app.addHook("onResponse", async (request, reply) => {
    const url = request.routeOptions.url ?? null
    if (url !== null && quiet.includes(url)) return
    if (reply.statusCode < 400) {
      // Accumulating is exact, unlike random sampling.
      accumulated += share
      if (accumulated < 1) return
      accumulated -= 1
    }
    const { message, ...line } = logLineOf(request, reply, url)
    log.info(message, line)
  })
}

function logLineOf(request: FastifyRequest, reply: FastifyReply, url: string | null) {
  const { method, id: requestId } = request
  const { companyId, keyId, chargeId } = traceOf(reply) ?? {}
  const status = reply.statusCode
  const route = url ?? "(unknown)"
  return {
    message: `${method} ${route} ${status}`,
    requestId,
    method,
    route,
    status,
    error: sentRefusalCode(reply) ?? undefined,
    company: companyId ?? undefined,
    key: keyId ?? undefined,
    chargeId: chargeId ?? undefined,
    ms: Math.round(reply.elapsedTime * 10) / 10,
  }
}
