/** `POST /api/v1/mcp`: tools for AI clients by the Model Context Protocol. */
import { z } from "zod"
import type { Reply, Route, ErrorFormat, CheckedRequest } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { StreamedFile } from "../frame/routes/answers/answer-bodies.ts"
import type { McpTool } from "./tools.ts"
import { buildMcpTools } from "./tools.ts"
import { RELEASE } from "../frame/operator/cli/command-spec.ts"
import { jsonSchemaOf } from "../frame/http/documents/named-schemas.ts"

/** The supported protocol versions, newest first. */
export const PROTOCOL_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
]

const INSTRUCTIONS = `Boxes are Linux machines that hold the company's repository at /workspace/repo and act as the owner of
this key. Start one with start_box, wait until get_box reports it as running, then run commands and read and write
files in it; push commits the changes and pushes the box's branch. A box costs money for each started minute; stop_box
ends it. Errors have a code and a sentence that says what to do.`

/** What messages are handled with. */
interface McpServer {
  readonly tools: ReadonlyMap<string, McpTool>
  readonly callInternally: CheckedRequest["callInternally"]
}

/**
 * Answers a message. Null for a notification, which is executed without an answer, and for a response: this server
 * sends no requests, but the protocol requires it to accept responses.
 */
async function answerMessage(server: McpServer, sent: unknown): Promise<McpAnswer | null> {
  if (isResponse(sent)) return null
  const message = parseMessage(sent)
  if (message === null) {
    const why =
      'This is not a valid request. Send "jsonrpc": "2.0", an id (text or number), a method and optional params.'
    return errorOf(messageIdIn(sent), "noRequest", why)
  }
  // A notification gets no answer, not even an error.
  const answer = await handleMessage(server, message, message.id ?? "")
  return message.id === undefined ? null : answer
}

async function handleMessage(server: McpServer, { method, params: sent }: Message, id: Id) {
  const params = sent ?? {}
  switch (method) {
    case "initialize":
      return resultOf(id, initializeResult(params["protocolVersion"]))
    case "ping":
      return resultOf(id, {})
    case "tools/list":
      return resultOf(id, { tools: [...server.tools.values()].map(({ definition }) => definition) })
    case "tools/call":
      return callTool(server, params, id)
    default:
      return errorOf(id, "noMethod", `There is no method ${quoted(method)}.`)
  }
}

/** Describes this server. It offers its newest version if it does not support the requested one. */
function initializeResult(asked: unknown): Record<string, unknown> {
  return {
    protocolVersion: PROTOCOL_VERSIONS.find((version) => version === asked) ?? PROTOCOL_VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: "company-ledger", version: RELEASE },
    instructions: INSTRUCTIONS,
  }
}

const ToolCall = z.object({
  name: z.string(),
  // Clients of languages without absent fields send null.
  arguments: z.record(z.string(), z.unknown()).nullish(),
  _meta: z.object({ idempotencyKey: z.string().nullish() }).nullish(),
})

/** Calls the route of a tool. A refusal is a result too, so that a model can read the reason. */
async function callTool(
  { tools, callInternally }: McpServer,
  params: unknown,
  id: Id,
): Promise<McpAnswer> {
  const called = ToolCall.safeParse(params)
  if (!called.success) {
    const field = called.error.issues[0]?.path.join(".") ?? ""
    const why =
      "Send tools/call with a name, arguments as an object and an optional text _meta.idempotencyKey"
    return errorOf(id, "badParams", `${why}. Check ${field}.`)
  }
  const { name, arguments: given, _meta: meta } = called.data
  const tool = tools.get(name)
  if (tool === undefined) return errorOf(id, "badParams", `There is no tool ${quoted(name)}.`)
  const { status, body } = await callInternally({
    ...tool.toInternalCall(given ?? {}),
    idempotencyKey: meta?.idempotencyKey ?? null,
  })
  return resultOf(id, { content: [{ type: "text", text: body }], isError: status >= 400 })
}

/** Quotes a caller's name in a message, shortened. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, 64))

/** Error codes (JSON-RPC 2.0, 5.1; -32001 is from the specification). */
const CODES = {
  noKey: -32_001,
  noJson: -32_700,
  noRequest: -32_600,
  noMethod: -32_601,
  badParams: -32_602,
  internal: -32_603,
} as const

const Id = z.union([z.string(), z.number()])

/** The id of a message, which its answer repeats. */
type Id = z.infer<typeof Id>

/** A request; without an `id` it is a notification. */
const Message = z.object({
  jsonrpc: z.literal("2.0").describe("The protocol"),
  id: Id.optional().describe("Repeated in the answer; a message without an id is not answered"),
  method: z.string().describe("initialize, ping, tools/list or tools/call"),
  params: z
    .looseObject({})
    .nullish()
    .describe(
      "Parameters of the method; for tools/call `name`, `arguments` and `_meta.idempotencyKey`",
    ),
})

type Message = z.infer<typeof Message>

const { anyOf } = jsonSchemaOf(z.union([Message, z.array(Message).min(1).max(1_000)]), "input")

/** The request body. It accepts anything, because each message of a batch gets its own error. */
const McpRequestBody = z.unknown().meta({ anyOf })

/** The answer to a message: a result or an error. */
export const McpAnswer = z
  .object({
    jsonrpc: z.literal("2.0").describe("The protocol"),
    id: Id.nullable().describe("The message's id; null if it has no readable id"),
    result: z.looseObject({}).optional().describe("The result"),
    error: z
      .object({
        code: z.int().describe("A JSON-RPC error code; -32001 without a valid key"),
        message: z.string().describe("A sentence for people"),
        data: z
          .looseObject({})
          .optional()
          .describe("The refusal in the format of the other API routes"),
      })
      .optional()
      .describe("The error"),
  })
  .meta({ id: "McpAnswer", description: "The answer to one message" })

export type McpAnswer = z.infer<typeof McpAnswer>

const resultOf = (id: Id, result: Record<string, unknown>): McpAnswer => ({
  jsonrpc: "2.0",
  id,
  result,
})

function errorOf(
  id: Id | null,
  code: keyof typeof CODES,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): McpAnswer {
  const error = { code: CODES[code], message, ...(data === undefined ? {} : { data }) }
  return { jsonrpc: "2.0", id, error }
}

/** Parses a message; null if it is not one. */
export function parseMessage(sent: unknown): Message | null {
  return Message.safeParse(sent).data ?? null
}

/** Returns the id of a sent value, even if it is not a valid message; null if it has none or is a batch. */
function messageIdIn(sent: unknown): Id | null {
  const isObject = typeof sent === "object" && sent !== null && Object.hasOwn(sent, "id")
  return isObject ? (Id.safeParse((sent as { readonly id: unknown }).id).data ?? null) : null
}

const Response = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: Id,
  error: z.looseObject({}).optional(),
})

/** Whether a sent value is a response to a request. */
function isResponse(sent: unknown): boolean {
  const response = Response.safeParse(sent).data
  if (response === undefined || "method" in response) return false
  return "result" in response || response.error !== undefined
}

/** Whether a sent value gets no answer: a notification or a response. */
export function isUnanswered(sent: unknown): boolean {
  const message = parseMessage(sent)
  return isResponse(sent) || (message !== null && message.id === undefined)
}

/** Formats refusals as JSON-RPC errors, with the refusal's code and fields as data for programs. */
const errorFormat: ErrorFormat = {
  schema: McpAnswer,
  format: ({ status, body }, sent) =>
    errorOf(messageIdIn(sent), jsonRpcCodeOf(status, body), String(body["message"]), body),
}

/** `write_file` takes files as large as its route does. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** Maximum number of messages in a batch. */
const MAX_MESSAGES = 1_000

const Answers = z.union([McpAnswer, z.array(McpAnswer)])

type Answered = Reply<z.infer<typeof Answers>, 200 | 202>

/** The answer to notifications and responses. */
const ACCEPTED_REPLY: Answered = { ok: true, status: 202, body: [] }

/** Creates the route over all routes that are tools; the tools are built at its first call. */
export function mcpRoute(routes: readonly Route[]): Route {
  let made: ReturnType<typeof buildMcpTools> | null = null
  const tools = () => (made ??= buildMcpTools(routes))
  return route({
    name: "callMcp",
    method: "POST",
    url: "/api/v1/mcp",
    group: "mcp",
    summary: "Call the MCP server: tools for AI clients, as JSON-RPC 2.0",
    example: {
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: PROTOCOL_VERSIONS[0],
          capabilities: {},
          clientInfo: { name: "my-agent", version: "1.0.0" },
        },
      },
    },
    operation: null,
    isCounted: false,
    body: McpRequestBody,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    statuses: [200, 202],
    bodilessStatuses: [202],
    reply: Answers,
    errorFormat,
    specGap:
      "The specification does not show the results of initialize and tools/list: they follow the Model Context " +
      "Protocol.",
    handle: async (_ports, _caller, { body, callInternally, callerGone }): Promise<Answered> => {
      const server = { tools: tools(), callInternally: callInternally }
      if (!Array.isArray(body)) {
        const answer = await answerMessage(server, body)
        return answer === null ? ACCEPTED_REPLY : { ok: true, body: answer }
      }
      const batch: readonly unknown[] = body
      if (batch.length === 0 || batch.length > MAX_MESSAGES) {
        const why = `A batch takes 1 to ${MAX_MESSAGES} messages; this one has ${batch.length}.`
        return { ok: true, body: errorOf(null, "noRequest", why) }
      }
      if (!batch.every(isUnanswered))
        return { ok: true, body: [], streamedBody: batchAnswerFile(server, batch) }
      for (const message of batch) {
        if (!callerGone.aborted) await answerMessage(server, message)
      }
      return ACCEPTED_REPLY
    },
  })
}

/**
 * Streams the answers to a batch in its order. Each is sent before the next message is handled, because all files of
 * a batch would not fit into memory; it stops when the caller disconnects.
 */
function batchAnswerFile(server: McpServer, batch: readonly unknown[]): StreamedFile {
  return {
    mediaType: "application/json; charset=utf-8",
    name: null,
    write: async ({ send, signal }) => {
      let before = "["
      for (const message of batch) {
        signal.throwIfAborted()
        const answer = await answerMessage(server, message)
        if (answer === null) continue
        await send(before + JSON.stringify(answer))
        before = ","
      }
      await send("]")
    },
  }
}

function jsonRpcCodeOf(
  status: number,
  { fields }: Readonly<Record<string, unknown>>,
): keyof typeof CODES {
  if (status === 401) return "noKey"
  if (status >= 500) return "internal"
  // The body is not JSON; other 400s concern a header or the query.
  const isBodyFault = typeof fields === "object" && fields !== null && "body" in fields
  return status === 400 && isBodyFault ? "noJson" : "noRequest"
}
