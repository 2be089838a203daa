/** The command line as a client of the operator's routes. */
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

/** A request to a route. */
interface RouteRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  /** JSON as it is sent, or a file. */
  readonly body?: string | Readable
  readonly signal: AbortSignal
}

/** What it is answered with. */
interface RouteResponse {
  readonly status: number
  readonly mediaType: unknown
  readonly body: Readable
}

/** A way to the routes: the socket of a server, or the same app in this process. */
export type SendRequest = (asked: RouteRequest) => Promise<RouteResponse>

/** A way to the routes that lasts until it is closed. */
export interface OperatorConnection {
  /** Asks a route. @throws a fault of the program as it is */
  readonly send: SendRequest
  /** Waits for what is in flight, then closes what was opened. */
  readonly close: () => Promise<void>
}

/** How a caller follows an operation. */
export interface OperationObserver {
  /** Takes how far long work has come; absent where nobody reads it. */
  readonly progress?: ((message: string) => void) | undefined
  /** Takes a piece of a file, the next once it resolves; absent where no file is expected. */
  readonly send?: ((piece: Uint8Array) => Promise<void>) | undefined
  readonly signal: AbortSignal
}

/** The server did not answer, or not to the end; the sentence says what that means. */
export class ServerGone extends Error {
  override readonly name = "ServerGone"
}

/** Something was refused that a command asked for. */
export class CommandRefused extends Error {
  override readonly name = "CommandRefused"
  readonly body: ErrorBody
  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

/** The way over a socket. */
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
    // Also after the response: a connection that breaks later is an error of the response itself.
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
 * Who the server behind a socket is; null where it does not hold the data folder with this id. No
 * socket, or one where nobody listens, is no server.
 *
 * @param timeoutMs how long it may take to say who it is, milliseconds
 * @throws ServerGone: a process listens and does not say who it is
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
      "A server holds this data folder and does not answer: wait for it to end, or stop it."
    throw new ServerGone(message, { cause: error })
  }
}

/**
 * Has an operation done and waits for its answer.
 *
 * @throws ServerGone: the server ended before it answered; Refused where no file can be sent
 * @throws the signal's reason where that was aborted
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
    // What was said last is shown, too: the server ends it with the operation.
    if (!("error" in answer)) await watched?.answer
    return answer
  } catch (error) {
    signal.throwIfAborted()
    if (isConnectionRefused(error)) {
      throw new ServerGone("The server has just ended; give the command again.", { cause: error })
    }
    if (!isConnectionLost(error)) throw error
    throw new ServerGone(UNKNOWN_OUTCOME_MESSAGE, { cause: error })
  } finally {
    over.abort()
  }
}

const UNKNOWN_OUTCOME_MESSAGE =
  "The server ended before it answered: look whether the command was done before giving it again."

/** An operation that is watched. */
interface WatchedOperation {
  readonly name: string
  /** How it ended; null where that was not told. */
  readonly answer: Promise<OperatorAnswer | null>
}

/** Begins to watch an operation; null where its answer says all that is of interest. */
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
  // The answer itself says whether the server is gone.
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
  const said = queryOf({ ...query, ...requestFieldsOf(request), watched: watched?.name })
  const url = `${operationUrl(operation)}?${said}`
  const answered = await send({ method: "POST", url, body, signal })
  if (answered.mediaType === "application/octet-stream") {
    if (take === undefined || watched === null) throw new Error(`${operation} sends a file`)
    return receiveFile(answered.body, take, watched)
  }
  const answer: unknown = JSON.parse(await text(answered.body))
  return answered.status < 400 ? { result: answer } : { error: answer as ErrorBody }
}

/** Takes a file; how its operation ended is told to who watches it, also where the file is cut off. */
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

/** What an operator says of any operation, as its query has it. */
function requestFieldsOf({ actor, reason, confirmation, page }: OperatorRequest): ResultRow {
  const shown = page && {
    columns: page.columns,
    terminal: page.isTTY ? "true" : null,
    out: page.file,
  }
  return { actor, reason, confirm: confirmation, ...shown }
}

/** The file of an input as a body, and its other fields as a query. @throws Refused where it is no file */
async function uploadOf(input: ResultRow, field: string) {
  const path = String(input[field])
  if (!(await stat(path)).isFile()) {
    throw new CommandRefused({
      error: "cannot_read",
      message: `${path} is no file: name another one.`,
    })
  }
  return { query: { ...input, [field]: basename(path) }, body: createReadStream(path) }
}

function queryOf(fields: ResultRow): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)
  const words = given.map(([name, value]): [string, string] => [name, String(value)])
  return new URLSearchParams(words).toString()
}

/** Whether no process listens at a socket. */
const isConnectionRefused = (error: unknown): boolean =>
  hasCode(error, ["ENOENT", "ECONNREFUSED"]) && "syscall" in error && error.syscall === "connect"

/** Whether a connection ended before its answer did. */
const isConnectionLost = (error: unknown): boolean =>
  hasCode(error, ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"])

function hasCode(error: unknown, codes: readonly string[]): error is Error {
  return error instanceof Error && "code" in error && codes.includes(String(error.code))
}
