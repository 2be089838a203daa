/** An installation with tools that are not there, and how its MCP server is asked. */
import type { FastifyInstance } from "fastify"
import { buildApp } from "../../src/frame/http/app.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { expectContract } from "../support/reply-contract.ts"
import { pretendedTools } from "./pretended-tools.ts"

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
export interface McpAnswer {
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
export const message = (method: string, params?: unknown, id: unknown = 1): object => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
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
