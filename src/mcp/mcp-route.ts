/** `POST /api/v1/mcp`: the tools of AI clients, by the Model Context Protocol. */
import { z } from "zod"
import type { Reply, Route, ErrorFormat, CheckedRequest } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { StreamedFile } from "../frame/routes/answers/answer-bodies.ts"
import type { McpTool } from "./tools.ts"
import { buildMcpTools } from "./tools.ts"
import { RELEASE } from "../frame/operator/cli/command-spec.ts"
import { jsonSchemaOf } from "../frame/http/documents/named-schemas.ts"

/** The versions of the protocol that are spoken here, the newest first. */
export const PROTOCOL_VERSIONS = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
]

const INSTRUCTIONS = `Boxes are Linux machines that hold the company's repository at /workspace/repo and work as the person
whose key this is. Start one with start_box, wait until get_box says that it is running, then run commands and read and
write files in it; push commits what was changed and pushes the box's branch. A box costs money for each minute begun:
stop_box ends it. What fails is answered with an error code and a sentence that says what to do.`

/** What messages are answered with. */
interface McpServer {
  readonly tools: ReadonlyMap<string, McpTool>
  readonly callInternally: CheckedRequest["callInternally"]
}

/**
 * Answers a message; null for a notification, which is carried out and not answered, and for a response: this
 * server asks clients nothing, and the protocol has it accept what they respond.
 */
async function answerMessage(server: McpServer, sent: unknown): Promise<McpAnswer | null> {
  if (isResponse(sent)) return null
  const message = parseMessage(sent)
  if (message === null) {
    const why =
      "This is no request: it takes jsonrpc 2.0, an id that is a text or a number, a method and perhaps params."
    return errorOf(messageIdIn(sent), "noRequest", why)
  }
  // Whoever tells something without waiting for an answer gets none, whatever comes of it.
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
      return errorOf(id, "noMethod", `There is no method ${quoted(method)} here.`)
  }
}

/** What this server is and can. Asked for a version that it does not speak, it offers its newest. */
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

/** Calls the route of a tool. Whatever that answers is a result: a model can read why it was refused. */
async function callTool(
  { tools, callInternally }: McpServer,
  params: unknown,
  id: Id,
): Promise<McpAnswer> {
  const called = ToolCall.safeParse(params)
  if (!called.success) {
    const what = called.error.issues[0]?.path.join(".") ?? ""
    const why =
      "Give tools/call a name, arguments as an object and perhaps _meta.idempotencyKey as text"
    return errorOf(id, "badParams", `${why}; look at ${what}.`)
  }
  const { name, arguments: given, _meta: meta } = called.data
  const tool = tools.get(name)
  if (tool === undefined) return errorOf(id, "badParams", `There is no tool ${quoted(name)} here.`)
  const { status, body } = await callInternally({
    ...tool.toInternalCall(given ?? {}),
    idempotencyKey: meta?.idempotencyKey ?? null,
  })
  return resultOf(id, { content: [{ type: "text", text: body }], isError: status >= 400 })
}

/** A name as it is told again, bounded. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, 64))

/** Why a message is not answered with a result (JSON-RPC 2.0, 5.1; -32001 is the specification's). */
const CODES = {
  noKey: -32_001,
  noJson: -32_700,
  noRequest: -32_600,
  noMethod: -32_601,
  badParams: -32_602,
  internal: -32_603,
} as const

const Id = z.union([z.string(), z.number()])

/** What a message is answered by: the id that it came with. */
type Id = z.infer<typeof Id>

/** A message that asks for something. Without an `id` it is a notification, which is not answered. */
const Message = z.object({
  jsonrpc: z.literal("2.0").describe("The protocol"),
  id: Id.optional().describe("Comes back with the answer; a message without one is not answered"),
  method: z.string().describe("initialize, ping, tools/list or tools/call"),
  params: z
    .looseObject({})
    .nullish()
    .describe(
      "What the method takes; of tools/call `name`, `arguments` and `_meta.idempotencyKey`",
    ),
})

/** A message. */
type Message = z.infer<typeof Message>

const { anyOf } = jsonSchemaOf(z.union([Message, z.array(Message).min(1).max(1_000)]), "input")

/** What may be sent. Nothing is refused for its form here: that is told message by message. */
const McpRequestBody = z.unknown().meta({ anyOf })

/** The answer to a message: one of both. */
export const McpAnswer = z
  .object({
    jsonrpc: z.literal("2.0").describe("The protocol"),
    id: Id.nullable().describe("That of the message; null where it has none that can be read"),
    result: z.looseObject({}).optional().describe("What came of it"),
    error: z
      .object({
        code: z.int().describe("As JSON-RPC has them; -32001 without a key that works"),
        message: z.string().describe("A sentence for people"),
        data: z
          .looseObject({})
          .optional()
          .describe("The refusal, as any other route of the API says it"),
      })
      .optional()
      .describe("Why nothing came of it"),
  })
  .meta({ id: "McpAnswer", description: "The answer to one message" })

/** An answer to a message. */
export type McpAnswer = z.infer<typeof McpAnswer>

/** The answer to a message that something came of. */
const resultOf = (id: Id, result: Record<string, unknown>): McpAnswer => ({
  jsonrpc: "2.0",
  id,
  result,
})

/** The answer to a message that nothing came of. */
function errorOf(
  id: Id | null,
  code: keyof typeof CODES,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): McpAnswer {
  const error = { code: CODES[code], message, ...(data === undefined ? {} : { data }) }
  return { jsonrpc: "2.0", id, error }
}

/** What was sent, as a message; null where it is none. */
export function parseMessage(sent: unknown): Message | null {
  return Message.safeParse(sent).data ?? null
}

/** The id of what was sent, be it a message or not; null where it has none, or is a batch. */
function messageIdIn(sent: unknown): Id | null {
  const isObject = typeof sent === "object" && sent !== null && Object.hasOwn(sent, "id")
  return isObject ? (Id.safeParse((sent as { readonly id: unknown }).id).data ?? null) : null
}

const Response = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: Id,
  error: z.looseObject({}).optional(),
})

/** Whether what was sent is the response to a request, and no message. */
function isResponse(sent: unknown): boolean {
  const response = Response.safeParse(sent).data
  if (response === undefined || "method" in response) return false
  return "result" in response || response.error !== undefined
}

/** Whether what was sent gets no answer: a notification, or a response. */
export function isUnanswered(sent: unknown): boolean {
  const message = parseMessage(sent)
  return isResponse(sent) || (message !== null && message.id === undefined)
}

/** The refusal of any other route goes along: its code and its fields are of use to programs. */
const errorFormat: ErrorFormat = {
  schema: McpAnswer,
  format: ({ status, body }, sent) =>
    errorOf(messageIdIn(sent), jsonRpcCodeOf(status, body), String(body["message"]), body),
}

/** Files are written through it: `write_file` takes as much as its route. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** The most messages of a batch. */
const MAX_MESSAGES = 1_000

const Answers = z.union([McpAnswer, z.array(McpAnswer)])

type Answered = Reply<z.infer<typeof Answers>, 200 | 202>

/** The answer where nobody waits for one. */
const ACCEPTED_REPLY: Answered = { ok: true, status: 202, body: [] }

/** The route, over all routes that are tools, which are made of them at its first call. */
export function mcpRoute(routes: readonly Route[]): Route {
  let made: ReturnType<typeof buildMcpTools> | null = null
  const tools = () => (made ??= buildMcpTools(routes))
  return route({
    name: "callMcp",
    method: "POST",
    url: "/api/v1/mcp",
    group: "mcp",
    summary: "Ask the MCP server: tools of AI clients, as JSON-RPC 2.0",
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
      "The specification does not show the results of initialize and tools/list: they are as the Model Context " +
      "Protocol has them.",
    handle: async (_ports, _caller, { body, callInternally, callerGone }): Promise<Answered> => {
      const server = { tools: tools(), callInternally: callInternally }
      if (!Array.isArray(body)) {
        const answer = await answerMessage(server, body)
        return answer === null ? ACCEPTED_REPLY : { ok: true, body: answer }
      }
      const batch: readonly unknown[] = body
      if (batch.length === 0 || batch.length > MAX_MESSAGES) {
        const why = `A batch has 1 to ${MAX_MESSAGES} messages; this one has ${batch.length}.`
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
 * The answers to a batch, one after another in its order, each sent before the next is made: all files of a
 * batch together would not fit into memory. Who went away is not worked for any more.
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
  // A body that is no JSON, as against a header or a query that is not right.
  const isOfBody = typeof fields === "object" && fields !== null && "body" in fields
  return status === 400 && isOfBody ? "noJson" : "noRequest"
}
