/** An app with sample tools, and a client for its MCP server. */
import type { FastifyInstance } from "fastify"
import { z } from "zod"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { Reply, Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { immediatePaidRoute } from "../../src/frame/effects/immediate-paid-route.ts"
import { unitPrice } from "../../src/frame/effects/price.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Slice } from "../../src/frame/slice.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import { expectContract } from "../support/api-contract.ts"

const base = {
  group: "pretended",
  summary: "Pretended",
  operation: "sandbox.read",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  isPersonKeyOnly: true,
} as const
const params = z.object({ id: z.string().describe("The thing's id") })
const reads = { readOnlyHint: true, destructiveHint: false }
const changes = { readOnlyHint: false, destructiveHint: false }
const Size = z.enum(["small", "large"]).meta({ id: "PretendedSize", description: "How large" })

/** Lists things; its arguments are query parameters. */
export const listThingsTool = route({
  ...base,
  name: "toolListThings",
  method: "GET",
  url: "/api/v1/pretended/tools",
  query: z.object({
    all: z.literal("1").optional().describe("Of all people"),
    path: z.string().optional().describe("Where to look"),
    hidden: z.literal("1").optional().describe("No argument of the tool"),
  }),
  reply: z.looseObject({}),
  tool: {
    name: "list_things",
    title: "List things",
    description: "Lists things.",
    arguments: { query: ["all", "path"] },
    annotations: reads,
  },
  handle: async (_ports, _caller, { query, rawRequest }) => ({
    ok: true,
    body: { ...query, target: rawRequest.target },
  }),
})

/** Returns the headers and target of its call; rejects the id `none` and throws for `broken`. */
export const getThingTool = route({
  ...base,
  name: "toolGetThing",
  method: "GET",
  url: "/api/v1/pretended/tools/:id",
  params,
  reply: z.looseObject({}),
  refusalCodes: ["not_found"],
  tool: {
    name: "get_thing",
    title: "Get a thing",
    description: "Gets a thing.",
    arguments: { path: { thing: "id" } },
    annotations: reads,
  },
  handle: async (
    _ports,
    { requestId },
    { params: { id }, rawRequest },
  ): Promise<Reply<Record<string, unknown>>> => {
    if (id === "none")
      return { ok: false, refusal: refusal("not_found", "There is no such thing.") }
    if (id === "broken") throw new Error("a fault within, which no caller sees")
    const { headers, target, address } = rawRequest
    return { ok: true, body: { id, requestId, headers, target, address } }
  },
})

/** The changes made, in order. */
export const changesMade: string[] = []

/** A hook that runs before each change. */
export const changeGate: { before: (stopping: AbortSignal) => Promise<void> } = {
  before: async () => undefined,
}

const ThingChange = z.object({
  text: z.string().max(5_000_000).describe("What to write"),
  times: z.int().min(1).max(9).default(1).describe("How often"),
  note: z.string().nullable().optional().describe("A note"),
  size: Size.optional(),
  budget: z.number().min(0.01).max(500).nullable().optional().describe("Dollars"),
  secretly: z.boolean().optional().describe("No argument of the tool"),
})

/** Changes a thing; its arguments are in the path and the body. */
export const changeThingTool = route({
  ...base,
  name: "toolChangeThing",
  method: "PUT",
  url: "/api/v1/pretended/tools/:id/content",
  operation: "sandbox.exec",
  params,
  body: ThingChange,
  bodyLimitBytes: 32 * 1024 * 1024,
  reply: z.looseObject({}),
  tool: {
    name: "change_thing",
    title: "Change a thing",
    description: "Changes a thing.",
    arguments: { path: { thing: "id" }, body: ["text", "times", "note", "size", "budget"] },
    annotations: changes,
  },
  handle: async (_ports, _caller, { params: { id }, body, stopping }) => {
    const { text, ...rest } = body
    await changeGate.before(stopping)
    changesMade.push(text.slice(0, 20))
    return { ok: true, body: { id, length: text.length, ...rest } }
  },
})

/** Deletes a thing; it has a required query parameter and no body. */
const deleteThingTool = route({
  ...base,
  name: "toolDeleteThing",
  method: "DELETE",
  url: "/api/v1/pretended/tools/:id/content",
  operation: "sandbox.files.write",
  params,
  query: z.object({ path: z.string().describe("What to delete") }),
  reply: z.looseObject({}),
  tool: {
    name: "delete_thing",
    title: "Delete a thing",
    description: "Deletes a thing.",
    arguments: { path: { thing: "id" }, query: ["path"] },
    annotations: { readOnlyHint: false, destructiveHint: true },
  },
  handle: async (_ports, _caller, { params: { id }, query }) => ({
    ok: true,
    body: { id, ...query },
  }),
})

/** Buys a thing; each call is charged. */
const buyThingTool = immediatePaidRoute({
  ...base,
  name: "toolBuyThing",
  method: "POST",
  url: "/api/v1/pretended/tools",
  body: z.object({ about: z.string().describe("What it is about") }),
  reply: z.object({ hint: z.string() }),
  refusalCodes: ["conflict", "spend_limit_reached", "payment_required"],
  tool: {
    name: "buy_thing",
    title: "Buy a thing",
    description: "Buys a thing.",
    arguments: { body: ["about"] },
    annotations: changes,
  },
  price: (ports) => unitPrice(ports, "address_suggestion"),
  provider: "the finder",
  callProvider: async (_ports, _caller, { body }) => {
    changesMade.push(`bought ${body.about}`)
    return { reply: { hint: `${body.about} ${changesMade.length}` } }
  },
  refundReason: "the finder returned no result",
})

export const SAMPLE_TOOLS: readonly Route[] = [
  listThingsTool,
  getThingTool,
  changeThingTool,
  deleteThingTool,
  buyThingTool,
]

export const sampleToolsSlice: Slice = {
  name: "pretended",
  groups: { pretended: "Sample routes of the tests." },
  routes: SAMPLE_TOOLS,
}

export const MCP_PATH = "/api/v1/mcp"

const PROGRAM_WITH_TOOLS = assemble([...SLICES, sampleToolsSlice])

/** Builds the program's app with the sample tools. The caller closes it. */
export async function appWithTools(
  ports: Ports,
  rateLimits: "on" | "off" = "off",
): Promise<FastifyInstance> {
  const { entries, retiredPaths } = PROGRAM_WITH_TOOLS
  const app = await buildApp(ports, entries, retiredPaths, { rateLimits })
  await app.ready()
  return app
}

interface McpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // Each test asserts the shape that it expects.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** Sends a body with a key. Text and bytes are sent unchanged, other values as JSON. */
export async function postMcp(
  app: FastifyInstance,
  key: string | null,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<McpAnswer> {
  const answer = await app.inject({
    method: "POST",
    url: MCP_PATH,
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    payload: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  })
  const isJson = String(answer.headers["content-type"]).startsWith("application/json")
  const found = {
    status: answer.statusCode,
    headers: answer.headers,
    body: isJson ? (answer.json() as unknown) : answer.body,
  }
  expectContract("POST", MCP_PATH, found)
  return found
}

/** Builds a JSON-RPC request. */
export const mcpMessage = (method: string, given?: unknown, id: unknown = 1): object => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(given === undefined ? {} : { params: given }),
})

/** Builds a message that calls a tool. */
export const toolCallMessage = (
  name: string,
  given: object = {},
  id: unknown = 1,
  meta?: object,
): object =>
  mcpMessage(
    "tools/call",
    { name, arguments: given, ...(meta === undefined ? {} : { _meta: meta }) },
    id,
  )

/** Reads a tool's result from an answer to `tools/call`. */
export function toolResultOf({ result }: McpAnswer["body"]): {
  readonly isError: boolean
  // Each test asserts the shape that it expects.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly answer: any
} {
  const { content, isError } = result
  return { isError, answer: JSON.parse(content[0].text) as unknown }
}
