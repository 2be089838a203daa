/** The command line as a client of the operator API. */
import { randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { request as httpRequest } from "node:http"
import { basename } from "node:path"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream"
import { text } from "node:stream/consumers"
import type {
  ErrorBody,
  ServerIdentity,
  OperatorAnswer,
  OperatorRequest,
  ResultRow,
} from "../protocol.ts"
import { operationEventsUrl, isResultRow, operationUrl, SERVER_URL } from "../protocol.ts"

const IDENTITY_TIMEOUT_MS = 5_000

interface RouteRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  /** JSON text, or a file. */
  readonly body?: string | Readable
  readonly signal: AbortSignal
}

interface RouteResponse {
  readonly status: number
  readonly mediaType: unknown
  readonly body: Readable
}

/** Sends a request to the routes: over the socket of a server, or to the same app in this process. */
export type SendRequest = (asked: RouteRequest) => Promise<RouteResponse>

export interface OperatorConnection {
  /** Sends a request. @throws a program error unchanged */
  readonly send: SendRequest
  /** Waits for requests in progress, then closes the connection. */
  readonly close: () => Promise<void>
}

/** How a caller follows an operation. */
export interface OperationObserver {
  /** Receives progress messages; absent if not shown. */
  readonly progress?: ((message: string) => void) | undefined
  /** Receives a piece of a file, the next once it resolves; absent if no file is expected. */
  readonly send?: ((piece: Uint8Array) => Promise<void>) | undefined
  readonly signal: AbortSignal
}

/** The server did not answer, or not completely; the message says what that means. */
export class ServerGone extends Error {
  override readonly name = "ServerGone"
}

/** The server rejected a command. */
export class CommandRefused extends Error {
  override readonly name = "CommandRefused"
  readonly body: ErrorBody
  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

/** Returns a function that sends requests over a socket. */
export function sendOverSocket(socketPath: string): SendRequest {
  return async ({ method, url, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const asked = httpRequest({
      socketPath,
      method,
      path: url,
      signal,
      agent: false,
      headers: typeof body === "string" ? { "content-type": "application/json" } : {},
    })
    asked.once("response", resolve)
    // The handler stays after the response: a later connection error concerns the response itself.
    asked.on("error", reject)
    if (body === undefined || typeof body === "string") asked.end(body)
    else pipeline(body, asked, (error) => error && reject(error))
    const response = await promise
    const { statusCode: status = 0 } = response
    const mediaType = response.headers["content-type"]
    return { status, mediaType, body: response }
  }
}

/**
 * Asks the server behind a socket for its identity. Null if there is none, nothing listens there, or the server
 * has another data folder.
 *
 * @param timeoutMs how long the server may take to answer, milliseconds
 * @throws ServerGone if a process listens and does not answer
 */
export async function identifyServer(
  socketPath: string,
  folderId: string,
  timeoutMs = IDENTITY_TIMEOUT_MS,
): Promise<ServerIdentity | null> {
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const { status, body } = await sendOverSocket(socketPath)({
      method: "GET",
      url: SERVER_URL,
      signal,
    })
    const identity = JSON.parse(await text(body)) as ServerIdentity | null
    if (status !== 200 || !isResultRow(identity)) throw new Error(`it answers ${status}`)
    return identity.folderId === folderId ? identity : null
  } catch (error) {
    if (isConnectionRefused(error)) return null
    const message =
      "A server uses this data folder and does not answer. Wait for it to end, or stop it."
    throw new ServerGone(message, { cause: error })
  }
}

/**
 * Runs an operation and returns its answer.
 *
 * @throws ServerGone if the server ended before it answered; CommandRefused if the file cannot be sent
 * @throws the signal's reason if it was aborted
 */
export async function callOperation(
  send: SendRequest,
  request: OperatorRequest,
  following: OperationObserver,
): Promise<OperatorAnswer> {
  const { signal } = following
  signal.throwIfAborted()
  const over = new AbortController()
  try {
    const watched = await watch(send, following, AbortSignal.any([signal, over.signal]))
    const answer = await requestAnswer(send, request, following, watched)
    // The server ends the events with the operation; the last message is shown too.
    if (!("error" in answer)) await watched?.answer
    return answer
  } catch (error) {
    signal.throwIfAborted()
    if (isConnectionRefused(error)) {
      throw new ServerGone("The server has just ended. Run the command again.", { cause: error })
    }
    if (!isConnectionLost(error)) throw error
    throw new ServerGone(UNKNOWN_OUTCOME_MESSAGE, { cause: error })
  } finally {
    over.abort()
  }
}

const UNKNOWN_OUTCOME_MESSAGE =
  "The server ended before it answered. Check whether the command took effect before you run it again."

interface WatchedOperation {
  readonly name: string
  /** The outcome; null if the server did not send it. */
  readonly answer: Promise<OperatorAnswer | null>
}

/** Subscribes to an operation's events; null if only its answer matters. */
async function watch(
  send: SendRequest,
  { progress, send: take }: OperationObserver,
  signal: AbortSignal,
): Promise<WatchedOperation | null> {
  if (progress === undefined && take === undefined) return null
  const name = randomUUID()
  const { body } = await send({ method: "GET", url: operationEventsUrl(name), signal })
  const { createInterface } = await import("node:readline")
  const read = async () => {
    let event: string | undefined
    let answer: OperatorAnswer | null = null
    for await (const line of createInterface({ input: body, signal })) {
      const [field, value = ""] = line.split(/: (.*)/s, 2)
      if (field === "event") event = value
      if (field !== "data") continue
      if (event === "answer") answer = JSON.parse(value) as OperatorAnswer
      else progress?.(JSON.parse(value) as string)
    }
    return answer
  }
  // A failed subscription is not an error: the answer itself shows whether the server is gone.
  return { name, answer: read().catch(() => null) }
}

async function requestAnswer(
  send: SendRequest,
  request: OperatorRequest,
  { send: take, signal }: OperationObserver,
  watched: WatchedOperation | null,
): Promise<OperatorAnswer> {
  const { operation, input, uploadField } = request
  const { query, body } =
    uploadField === undefined
      ? { query: {}, body: JSON.stringify(input) }
      : await uploadOf(input as ResultRow, uploadField)
  const params = queryOf({ ...query, ...requestFieldsOf(request), watched: watched?.name })
  const url = `${operationUrl(operation)}?${params}`
  const answered = await send({ method: "POST", url, body, signal })
  if (answered.mediaType === "application/octet-stream") {
    if (take === undefined || watched === null) throw new Error(`${operation} sends a file`)
    return receiveFile(answered.body, take, watched)
  }
  const answer: unknown = JSON.parse(await text(answered.body))
  return answered.status < 400 ? { result: answer } : { error: answer as ErrorBody }
}

/** Receives a file. The events carry the operation's outcome, even if the file was cut off. */
async function receiveFile(
  file: Readable,
  take: NonNullable<OperationObserver["send"]>,
  watched: WatchedOperation,
): Promise<OperatorAnswer> {
  try {
    for await (const piece of file) await take(piece as Uint8Array)
  } catch (error) {
    const answer = file.errored === error ? await watched.answer : null
    if (answer === null || !("error" in answer)) throw error
    return answer
  }
  const answer = await watched.answer
  if (answer === null) throw new ServerGone(UNKNOWN_OUTCOME_MESSAGE)
  return answer
}

/** Returns the query fields that every operation has. */
function requestFieldsOf({ actor, reason, confirmation, page }: OperatorRequest): ResultRow {
  const shown = page && {
    columns: page.columns,
    terminal: page.isTTY ? "true" : null,
    out: page.file,
  }
  return { actor, reason, confirm: confirmation, ...shown }
}

/** Splits an upload into the file as the body and the other fields as the query. @throws CommandRefused if it is not a file */
async function uploadOf(input: ResultRow, field: string) {
  const path = String(input[field])
  if (!(await stat(path)).isFile()) {
    throw new CommandRefused({
      error: "cannot_read",
      message: `${path} is not a file. Name a file.`,
    })
  }
  return { query: { ...input, [field]: basename(path) }, body: createReadStream(path) }
}

function queryOf(fields: ResultRow): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  const words = given.map(([name, value]): [string, string] => [name, String(value)])
  return new URLSearchParams(words).toString()
}

/** Whether the error means that no process listens at the socket. */
const isConnectionRefused = (error: unknown): boolean =>
  hasCode(error, ["ENOENT", "ECONNREFUSED"]) && "syscall" in error && error.syscall === "connect"

/** Whether a connection ended before its answer did. */
const isConnectionLost = (error: unknown): boolean =>
  hasCode(error, ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"])

function hasCode(error: unknown, codes: readonly string[]): error is Error {
  return error instanceof Error && "code" in error && codes.includes(String(error.code))
}
