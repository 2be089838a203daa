/** A box, asked over the socket of its keeper. What a keeper answers is a stranger's word: it may be the box's. */
import { type IncomingMessage, request } from "node:http"
import { posix } from "node:path"
import { type Duplex, Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { z } from "zod"
import type { Pacer } from "../../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, withProviderTimeout } from "../../../providers/provider-errors.ts"
import {
  type BoxHandle,
  BoxGone,
  BoxRequestRejected,
  type CommandResult,
  type CommandOptions,
  type SandboxId,
  WORKSPACE,
} from "../port.ts"
import { encodeMessage, readMessage } from "./agent/framing.ts"
import type { CommandRequest } from "./agent/plan.ts"
import { shellArgv } from "./agent/shell.ts"
import { systemErrorCodeOf } from "./programs.ts"

const REPLY_TIMEOUT_MS = 10_000
/** Two logs, and what JSON makes of them at most. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024
/** A command's outputs may come so much later than its time is over. */
const OUTPUT_GRACE_MS = 20_000
const AGENT_NAME = "the box's keeper"

const outputSchema = z.strictObject({ bytes: z.int().nonnegative(), isCut: z.boolean() })
const commandReplySchema = z.strictObject({
  exitCode: z.int().min(0).max(255),
  isTimedOut: z.boolean(),
  stdout: outputSchema,
  stderr: outputSchema,
})
const healthSchema = z.strictObject({
  leaseLeftMs: z.int().nonnegative(),
  activities: z.int().nonnegative(),
  isBusy: z.boolean(),
  network: z.enum(["slirp", "pasta", "none"]),
})
const processSchema = z.strictObject({
  id: z.string().max(100),
  pid: z.int().nonnegative(),
  command: z.string(),
  status: z.enum(["running", "exited"]),
  exitCode: z.int().min(0).max(255).nullable(),
})
const logsSchema = z
  .strictObject({
    stdout: z.string(),
    stderr: z.string(),
    replacedBytes: z.literal(true).exactOptional(),
  })
  .nullable()

/** A question to a keeper. */
interface AgentRequest {
  readonly name: string
  readonly body: unknown
  readonly stdin?: AsyncIterable<Uint8Array> | undefined
  readonly timeoutMs?: number
  /** How many bytes may follow the answer. */
  readonly maxBytes?: number
}

interface AgentReply {
  readonly body: unknown
  readonly bytes: Buffer
}

/** A box whose keeper listens at this socket. `end` takes everything of it away. */
export function openBoxHandle(
  { boxId, socket }: { readonly boxId: SandboxId; readonly socket: string },
  { end, pacer }: { readonly end: () => Promise<void>; readonly pacer: Pacer },
): BoxHandle {
  const ask = async <T>(form: z.ZodType<T>, question: AgentRequest): Promise<T> =>
    parseReply(form, (await requestAgent(socket, pacer, question)).body)
  return {
    boxId,
    readHealth: () => ask(healthSchema, { name: "hello", body: null }),
    extend: async (leaseMs) => {
      await ask(z.literal(true), { name: "extend", body: { leaseMs } })
    },
    run: (argv, options) => runCommand(socket, pacer, { argv, options }),
    runShell: (command, options) =>
      runCommand(socket, pacer, { argv: shellArgv(checkNoNul(command)), options }),
    spawn: (command, cwd = ".") =>
      ask(processSchema, {
        name: "spawn",
        body: { command: checkNoNul(command), cwd: resolvePath(cwd) },
      }),
    listProcesses: () => ask(z.array(processSchema), { name: "processes", body: null }),
    readLogs: (id) => ask(logsSchema, { name: "logs", body: { id } }),
    stopProcess: (id) => ask(z.boolean(), { name: "stop-process", body: { id } }),
    connectToPort: (port) => connectToPort(socket, pacer, port),
    stop: async () => {
      try {
        await ask(z.literal(true), { name: "stop", body: null })
      } catch (error) {
        // One that has ended, or does not listen to reason: what is left of it is taken away as well.
        if (!(error instanceof BoxGone || error instanceof ProviderOutcomeUnknown)) throw error
      }
      await end()
    },
  }
}

const rejectionSchema = z.object({
  why: z.enum(["folder", "busy", "words"]),
  message: z.string().max(2_000),
})

function parseReply<T>(form: z.ZodType<T>, said: unknown): T {
  const parsed = form.safeParse(said)
  if (parsed.success) return parsed.data
  throw new ProviderOutcomeUnknown(`${AGENT_NAME} said what no keeper says`)
}

/** No word of a command line can hold a byte of nothing. */
function checkNoNul(word: string): string {
  if (word.includes("\0")) throw new BoxRequestRejected("words", "A command cannot hold a NUL.")
  return word
}

/** The names of variables, as every shell takes them. @throws BoxRequestRejected where one is not */
export function checkEnvironment(
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  for (const name of Object.keys(variables)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new BoxRequestRejected("words", `No variable can be called ${JSON.stringify(name)}.`)
    }
  }
  Object.values(variables).forEach(checkNoNul)
  return variables
}

const resolvePath = (cwd: string): string => posix.resolve(WORKSPACE, checkNoNul(cwd))

async function runCommand(
  socket: string,
  pacer: Pacer,
  { argv, options }: { readonly argv: readonly string[]; readonly options: CommandOptions },
): Promise<CommandResult> {
  const { isActivity, cwd = ".", environment = {}, maxOutputBytes, stdin, timeoutMs } = options
  const endToo = options.keptOutput === "ends"
  const body: CommandRequest = {
    argv: argv.map(checkNoNul),
    cwd: resolvePath(cwd),
    environment: checkEnvironment(environment),
    timeoutMs,
    mostBytes: maxOutputBytes,
    endToo,
    activity: isActivity,
    reads: stdin !== undefined,
  }
  const answer = await requestAgent(socket, pacer, {
    name: "run",
    body,
    stdin,
    timeoutMs: timeoutMs + OUTPUT_GRACE_MS,
    // A sentence of the keeper's own may stand behind what a command wrote.
    maxBytes: (endToo ? 4 : 2) * maxOutputBytes + 10_000,
  })
  const { exitCode, isTimedOut, stdout, stderr } = parseReply(commandReplySchema, answer.body)
  const { bytes } = answer
  if (stdout.bytes + stderr.bytes !== bytes.length) {
    throw new ProviderOutcomeUnknown(`${AGENT_NAME} broke off within an answer`)
  }
  return {
    exitCode,
    isTimedOut,
    isTruncated: { stdout: stdout.isCut, stderr: stderr.isCut },
    stdout: bytes.subarray(0, stdout.bytes),
    stderr: bytes.subarray(stdout.bytes),
  }
}

/** Asks, for as long as an answer may take. @throws ProviderOutcomeUnknown, BoxGone, BoxRefused */
async function requestAgent(
  socket: string,
  pacer: Pacer,
  question: AgentRequest,
): Promise<AgentReply> {
  const leaving = new AbortController()
  const { timeoutMs = REPLY_TIMEOUT_MS } = question
  try {
    const answer = sendRequest(socket, question, leaving.signal)
    return await withProviderTimeout(pacer, AGENT_NAME, answer, timeoutMs)
  } finally {
    leaving.abort()
  }
}

async function sendRequest(
  socketPath: string,
  question: AgentRequest,
  signal: AbortSignal,
): Promise<AgentReply> {
  const { body, maxBytes = 0, name, stdin } = question
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
  const sent = pipeline(Readable.from(requestBody(encodeMessage(body), stdin)), call)
  try {
    // A keeper may answer before it has read everything; what is left to send is then of no use.
    const response = await Promise.race([came, sent.then(() => came)])
    sent.catch(() => undefined)
    const replyBody = await readMessage(response, MAX_REPLY_BYTES)
    if (response.statusCode === 409) {
      const { why, message } = parseReply(rejectionSchema, replyBody)
      throw new BoxRequestRejected(why, message)
    }
    if (response.statusCode !== 200)
      throw new ProviderOutcomeUnknown(`${AGENT_NAME} failed: ${String(replyBody)}`)
    return { body: replyBody, bytes: await readAll(response, maxBytes) }
  } catch (error) {
    throw translateError(error, signal)
  } finally {
    came.catch(() => undefined)
  }
}

async function* requestBody(
  first: Buffer,
  rest: AsyncIterable<Uint8Array> | undefined,
): AsyncIterable<Uint8Array> {
  yield first
  if (rest !== undefined) yield* rest
}

async function readAll(response: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > mostBytes)
      throw new ProviderOutcomeUnknown(`${AGENT_NAME} said more than it was asked for`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** How a conversation with a keeper that has ended breaks. */
const BOX_GONE_CODES = ["ECONNREFUSED", "ENOENT", "ECONNRESET", "EPIPE"]

/** What an error of a conversation means. */
function translateError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new ProviderOutcomeUnknown(`${AGENT_NAME} did not answer in time`)
  const isGone =
    BOX_GONE_CODES.includes(systemErrorCodeOf(error) ?? "") || (error as Error).name === "Broken"
  return isGone ? new BoxGone("the box has ended", { cause: error }) : error
}

/** A connection to a port in the box; null where nobody listens there. */
async function connectToPort(
  socketPath: string,
  pacer: Pacer,
  port: number,
): Promise<Duplex | null> {
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
  call.once("response", () =>
    reject(new ProviderOutcomeUnknown(`${AGENT_NAME} said what no keeper says`)),
  )
  call.on("error", (error) => reject(translateError(error, leaving.signal)))
  call.end()
  try {
    return await withProviderTimeout(pacer, AGENT_NAME, promise)
  } catch (error) {
    leaving.abort()
    throw error
  }
}
