/** Serves requests to a box over a socket that only the launcher's user can open. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type Socket, connect } from "node:net"
import { type Duplex, pipeline } from "node:stream"
import {
  type BoxCommandRunner,
  type CompletedCommand,
  BoxEnded,
  AgentRequestRejected,
} from "./commands.ts"
import { encodeMessage, readMessage } from "./framing.ts"
import type { BoxNetwork, CommandRequest, CommandReply } from "./plan.ts"

// An import would also load an HTTP client with its dependencies: a third of the agent's memory.
const { createServer } = process.getBuiltinModule("node:http")

/** As long as the longest command line. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024

/** The dependencies of the request handler. */
export interface AgentRequestPorts {
  readonly commands: BoxCommandRunner
  readonly network: BoxNetwork
  readonly leaseLeftMs: () => number
  readonly extend: (leaseMs: number) => void
  /** Ends the box; resolves when no process of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when the box has ended for any reason. */
  readonly ended: Promise<unknown>
}

interface AgentRequest extends AgentRequestPorts {
  readonly body: unknown
  readonly request: IncomingMessage
  readonly callers: CallerCounter
}

interface AgentReply {
  readonly body: unknown
  readonly output?: readonly Buffer[]
}

const REQUEST_HANDLERS: Readonly<Record<string, (visit: AgentRequest) => Promise<AgentReply>>> = {
  hello: async ({ commands, leaseLeftMs, network, callers }) => {
    const isBusy = callers.count() > 0
    const activities = commands.activities()
    return { body: { leaseLeftMs: leaseLeftMs(), activities, isBusy, network } }
  },
  extend: async ({ extend, body }) => {
    extend((body as { leaseMs: number }).leaseMs)
    return { body: true }
  },
  run: async ({ commands, body, request, callers }) => {
    const command = body as CommandRequest
    const leave = command.activity ? callers.enter(request.socket) : () => undefined
    try {
      return toCommandReply(await commands.run(command, request))
    } finally {
      leave()
    }
  },
  spawn: async ({ commands, body }) => {
    const { command, cwd } = body as { command: string; cwd: string }
    return { body: await commands.spawn(command, cwd) }
  },
  processes: async ({ commands }) => ({ body: commands.processes() }),
  logs: async ({ commands, body }) => ({ body: commands.logs((body as { id: string }).id) }),
  "stop-process": async ({ commands, body }) => {
    return { body: await commands.stop((body as { id: string }).id) }
  },
  stop: async ({ end }) => {
    await end()
    return { body: true }
  },
}

function toCommandReply({ exitCode, isTimedOut, stdout, stderr }: CompletedCommand): AgentReply {
  const body: CommandReply = {
    exitCode,
    isTimedOut,
    stdout: { bytes: stdout.bytes, isCut: stdout.isTruncated },
    stderr: { bytes: stderr.bytes, isCut: stderr.isTruncated },
  }
  return { body, output: [...stdout.pieces, ...stderr.pieces] }
}

/** The callers that wait for a command. */
interface CallerCounter {
  readonly count: () => number
  /** Counts a caller until it disconnects or gets its answer. */
  readonly enter: (caller: Socket) => () => void
}

function createCallerCounter(): CallerCounter {
  const present = new Set<object>()
  return {
    count: () => present.size,
    enter: (caller) => {
      const entry = {}
      const leave = () => void present.delete(entry)
      present.add(entry)
      caller.once("close", leave)
      return () => {
        caller.off("close", leave)
        leave()
      }
    },
  }
}

/** Serves requests until the box ends, then ends the process. Resolves when the socket listens. */
export async function serveAgent(path: string, ports: AgentRequestPorts): Promise<void> {
  const callers = createCallerCounter()
  const answers = new Set<ServerResponse>()
  const server = createServer({ requestTimeout: 0 }, (request, answer) => {
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
    void handleRequest({ ...ports, callers, request }, answer)
  })
  server.on("connect", (request: IncomingMessage, caller: Duplex, head: Buffer) => {
    void relayToPort(
      ports.commands,
      Number(/^box:(\d+)$/.exec(request.url ?? "")?.[1]),
      caller,
      head,
    )
  })
  // The caller that asked for the end gets an answer; others see the connection close.
  void ports.ended.then(async () => {
    const stopAnswers = [...answers].filter(({ req }) => req.url === "/stop")
    await Promise.all(stopAnswers.map((answer) => once(answer, "close")))
    process.exit(0)
  })
  server.listen(path)
  await once(server, "listening")
}

async function handleRequest(
  context: Omit<AgentRequest, "body">,
  answer: ServerResponse,
): Promise<void> {
  const { request } = context
  try {
    const body = await readMessage(request, MAX_REQUEST_BYTES)
    const handler = REQUEST_HANDLERS[(request.url ?? "").slice(1)]
    if (handler === undefined)
      throw new AgentRequestRejected("words", "The box agent does not know this request.")
    const reply = await handler({ ...context, body })
    answer.write(encodeMessage(reply.body))
    for (const chunk of reply.output ?? []) answer.write(chunk)
    answer.end()
  } catch (error) {
    if (error instanceof BoxEnded) return void answer.destroy()
    // An internal error is reported to the caller; the agent continues for others.
    const { message } = error as Error
    answer.statusCode = error instanceof AgentRequestRejected ? 409 : 500
    answer.end(
      encodeMessage(
        error instanceof AgentRequestRejected ? { why: error.reason, message } : message,
      ),
    )
  }
  // Drain the unread part of the request.
  request.resume()
}

async function relayToPort(
  commands: BoxCommandRunner,
  port: number,
  caller: Duplex,
  head: Buffer,
): Promise<void> {
  // Until the relay is set up, errors of the caller's connection are ignored.
  caller.on("error", () => undefined)
  const target = (await connectToPort("127.0.0.1", port)) ?? (await connectToPort("::1", port))
  if (target === null) return void caller.end("HTTP/1.1 502 No Listener\r\n\r\n")
  commands.countActivity()
  caller.write("HTTP/1.1 200 Connected\r\n\r\n")
  target.write(head)
  // Traffic counts as activity.
  for (const side of [caller, target]) side.on("data", commands.countActivity)
  // A broken side ends the other; a half-closed one does not.
  pipeline(caller, target, () => undefined)
  pipeline(target, caller, () => undefined)
}

function connectToPort(host: string, port: number): Promise<Socket | null> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true })
    socket.once("error", () => resolve(null))
    socket.once("connect", () => resolve(socket))
  })
}
