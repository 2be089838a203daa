/** What can be asked of a box, over a socket that only its launcher's user reaches. */
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

// An import would load all that its names lead to, a client of the web among it: longer than all else
// that a keeper loads, and a third of its memory.
const { createServer } = process.getBuiltinModule("node:http")

/** A question may be as long as a command line. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024

/** What the keeper does beside running commands. */
export interface AgentRequestPorts {
  readonly commands: BoxCommandRunner
  readonly network: BoxNetwork
  readonly leaseLeftMs: () => number
  readonly extend: (leaseMs: number) => void
  /** Ends the box; resolves when nothing of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when the box has ended, by whatever. */
  readonly ended: Promise<unknown>
}

/** Somebody who asks. */
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

/** Who waits for a command. */
interface CallerCounter {
  readonly count: () => number
  /** Counts a caller until it goes away or is answered. */
  readonly enter: (caller: Socket) => () => void
}

function createCallerCounter(): CallerCounter {
  const present = new Set<object>()
  return {
    count: () => present.size,
    enter: (caller) => {
      const place = {}
      const leave = () => void present.delete(place)
      present.add(place)
      caller.once("close", leave)
      return () => {
        caller.off("close", leave)
        leave()
      }
    },
  }
}

/** Answers at a socket until the box has ended, and ends the process then. Resolves once it listens. */
export async function serveAgent(path: string, keeping: AgentRequestPorts): Promise<void> {
  const callers = createCallerCounter()
  const answers = new Set<ServerResponse>()
  const server = createServer({ requestTimeout: 0 }, (asked, answer) => {
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
    void handleRequest({ ...keeping, callers, request: asked }, answer)
  })
  server.on("connect", (asked: IncomingMessage, caller: Duplex, head: Buffer) => {
    void relayToPort(
      keeping.commands,
      Number(/^box:(\d+)$/.exec(asked.url ?? "")?.[1]),
      caller,
      head,
    )
  })
  // Who asked for the end is told of it; nobody else has an answer to come.
  void keeping.ended.then(async () => {
    const told = [...answers].filter(({ req }) => req.url === "/stop")
    await Promise.all(told.map((answer) => once(answer, "close")))
    process.exit(0)
  })
  server.listen(path)
  await once(server, "listening")
}

async function handleRequest(
  visitor: Omit<AgentRequest, "body">,
  answer: ServerResponse,
): Promise<void> {
  const { request } = visitor
  try {
    const body = await readMessage(request, MAX_REQUEST_BYTES)
    const make = REQUEST_HANDLERS[(request.url ?? "").slice(1)]
    if (make === undefined)
      throw new AgentRequestRejected("words", "A keeper knows nothing of this.")
    const reply = await make({ ...visitor, body })
    answer.write(encodeMessage(reply.body))
    for (const piece of reply.output ?? []) answer.write(piece)
    answer.end()
  } catch (error) {
    if (error instanceof BoxEnded) return void answer.destroy()
    // A fault of the keeper's own is told to who asked; it goes on for all others.
    const { message } = error as Error
    answer.statusCode = error instanceof AgentRequestRejected ? 409 : 500
    answer.end(
      encodeMessage(
        error instanceof AgentRequestRejected ? { why: error.reason, message } : message,
      ),
    )
  }
  // What was not read of the question is of no use to anybody.
  request.resume()
}

/** Connects somebody with a port in the box. */
async function relayToPort(
  commands: BoxCommandRunner,
  port: number,
  caller: Duplex,
  head: Buffer,
): Promise<void> {
  // Until it is connected with something, whoever breaks off breaks nothing.
  caller.on("error", () => undefined)
  const there = (await connectToPort("127.0.0.1", port)) ?? (await connectToPort("::1", port))
  if (there === null) return void caller.end("HTTP/1.1 502 Nobody Listens\r\n\r\n")
  commands.countActivity()
  caller.write("HTTP/1.1 200 Connected\r\n\r\n")
  there.write(head)
  // As long as anything passes, it is used.
  for (const side of [caller, there]) side.on("data", commands.countActivity)
  // One that breaks off takes the other with it; one that only has no more to say does not.
  pipeline(caller, there, () => undefined)
  pipeline(there, caller, () => undefined)
}

function connectToPort(host: string, port: number): Promise<Socket | null> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true })
    socket.once("error", () => resolve(null))
    socket.once("connect", () => resolve(socket))
  })
}
