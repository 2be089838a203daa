/** The app of the admin socket: operator operations as routes, in the pipeline of the API. */
import type { FastifyInstance } from "fastify"
import type { OperatorConnection, SendRequest } from "../operator/cli/client.ts"
import type { AdminOperation, AdminPorts } from "../operator/operation.ts"
import { listenOnPrivateSocket, MAX_HEADER_BYTES } from "../operator/protocol.ts"
import { RELEASE } from "../operator/cli/command-spec.ts"
import type { OperatorRouteOptions } from "../operator/operator-routes.ts"
import { operatorRoutes } from "../operator/operator-routes.ts"
import { buildApp } from "./app.ts"
import { PRODUCT } from "./documents/documents.ts"

const INTRODUCTION = `The operator API, which the command line uses. It is served on the admin socket only, which only the user
that the server runs as can open, and needs no key. An operation takes its input as JSON and answers with its result. An
operation that reads a file takes it as the body, with its input in the query; one that writes a file answers with its
bytes. To follow an operation, first watch it under a name of your choice: you get its progress and its result.`

interface OperatorAppOptions extends OperatorRouteOptions {
  /** Descriptions of the operation groups, by the first word of their operations. */
  readonly topics?: Readonly<Record<string, string>>
  /** Share of successful requests to log, 0 to 1; default 0. */
  readonly logRequests?: number
}

/** Builds the app; it does not listen. */
function operatorApp(options: OperatorAppOptions): Promise<FastifyInstance> {
  const { ports, topics = {}, logRequests: logSampleRate = 0 } = options
  const title = `Operator API of ${PRODUCT}`
  const info = { title, version: RELEASE, description: INTRODUCTION.replaceAll("\n", " ") }
  // The document needs a URL, and a socket has none.
  const local = { ...ports, baseUrl: () => "http://localhost" }
  return buildApp(local, operatorRoutes(options), [], {
    rateLimits: "off",
    isOperatorApp: true,
    maxHeaderBytes: MAX_HEADER_BYTES,
    documentContent: { groups: topics, answers: {}, info },
    logSampleRate,
  })
}

/** Opens the routes within this process. @param signal aborted to end running operations */
export async function openInProcess(
  operations: readonly AdminOperation[],
  ports: AdminPorts,
  signal: AbortSignal,
): Promise<OperatorConnection> {
  const identity = { folderId: "", pid: process.pid, settings: [] }
  const faults: unknown[] = []
  const onFault = (error: unknown) => void faults.push(error)
  const app = await operatorApp({ operations, ports, identity, shutdown: signal, onFault })
  const send: SendRequest = async ({ method, url, body, signal: callerSignal }) => {
    const answered = await app.inject({
      method,
      url,
      signal: callerSignal,
      payloadAsStream: true,
      ...(body !== undefined && { payload: body }),
      headers: typeof body === "string" ? { "content-type": "application/json" } : {},
    })
    if (faults.length > 0) throw faults[0]
    const { statusCode: status, headers } = answered
    return { status, mediaType: headers["content-type"], body: answered.stream() }
  }
  return { send, close: () => app.close() }
}

/** How long operations may continue when the server stops, milliseconds. */
const GRACE_MS = 3_000

/**
 * Serves the routes on a socket, whose file has mode 0600 from the moment it has its name.
 *
 * @param served a path of at most `MAX_SOCKET_PATH_BYTES` bytes in an existing folder
 * @returns a function that removes the socket and waits for running operations; it aborts them after the grace
 *   period
 * @throws RangeError if the path is too long for a socket; the operating system's error
 */
export async function serveOperatorSocket({
  socketPath,
  graceMs = GRACE_MS,
  ...options
}: Omit<OperatorAppOptions, "shutdown"> & {
  readonly socketPath: string
  readonly graceMs?: number
}): Promise<() => Promise<void>> {
  const ended = new AbortController()
  const app = await operatorApp({ ...options, shutdown: ended.signal })
  const remove = await listenOnPrivateSocket(socketPath, (path) => app.listen({ path }))
  return async () => {
    remove()
    const timer = setTimeout(() => ended.abort(), graceMs)
    await app.close()
    clearTimeout(timer)
  }
}
