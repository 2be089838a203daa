/**
 * A handle of a box, over its agent's socket. The agent's answers are untrusted, because the box
 * may forge them.
 */
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
/** Two logs with JSON's longest escapes. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024
/** How much later than its timeout a command's outputs may arrive. */
const OUTPUT_GRACE_MS = 20_000
const AGENT_NAME = "the box agent"

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

interface AgentRequest {
  readonly name: string
  readonly body: unknown
  readonly stdin?: AsyncIterable<Uint8Array> | undefined
  readonly timeoutMs?: number
  /** Maximum number of bytes after the answer. */
  readonly maxBytes?: number
}

interface AgentReply {
  readonly body: unknown
  readonly bytes: Buffer
}

/**
 * Opens a handle of the box whose agent listens at this socket. `end` removes everything of the
 * box.
 */
export function openBoxHandle(
  { boxId, socket }: { readonly boxId: SandboxId; readonly socket: string },
  { end, pacer }: { readonly end: () => Promise<void>; readonly pacer: Pacer },
): BoxHandle {
  const ask = async <T>(schema: z.ZodType<T>, agentRequest: AgentRequest): Promise<T> =>
    parseReply(schema, (await requestAgent(socket, pacer, agentRequest)).body)
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
        // A box that has ended or does not answer is removed as well.
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

function parseReply<T>(schema: z.ZodType<T>, reply: unknown): T {
  const parsed = schema.safeParse(reply)
  if (parsed.success) return parsed.data
  throw new ProviderOutcomeUnknown(`the answer of ${AGENT_NAME} does not have the expected form`)
}

/** An argument cannot contain a NUL byte. */
function checkNoNul(word: string): string {
  if (word.includes("\0"))
    throw new BoxRequestRejected("words", "A command must not contain a NUL byte.")
  return word
}

/** Checks that variable names are valid in every shell. @throws BoxRequestRejected if one is not */
export function checkEnvironment(
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  for (const name of Object.keys(variables)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new BoxRequestRejected(
        "words",
        `${JSON.stringify(name)} is not a valid variable name: use letters, digits and underscores.`,
      )
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
    // The agent may add a line of its own to the outputs.
    maxBytes: (endToo ? 4 : 2) * maxOutputBytes + 10_000,
  })
  const { exitCode, isTimedOut, stdout, stderr } = parseReply(commandReplySchema, answer.body)
  const { bytes } = answer
  if (stdout.bytes + stderr.bytes !== bytes.length) {
    throw new ProviderOutcomeUnknown(`${AGENT_NAME} broke off its answer`)
  }
  return {
    exitCode,
    isTimedOut,
    isTruncated: { stdout: stdout.isCut, stderr: stderr.isCut },
    stdout: bytes.subarray(0, stdout.bytes),
    stderr: bytes.subarray(stdout.bytes),
  }
}

/**
 * Sends a request and waits for the answer. @throws ProviderOutcomeUnknown, BoxGone,
 * BoxRequestRejected
 */
async function requestAgent(
  socket: string,
  pacer: Pacer,
  agentRequest: AgentRequest,
): Promise<AgentReply> {
  const aborting = new AbortController()
  const { timeoutMs = REPLY_TIMEOUT_MS } = agentRequest
  try {
    const answer = sendRequest(socket, agentRequest, aborting.signal)
    return await withProviderTimeout(pacer, AGENT_NAME, answer, timeoutMs)
  } finally {
    aborting.abort()
  }
}

async function sendRequest(
  socketPath: string,
  agentRequest: AgentRequest,
  signal: AbortSignal,
): Promise<AgentReply> {
  const { body, maxBytes = 0, name, stdin } = agentRequest
  const call = request({
    socketPath,
    path: `/${name}`,
    method: "POST",
    agent: false,
    signal,
    // If the agent closed the connection with its answer, our writes could fail.
    headers: { connection: "keep-alive" },
  })
  const received = new Promise<IncomingMessage>((resolve, reject) => {
    call.once("response", resolve)
    call.on("error", reject)
  })
  const sent = pipeline(Readable.from(requestBody(encodeMessage(body), stdin)), call)
  try {
    // The agent may answer before it has read everything; the rest of the request is then dropped.
    const response = await Promise.race([received, sent.then(() => received)])
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
    received.catch(() => undefined)
  }
}

async function* requestBody(
  first: Buffer,
  rest: AsyncIterable<Uint8Array> | undefined,
): AsyncIterable<Uint8Array> {
  yield first
  if (rest !== undefined) yield* rest
}

async function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes)
      throw new ProviderOutcomeUnknown(`${AGENT_NAME} sent more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Error codes of an exchange whose agent has ended. */
const BOX_GONE_CODES = ["ECONNREFUSED", "ENOENT", "ECONNRESET", "EPIPE"]

/** Maps an error of an exchange to the port's errors. */
function translateError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return new ProviderOutcomeUnknown(`${AGENT_NAME} did not answer in time`)
  const isGone =
    BOX_GONE_CODES.includes(systemErrorCodeOf(error) ?? "") || (error as Error).name === "Broken"
  return isGone ? new BoxGone("the box has ended", { cause: error }) : error
}

/** Connects to a port in the box; null if nothing listens. */
async function connectToPort(
  socketPath: string,
  pacer: Pacer,
  port: number,
): Promise<Duplex | null> {
  const aborting = new AbortController()
  const { promise, resolve, reject } = Promise.withResolvers<Duplex | null>()
  const call = request({
    socketPath,
    method: "CONNECT",
    path: `box:${port}`,
    agent: false,
    signal: aborting.signal,
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
    reject(new ProviderOutcomeUnknown(`${AGENT_NAME} gave an unexpected answer to CONNECT`)),
  )
  call.on("error", (error) => reject(translateError(error, aborting.signal)))
  call.end()
  try {
    return await withProviderTimeout(pacer, AGENT_NAME, promise)
  } catch (error) {
    aborting.abort()
    throw error
  }
}
