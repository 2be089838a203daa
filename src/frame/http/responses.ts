/** Answers as the web server sends them. */
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

/** How the library marks what is no range. */
const UNSATISFIABLE_FLAG = 1

/** From a byte until before another. */
interface ByteRange {
  readonly from: number
  readonly until: number
}

const refusedReplies = new WeakMap<FastifyReply, string>()
const traces = new WeakMap<FastifyReply, AnswerTrace>()

/** Who asked and what was charged; null where no route was asked. */
function traceOf(reply: FastifyReply): AnswerTrace | null {
  return traces.get(reply) ?? null
}

/** What a request was refused with; null where it was answered. */
export function sentRefusalCode(reply: FastifyReply): string | null {
  return refusedReplies.get(reply) ?? null
}

/** Sends an answer; resolves when it was handed over, or nobody takes it any more. */
export async function sendAnswer(
  reply: FastifyReply,
  answer: TracedAnswer,
  log: Log,
): Promise<void> {
  const { status, headers, body, error, trace } = answer
  traces.set(reply, trace)
  if (error !== null) refusedReplies.set(reply, error)
  void reply.code(status).headers(headers)
  // Of null the framework would make JSON.
  if (body === null) void reply.send(undefined)
  else if (typeof body === "string") void reply.send(body)
  else if ("write" in body) await sendFile(reply, body, log)
  else sendBytes(reply, body, log)
}

/** What the framework is told of an entry. */
export interface EntryConfig {
  /** Who it is for, where those are no clients of the API. */
  readonly nonApiClient?: NonApiClient
  /** How its refusals are said, where not as those of the API. */
  readonly errorFormat?: ErrorFormat
}

/**
 * Sends a refusal that no route has a part in. A hook returns the reply, so that the framework waits until it is
 * sent: else it would go on to the route.
 */
export function sendRefusal(reply: FastifyReply, why: Refusal): FastifyReply {
  const { nonApiClient, errorFormat } = reply.request.routeOptions.config as EntryConfig
  const answer = answerForClient(nonApiClient, refusalAnswer(why))
  const { status, headers, body, error } = applyErrorFormat(errorFormat, answer, undefined)
  if (error !== null) refusedReplies.set(reply, error)
  // What is refused now may be answered next time, whoever stands between.
  return reply.code(status).header("cache-control", "no-store").headers(headers).send(body)
}

/** Sends what of stored bytes was asked for. */
function sendBytes(reply: FastifyReply, { size, read, ...sent }: RangedBytes, log: Log): void {
  const { method, headers: asked } = reply.request
  const tag = sent.etag === undefined ? null : `"${sent.etag}"`
  // Of a head there are no parts.
  const part = method === "HEAD" ? null : byteRangeOf(asked, size, tag)
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
  // The connection is cut by it, which says nothing to anybody here.
  bytes.on("error", (error) => log.warn("stored bytes could not be sent to their end", error))
  void reply.type(sent.mediaType).send(bytes)
}

function sendRangeNotSatisfiable(reply: FastifyReply, size: number): void {
  const why = refusal("range_not_satisfiable", `It has ${size} bytes, and none of these.`)
  const { status, headers, body } = refusalAnswer(why)
  refusedReplies.set(reply, why.error)
  void reply
    .code(status)
    .headers({ ...headers, "content-range": `bytes */${size}` })
    .send(body)
}

/** Sends a file while it is made; resolves when it was, or nobody takes it any more. */
async function sendFile(reply: FastifyReply, file: StreamedFile, log: Log): Promise<void> {
  const { mediaType, name, write } = file
  const stream = new PassThrough()
  const gone = new AbortController()
  stream.once("close", () => gone.abort())
  // Whoever sends the stream on is told of its error too; here it has been told of already.
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
    log.warn(
      `the ${name === null ? `body ${mediaType}` : `file ${name}`} could not be sent to its end`,
      error,
    )
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Does something at most once in a while; who asks in between gets what came of it. */
export function cachedFor<T>(
  keptMs: number,
  { pacer }: Pick<Ports, "pacer">,
  work: () => Promise<T>,
): () => Promise<T> {
  let kept: Promise<T> | null = null
  let since = 0
  return () => {
    const now = pacer.elapsedMs()
    if (kept === null || now - since >= keptMs) {
      since = now
      kept = work()
    }
    return kept
  }
}

/**
 * The part that is asked for; null for the whole: where none is asked for, or several, or what is no range,
 * or one of bytes that are others by now. `none` where there are no such bytes.
 *
 * @param tag the bytes' `ETag`, with its quotes; null where they have none
 */
export function byteRangeOf(
  { range, "if-range": known }: IncomingHttpHeaders,
  size: number,
  tag: string | null,
): ByteRange | "none" | null {
  if (range === undefined || (known !== undefined && known !== tag)) return null
  const { type, code, ranges } = parse(size, range)
  const [only, ...others] = ranges
  if (type !== "bytes" || (code & UNSATISFIABLE_FLAG) !== 0 || others.length > 0) return null
  if (only !== undefined) {
    // Of several that were asked for, one is there.
    return code === 0 ? { from: only.start, until: only.end + 1 } : null
  }
  return code === 0 ? null : "none"
}

/**
 * Adds it. Neither a body nor a query is written, nor who a person is: keys, numbers and names of
 * people stay out.
 *
 * @param share of the requests that went well, 0 to 1; what was refused or failed always has its line
 * @param quiet paths that supervisors ask all the time
 */
export function logRequests(
  app: FastifyInstance,
  log: Log,
  share: number,
  quiet: readonly string[],
): void {
  let owed = 0
  app.addHook("onResponse", async (request, reply) => {
    const url = request.routeOptions.url ?? null
    if (url !== null && quiet.includes(url)) return
    if (reply.statusCode < 400) {
      // Every tenth of a tenth, and not by chance: a share is exact.
      owed += share
      if (owed < 1) return
      owed -= 1
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
