/** What can be asked of a box, over a socket that only its launcher's user reaches. */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type Socket, connect } from "node:net"
import { type Duplex, pipeline } from "node:stream"
import { type Commands, type Ended, Gone, Refused } from "./commands.ts"
import { front, readFront } from "./framed.ts"
import type { BoxNetwork, CommandAsked, CommandEnded } from "./plan.ts"

// An import would load all that its names lead to, a client of the web among it: longer than all else
// that a keeper loads, and a third of its memory.
const { createServer } = process.getBuiltinModule("node:http")

/** A question may be as long as a command line. */
const MOST_ASKED_BYTES = 8 * 1024 * 1024

/** What the keeper does beside running commands. */
export interface Keeping {
  readonly commands: Commands
  readonly network: BoxNetwork
  readonly leaseLeftMs: () => number
  readonly extend: (leaseMs: number) => void
  /** Ends the box; resolves when nothing of it lives. */
  readonly end: () => Promise<void>
  /** Resolves when the box has ended, by whatever. */
  readonly ended: Promise<unknown>
}

/** Somebody who asks. */
interface Visit extends Keeping {
  readonly asked: unknown
  readonly rest: IncomingMessage
  readonly waiting: Waiting
}

interface Answer {
  readonly said: unknown
  readonly bytes?: readonly Buffer[]
}

const VISITS: Readonly<Record<string, (visit: Visit) => Promise<Answer>>> = {
  hello: async ({ commands, leaseLeftMs, network, waiting }) => {
    const isBusy = waiting.count() > 0
    const activities = commands.activities()
    return { said: { leaseLeftMs: leaseLeftMs(), activities, isBusy, network } }
  },
  extend: async ({ extend, asked }) => {
    extend((asked as { leaseMs: number }).leaseMs)
    return { said: true }
  },
  run: async ({ commands, asked, rest, waiting }) => {
    const command = asked as CommandAsked
    const leave = command.activity ? waiting.enter(rest.socket) : () => undefined
    try {
      return answerOf(await commands.run(command, rest))
    } finally {
      leave()
    }
  },
  spawn: async ({ commands, asked }) => {
    const { command, cwd } = asked as { command: string; cwd: string }
    return { said: await commands.spawn(command, cwd) }
  },
  processes: async ({ commands }) => ({ said: commands.processes() }),
  logs: async ({ commands, asked }) => ({ said: commands.logs((asked as { id: string }).id) }),
  "stop-process": async ({ commands, asked }) => {
    return { said: await commands.stop((asked as { id: string }).id) }
  },
  stop: async ({ end }) => {
    await end()
    return { said: true }
  },
}

function answerOf({ exitCode, isTimedOut, stdout, stderr }: Ended): Answer {
  const said: CommandEnded = {
    exitCode,
    isTimedOut,
    stdout: { bytes: stdout.bytes, isCut: stdout.isCut },
    stderr: { bytes: stderr.bytes, isCut: stderr.isCut },
  }
  return { said, bytes: [...stdout.pieces, ...stderr.pieces] }
}

/** Who waits for a command. */
interface Waiting {
  readonly count: () => number
  /** Counts a caller until it goes away or is answered. */
  readonly enter: (caller: Socket) => () => void
}

function waitingRoom(): Waiting {
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
export async function serve(path: string, keeping: Keeping): Promise<void> {
  const waiting = waitingRoom()
  const answers = new Set<ServerResponse>()
  const server = createServer({ requestTimeout: 0 }, (asked, answer) => {
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
    void visit({ ...keeping, waiting, rest: asked }, answer)
  })
  server.on("connect", (asked: IncomingMessage, caller: Duplex, head: Buffer) => {
    void relay(keeping.commands, Number(/^box:(\d+)$/.exec(asked.url ?? "")?.[1]), caller, head)
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

async function visit(visitor: Omit<Visit, "asked">, answer: ServerResponse): Promise<void> {
  const { rest } = visitor
  try {
    const asked = await readFront(rest, MOST_ASKED_BYTES)
    const make = VISITS[(rest.url ?? "").slice(1)]
    if (make === undefined) throw new Refused("words", "A keeper knows nothing of this.")
    const { said, bytes = [] } = await make({ ...visitor, asked })
    answer.write(front(said))
    for (const piece of bytes) answer.write(piece)
    answer.end()
  } catch (error) {
    if (error instanceof Gone) return void answer.destroy()
    // A fault of the keeper's own is told to who asked; it goes on for all others.
    const { message } = error as Error
    answer.statusCode = error instanceof Refused ? 409 : 500
    answer.end(front(error instanceof Refused ? { why: error.why, message } : message))
  }
  // What was not read of the question is of no use to anybody.
  rest.resume()
}

/** Connects somebody with a port in the box. */
async function relay(
  commands: Commands,
  port: number,
  caller: Duplex,
  head: Buffer,
): Promise<void> {
  // Until it is connected with something, whoever breaks off breaks nothing.
  caller.on("error", () => undefined)
  const there = (await reach("127.0.0.1", port)) ?? (await reach("::1", port))
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

function reach(host: string, port: number): Promise<Socket | null> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return Promise.resolve(null)
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true })
    socket.once("error", () => resolve(null))
    socket.once("connect", () => resolve(socket))
  })
}
