/**
 * The admin socket: a running server takes operations from the command line of the same user, so
 * that there is one writer and its caches are never stale.
 */
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AdminAnswer, AdminLine, ErrorBody, Identity, ShownSetting } from "./protocol.ts"
import type { AdminRequest } from "./admin-request.ts"
import { readRequest } from "./admin-request.ts"
import { ADMIN_PATHS, AdminProtocolFault, LINES_TYPE, lineText } from "./protocol.ts"
import { listenPrivately } from "./private-socket.ts"
import type { Talk } from "./run-operation.ts"

const MAX_REQUEST_BYTES = 1024 * 1024
const DEFAULT_GRACE_MS = 10_000

/** What the admin socket serves. */
export interface AdminServing {
  /** Where to listen, at most `MAX_SOCKET_PATH_BYTES` bytes; its folder must be there. */
  readonly socketPath: string
  /** The id of the data folder: by it the command line knows its own server. */
  readonly folderId: string
  /** What the server was started with. */
  readonly settings: readonly ShownSetting[]
  /** Runs an operation. What it throws is a fault: told to `onFault` and answered as `internal`. */
  readonly run: (request: AdminRequest, talk: Talk) => Promise<AdminAnswer>
  readonly onFault: (error: unknown) => void
  /** How long `close` lets operations run on, milliseconds; default 10,000. */
  readonly graceMs?: number
}

/** A served admin socket. */
export interface AdminServer {
  /**
   * Takes no more operations, removes the socket and waits for those that run; after the grace
   * they are aborted and their callers hung up on. Calling it again waits for the same end.
   */
  readonly close: () => Promise<void>
}

/** Operations under way. */
interface Running {
  readonly abort: AbortController
  readonly ended: Promise<void>
}

/**
 * Serves the admin socket. Its file has mode 0600 from the moment it has its name.
 *
 * @throws RangeError: the path is too long for a socket
 * @throws the operating system's error where it cannot listen there
 */
export async function serveAdmin(serving: AdminServing): Promise<AdminServer> {
  const running = new Set<Running>()
  const state = { closing: false }
  const server = createServer((request, response) => {
    void answer(serving, state, running, request, response).catch((error: unknown) => {
      serving.onFault(error)
      response.destroy()
    })
  })
  const { socketPath } = serving
  const remove = await listenPrivately(socketPath, (path) => listenAt(server, path))
  server.on("error", serving.onFault)
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    remove()
    const stopped = once(server, "close")
    server.close()
    const timer = setTimeout(() => {
      for (const { abort } of running) abort.abort()
      server.closeAllConnections()
    }, serving.graceMs ?? DEFAULT_GRACE_MS)
    await Promise.all([stopped, ...[...running].map(({ ended }) => ended)])
    clearTimeout(timer)
  }
  return { close: () => (closed ??= close()) }
}

async function listenAt(server: Server, path: string): Promise<void> {
  try {
    const listening = once(server, "listening")
    server.listen(path)
    await listening
  } catch (error) {
    server.close()
    throw error
  }
}

async function answer(
  serving: AdminServing,
  state: { readonly closing: boolean },
  running: Set<Running>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://admin")
  if (request.method === "GET" && pathname === ADMIN_PATHS.identity) {
    response.writeHead(200, { "content-type": "application/json", connection: "close" })
    const { folderId, settings } = serving
    const identity: Identity = { folderId, pid: process.pid, settings }
    response.end(JSON.stringify(identity))
    return
  }
  if (request.method !== "POST" || pathname !== ADMIN_PATHS.operations) {
    return refuse(response, 404, { error: "not_found", message: "There is no such admin route." })
  }
  // Before any wait, so that `close` knows of it.
  if (state.closing) {
    return refuse(response, 503, { error: "unavailable", message: "The server is stopping." })
  }
  const ended = Promise.withResolvers<void>()
  const one: Running = { abort: new AbortController(), ended: ended.promise }
  running.add(one)
  try {
    await perform(serving, one.abort, request, response)
  } finally {
    running.delete(one)
    ended.resolve()
  }
}

function refuse(response: ServerResponse, status: number, error: ErrorBody): void {
  response.writeHead(status, { "content-type": LINES_TYPE, connection: "close" })
  response.end(lineText({ error }))
}

async function perform(
  serving: AdminServing,
  abort: AbortController,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A response that closes before its end has lost its reader.
  response.once("close", () => abort.abort())
  const asked = await readBody(request, abort.signal)
  if (asked === null) return
  if ("error" in asked) return refuse(response, 400, asked.error)
  response.writeHead(200, { "content-type": LINES_TYPE, connection: "close" })
  const { signal } = abort
  const talk: Talk = {
    progress: (message) => {
      // A reader that is behind misses nothing but news of the way.
      if (signal.aborted || response.writableNeedDrain) return
      response.write(lineText({ progress: message }))
    },
    send: (chunk) => send(response, pieceLine(chunk), signal),
    signal,
  }
  const last = await runToAnswer(serving, asked.request, talk)
  if (last === null || signal.aborted) return
  response.end(lineText(last))
  await once(response, "close")
}

/** The answer of an operation; null where nobody waits for it any more. */
async function runToAnswer(
  { run, onFault }: AdminServing,
  request: AdminRequest,
  talk: Talk,
): Promise<AdminAnswer | null> {
  try {
    return await run(request, talk)
  } catch (error) {
    if (talk.signal.aborted && error instanceof Error && error.name === "AbortError") return null
    onFault(error)
    const message = `The server failed: ${error instanceof Error ? error.message : String(error)}`
    return { error: { error: "internal", message } }
  }
}

function pieceLine(chunk: string | Uint8Array): AdminLine {
  return typeof chunk === "string" ? { chunk } : { bytes: Buffer.from(chunk).toString("base64") }
}

async function send(response: ServerResponse, line: AdminLine, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (!response.write(lineText(line))) await once(response, "drain", { signal })
}

/** The request; an error where it is none; null where the caller went away while sending it. */
async function readBody(
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<{ request: AdminRequest } | { error: ErrorBody } | null> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length
      // All of it is read, or the caller could not read why it was refused.
      if (bytes <= MAX_REQUEST_BYTES) parts.push(part)
    }
    if (bytes > MAX_REQUEST_BYTES) {
      return { error: { error: "too_large", message: "A request has at most 1 MiB." } }
    }
    return { request: readRequest(Buffer.concat(parts).toString("utf8")) }
  } catch (error) {
    if (error instanceof AdminProtocolFault) {
      return { error: { error: "validation", message: error.message } }
    }
    if (signal.aborted || request.destroyed) return null
    throw error
  }
}
