/** A box, asked over the socket of its keeper. What a keeper answers is a stranger's word: it may be the box's. */
import { type IncomingMessage, request } from "node:http"
import { posix } from "node:path"
import { type Duplex, Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { z } from "zod"
import type { Pacer } from "../../../machine/clock/port.ts"
import { ProviderSilent, inTime } from "../../../providers/outside.ts"
import {
  type Box,
  BoxGone,
  BoxRefused,
  type Ran,
  type RunOptions,
  type SandboxId,
  WORKSPACE,
} from "../port.ts"
import { front, readFront } from "./keeper/framed.ts"
import type { CommandAsked } from "./keeper/plan.ts"
import { shellArgv } from "./keeper/shell.ts"
import { codeOf } from "./program.ts"

const ANSWER_WITHIN_MS = 10_000
/** Two logs, and what JSON makes of them at most. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024
/** A command's outputs may come so much later than its time is over. */
const AFTER_MS = 20_000
const WHO = "the box's keeper"

const outputForm = z.strictObject({ bytes: z.int().nonnegative(), isCut: z.boolean() })
const endedForm = z.strictObject({
  exitCode: z.int().min(0).max(255),
  isTimedOut: z.boolean(),
  stdout: outputForm,
  stderr: outputForm,
})
const signsForm = z.strictObject({
  leaseLeftMs: z.int().nonnegative(),
  activities: z.int().nonnegative(),
  isBusy: z.boolean(),
  network: z.enum(["slirp", "pasta", "none"]),
})
const processForm = z.strictObject({
  id: z.string().max(100),
  pid: z.int().nonnegative(),
  command: z.string(),
  status: z.enum(["running", "exited"]),
  exitCode: z.int().min(0).max(255).nullable(),
})
const logsForm = z
  .strictObject({
    stdout: z.string(),
    stderr: z.string(),
    replacedBytes: z.literal(true).exactOptional(),
  })
  .nullable()

/** A question to a keeper. */
interface Question {
  readonly name: string
  readonly asked: unknown
  readonly stdin?: AsyncIterable<Uint8Array> | undefined
  readonly withinMs?: number
  /** How many bytes may follow the answer. */
  readonly mostBytes?: number
}

interface Answer {
  readonly said: unknown
  readonly bytes: Buffer
}

/** A box whose keeper listens at this socket. `end` takes everything of it away. */
export function boxAt(
  { boxId, socket }: { readonly boxId: SandboxId; readonly socket: string },
  { end, pacer }: { readonly end: () => Promise<void>; readonly pacer: Pacer },
): Box {
  const ask = async <T>(form: z.ZodType<T>, question: Question): Promise<T> =>
    formed(form, (await answerTo(socket, pacer, question)).said)
  return {
    boxId,
    hello: () => ask(signsForm, { name: "hello", asked: null }),
    extend: async (leaseMs) => {
      await ask(z.literal(true), { name: "extend", asked: { leaseMs } })
    },
    run: (argv, options) => runIn(socket, pacer, { argv, options }),
    shell: (command, options) => runIn(socket, pacer, { argv: shellArgv(clean(command)), options }),
    spawn: (command, cwd = ".") =>
      ask(processForm, { name: "spawn", asked: { command: clean(command), cwd: placeOf(cwd) } }),
    processes: () => ask(z.array(processForm), { name: "processes", asked: null }),
    logs: (id) => ask(logsForm, { name: "logs", asked: { id } }),
    stopProcess: (id) => ask(z.boolean(), { name: "stop-process", asked: { id } }),
    dial: (port) => dialled(socket, pacer, port),
    stop: async () => {
      try {
        await ask(z.literal(true), { name: "stop", asked: null })
      } catch (error) {
        // One that has ended, or does not listen to reason: what is left of it is taken away as well.
        if (!(error instanceof BoxGone || error instanceof ProviderSilent)) throw error
      }
      await end()
    },
  }
}

const refusedForm = z.object({
  why: z.enum(["folder", "busy", "words"]),
  message: z.string().max(2_000),
})

function formed<T>(form: z.ZodType<T>, said: unknown): T {
  const parsed = form.safeParse(said)
  if (parsed.success) return parsed.data
  throw new ProviderSilent(`${WHO} said what no keeper says`)
}

/** No word of a command line can hold a byte of nothing. */
function clean(word: string): string {
  if (word.includes("\0")) throw new BoxRefused("words", "A command cannot hold a NUL.")
  return word
}

/** The names of variables, as every shell takes them. @throws BoxRefused where one is not */
export function environmentOf(
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  for (const name of Object.keys(variables)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new BoxRefused("words", `No variable can be called ${JSON.stringify(name)}.`)
    }
  }
  Object.values(variables).forEach(clean)
  return variables
}

const placeOf = (cwd: string): string => posix.resolve(WORKSPACE, clean(cwd))

async function runIn(
  socket: string,
  pacer: Pacer,
  { argv, options }: { readonly argv: readonly string[]; readonly options: RunOptions },
): Promise<Ran> {
  const { activity, cwd = ".", environment = {}, mostBytes, stdin, timeoutMs } = options
  const endToo = options.keeps === "ends"
  const asked: CommandAsked = {
    argv: argv.map(clean),
    cwd: placeOf(cwd),
    environment: environmentOf(environment),
    timeoutMs,
    mostBytes,
    endToo,
    activity,
    reads: stdin !== undefined,
  }
  const answer = await answerTo(socket, pacer, {
    name: "run",
    asked,
    stdin,
    withinMs: timeoutMs + AFTER_MS,
    // A sentence of the keeper's own may stand behind what a command wrote.
    mostBytes: (endToo ? 4 : 2) * mostBytes + 10_000,
  })
  const { exitCode, isTimedOut, stdout, stderr } = formed(endedForm, answer.said)
  const { bytes } = answer
  if (stdout.bytes + stderr.bytes !== bytes.length) {
    throw new ProviderSilent(`${WHO} broke off within an answer`)
  }
  return {
    exitCode,
    isTimedOut,
    isCut: { stdout: stdout.isCut, stderr: stderr.isCut },
    stdout: bytes.subarray(0, stdout.bytes),
    stderr: bytes.subarray(stdout.bytes),
  }
}

/** Asks, for as long as an answer may take. @throws ProviderSilent, BoxGone, BoxRefused */
async function answerTo(socket: string, pacer: Pacer, question: Question): Promise<Answer> {
  const leaving = new AbortController()
  const { withinMs = ANSWER_WITHIN_MS } = question
  try {
    const answer = answered(socket, question, leaving.signal)
    return await inTime(pacer, WHO, answer, withinMs)
  } finally {
    leaving.abort()
  }
}

async function answered(
  socketPath: string,
  question: Question,
  signal: AbortSignal,
): Promise<Answer> {
  const { asked, mostBytes = 0, name, stdin } = question
  const call = request({
    socketPath,
    path: `/${name}`,
    method: "POST",
    agent: false,
    signal,
    // A keeper that closed the connection with its answer might close it while we still write.
    headers: { connection: "keep-alive" },
  })
  const came = new Promise<IncomingMessage>((resolve, reject) => {
    call.once("response", resolve)
    call.on("error", reject)
  })
  const sent = pipeline(Readable.from(sending(front(asked), stdin)), call)
  try {
    // A keeper may answer before it has read everything; what is left to send is then of no use.
    const response = await Promise.race([came, sent.then(() => came)])
    sent.catch(() => undefined)
    const said = await readFront(response, MOST_ANSWER_BYTES)
    if (response.statusCode === 409) {
      const { why, message } = formed(refusedForm, said)
      throw new BoxRefused(why, message)
    }
    if (response.statusCode !== 200) throw new ProviderSilent(`${WHO} failed: ${String(said)}`)
    return { said, bytes: await allOf(response, mostBytes) }
  } catch (error) {
    throw wordsFor(error, signal)
  } finally {
    came.catch(() => undefined)
  }
}

async function* sending(
  first: Buffer,
  rest: AsyncIterable<Uint8Array> | undefined,
): AsyncIterable<Uint8Array> {
  yield first
  if (rest !== undefined) yield* rest
}

async function allOf(response: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > mostBytes) throw new ProviderSilent(`${WHO} said more than it was asked for`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** How a conversation with a keeper that has ended breaks. */
const GONE = ["ECONNREFUSED", "ENOENT", "ECONNRESET", "EPIPE"]

/** What an error of a conversation means. */
function wordsFor(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new ProviderSilent(`${WHO} did not answer in time`)
  const isGone = GONE.includes(codeOf(error) ?? "") || (error as Error).name === "Broken"
  return isGone ? new BoxGone("the box has ended", { cause: error }) : error
}

/** A connection to a port in the box; null where nobody listens there. */
async function dialled(socketPath: string, pacer: Pacer, port: number): Promise<Duplex | null> {
  const leaving = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<Duplex | null>()
  const call = request({
    socketPath,
    method: "CONNECT",
    path: `box:${port}`,
    agent: false,
    signal: leaving.signal,
  })
  call.once("connect", ({ statusCode }, socket: Duplex, head: Buffer) => {
    if (statusCode === 200) {
      if (head.length > 0) socket.unshift(head)
      return resolve(socket)
    }
    socket.destroy()
    resolve(null)
  })
  call.once("response", () => reject(new ProviderSilent(`${WHO} said what no keeper says`)))
  call.on("error", (error) => reject(wordsFor(error, leaving.signal)))
  call.end()
  try {
    return await inTime(pacer, WHO, promise)
  } catch (error) {
    leaving.abort()
    throw error
  }
}
