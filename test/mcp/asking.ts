/** An installation with tools that are not there, and how its MCP server is asked. */
import type { FastifyInstance } from "fastify"
import { z } from "zod"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import type { Reply, Route } from "../../src/frame/routes/declare/route.ts"
import { route } from "../../src/frame/routes/declare/route.ts"
import { paidAtOnce } from "../../src/frame/effects/paid-at-once.ts"
import { priceOfOne } from "../../src/frame/effects/price.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Slice } from "../../src/frame/slice.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import { expectContract } from "../support/reply-contract.ts"

const base = {
  group: "pretended",
  summary: "Pretended",
  operation: "sandbox.read",
  counted: true,
  limit: RATE_LIMITS.paid,
  personKey: true,
} as const
const params = z.object({ id: z.string().describe("The thing's id") })
const reads = { readOnlyHint: true, destructiveHint: false }
const changes = { readOnlyHint: false, destructiveHint: false }
const Size = z.enum(["small", "large"]).meta({ id: "PretendedSize", description: "How large" })

/** Lists, with what only a query says. */
export const listThings = route({
  ...base,
  name: "toolListThings",
  method: "GET",
  url: "/api/v1/pretended/tools",
  query: z.object({
    all: z.literal("1").optional().describe("Everybody's"),
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
  handle: async (_ports, _caller, { query, sent }) => ({
    ok: true,
    body: { ...query, target: sent.target },
  }),
})

/** Shows how its call was sent, or that there is no such thing. */
export const getThing = route({
  ...base,
  name: "toolGetThing",
  method: "GET",
  url: "/api/v1/pretended/tools/:id",
  params,
  reply: z.looseObject({}),
  refuses: ["not_found"],
  tool: {
    name: "get_thing",
    title: "Get a thing",
    description: "Tells of a thing.",
    arguments: { path: { thing: "id" } },
    annotations: reads,
  },
  handle: async (
    _ports,
    { requestId },
    { params: { id }, sent },
  ): Promise<Reply<Record<string, unknown>>> => {
    if (id === "none")
      return { ok: false, refusal: refusal("not_found", "There is no such thing.") }
    if (id === "broken") throw new Error("a fault within, that nobody is told of")
    const { headers, target, address } = sent
    return { ok: true, body: { id, requestId, headers, target, address } }
  },
})

/** What was changed, in its order. */
export const changed: string[] = []

/** What a change waits for before it is done. */
export const waits: { before: (stopping: AbortSignal) => Promise<void> } = {
  before: async () => undefined,
}

const Change = z.object({
  text: z.string().max(5_000_000).describe("What to write"),
  times: z.int().min(1).max(9).default(1).describe("How often"),
  note: z.string().nullable().optional().describe("A note"),
  size: Size.optional(),
  budget: z.number().min(0.01).max(500).nullable().optional().describe("Dollars"),
  secretly: z.boolean().optional().describe("No argument of the tool"),
})

/** Takes a body. */
export const changeThing = route({
  ...base,
  name: "toolChangeThing",
  method: "PUT",
  url: "/api/v1/pretended/tools/:id/content",
  operation: "sandbox.exec",
  params,
  body: Change,
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
    await waits.before(stopping)
    changed.push(text.slice(0, 20))
    return { ok: true, body: { id, length: text.length, ...rest } }
  },
})

/** Needs a parameter of its query, and takes no body. */
const deleteThing = route({
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

/** Charges. */
const buyThing = paidAtOnce({
  ...base,
  name: "toolBuyThing",
  method: "POST",
  url: "/api/v1/pretended/tools",
  body: z.object({ about: z.string().describe("What it is about") }),
  reply: z.object({ hint: z.string() }),
  refuses: ["conflict", "spend_limit_reached", "payment_required"],
  tool: {
    name: "buy_thing",
    title: "Buy a thing",
    description: "Buys a thing.",
    arguments: { body: ["about"] },
    annotations: changes,
  },
  price: (ports) => priceOfOne(ports, "address_suggestion"),
  provider: "the finder",
  act: async (_ports, _caller, { body }) => {
    changed.push(`bought ${body.about}`)
    return { reply: { hint: `${body.about} ${changed.length}` } }
  },
  undone: "the finder did not find anything out",
})

/** All of them. */
export const TOOLS: readonly Route[] = [listThings, getThing, changeThing, deleteThing, buyThing]

/** The slice. */
export const pretendedTools: Slice = {
  name: "pretended",
  groups: { pretended: "What is not there." },
  routes: TOOLS,
}

/** Where it is. */
export const MCP = "/api/v1/mcp"

/** The program with them. */
const PROGRAM_WITH_TOOLS = assemble([...SLICES, pretendedTools])

/** The program's app, with them. Its caller closes it. */
export async function appWithTools(
  ports: Ports,
  rateLimits: "on" | "off" = "off",
): Promise<FastifyInstance> {
  const { entries, retired } = PROGRAM_WITH_TOOLS
  const app = await buildApp(ports, entries, retired, { rateLimits })
  await app.ready()
  return app
}

/** What is answered. */
interface McpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // A test says what it expects of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** Sends a body with a key. A text goes as it is. */
export async function ask(
  app: FastifyInstance,
  key: string | null,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<McpAnswer> {
  const answer = await app.inject({
    method: "POST",
    url: MCP,
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
  expectContract("POST", MCP, found)
  return found
}

/** A message. */
export const message = (method: string, given?: unknown, id: unknown = 1): object => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(given === undefined ? {} : { params: given }),
})

/** A message that calls a tool. */
export const calling = (name: string, given: object = {}, id: unknown = 1, meta?: object): object =>
  message(
    "tools/call",
    { name, arguments: given, ...(meta === undefined ? {} : { _meta: meta }) },
    id,
  )

/** What a tool answered, out of an answer to `calling`. */
export function saidBy({ result }: McpAnswer["body"]): {
  readonly isError: boolean
  // A test says what it expects of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly said: any
} {
  const { content, isError } = result
  return { isError, said: JSON.parse(content[0].text) as unknown }
}
