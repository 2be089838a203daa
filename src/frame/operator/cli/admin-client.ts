/** The command line's side of the admin socket. */
import type { ClientRequest, IncomingMessage } from "node:http"
import { request as httpRequest } from "node:http"
import { StringDecoder } from "node:string_decoder"
import type { AdminRequest } from "../admin-request.ts"
import type { AdminAnswer, Identity } from "../protocol.ts"
import { ADMIN_PATHS, readIdentity, readLine } from "../protocol.ts"
import type { Talk } from "../run-operation.ts"

const IDENTITY_TIMEOUT_MS = 5_000

/** The server did not answer, or not to the end; the sentence says what that means. */
export class ServerGone extends Error {
  override readonly name = "ServerGone"
}

/**
 * Who the server behind a socket is; null where it does not hold the data folder with this id. No
 * socket, or one where nobody listens, is no server.
 *
 * @param timeoutMs how long it may take to say who it is, milliseconds
 * @throws ServerGone: somebody listens and does not say who it is
 */
export async function serverOf(
  socketPath: string,
  folderId: string,
  timeoutMs = IDENTITY_TIMEOUT_MS,
): Promise<Identity | null> {
  const signal = AbortSignal.timeout(timeoutMs)
  const asked = httpRequest({ socketPath, path: ADMIN_PATHS.identity, agent: false, signal })
  try {
    asked.end()
    let text = ""
    for await (const line of linesOf(await responseOf(asked))) text += line
    const identity = readIdentity(text)
    return identity.folderId === folderId ? identity : null
  } catch (error) {
    if (isNobodyThere(error)) return null
    const message =
      "A server holds this data folder and does not answer: wait for it to end, or stop it."
    throw new ServerGone(message, { cause: error })
  }
}

/**
 * Gives an operation to a running server and waits for its answer.
 *
 * @throws ServerGone: it ended before it answered
 * @throws the signal's reason where that was aborted
 */
export async function askServer(
  socketPath: string,
  request: AdminRequest,
  talk: Talk,
): Promise<AdminAnswer> {
  const { signal } = talk
  signal.throwIfAborted()
  const asked = httpRequest({
    socketPath,
    path: ADMIN_PATHS.operations,
    method: "POST",
    agent: false,
    signal,
    headers: { "content-type": "application/json" },
  })
  try {
    asked.end(JSON.stringify(request))
    for await (const text of linesOf(await responseOf(asked))) {
      const line = readLine(text)
      if ("progress" in line) talk.progress(line.progress)
      else if ("chunk" in line) await talk.send(line.chunk)
      else if ("bytes" in line) await talk.send(Buffer.from(line.bytes, "base64"))
      else return line
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isNobodyThere(error)) {
      throw new ServerGone("The server has just ended; give the command again.", { cause: error })
    }
    if (!isBroken(error)) throw error
    throw new ServerGone(UNKNOWN_END, { cause: error })
  }
  throw new ServerGone(UNKNOWN_END)
}

const UNKNOWN_END =
  "The server ended before it answered: look whether the command was done before giving it again."

async function responseOf(asked: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  asked.once("response", resolve)
  // Also after the response: a connection that breaks later is told by the response itself.
  asked.on("error", reject)
  return promise
}

/** The lines of a response, read no faster than they are taken. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8")
  let rest = ""
  for await (const part of response as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(part)).split("\n")
    rest = lines.pop() ?? ""
    yield* lines
  }
  // What follows the last line end is a line that was cut off, unless it is the whole answer.
  if (rest !== "" && response.complete) yield rest
}

function isNobodyThere(error: unknown): boolean {
  return ["ENOENT", "ECONNREFUSED"].includes(codeOf(error) ?? "")
}

function isBroken(error: unknown): boolean {
  return ["ECONNRESET", "EPIPE"].includes(codeOf(error) ?? "")
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined
}
