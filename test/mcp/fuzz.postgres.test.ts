/** The MCP server answers any input as JSON-RPC requires. */
import fc from "fast-check"
import { afterAll, expect, it } from "vitest"
import { propertyRuns } from "../charging/property-runs.ts"
import { McpAnswer, isUnanswered, parseMessage } from "../../src/mcp/mcp-route.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { appWithTools, postMcp, SAMPLE_TOOLS } from "./mcp-client.ts"

const world = await ownWorld("store", { rateLimits: "off" })
const app = await appWithTools(world.ports)
const company = await makeCompany(world, { funds: "100000" })
afterAll(() => app.close())

const anything = fc.jsonValue({ maxDepth: 3 })
const names = SAMPLE_TOOLS.flatMap(({ tool }) => tool?.name ?? [])
const fields = ["thing", "text", "times", "note", "all", "path", "about", "__proto__", "id"]
const given = fc.dictionary(
  fc.constantFrom(...fields),
  fc.oneof(fc.string(), anything, fc.constantFrom(1, "1", true)),
)
const called = fc.record(
  {
    name: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, anything),
    arguments: fc.oneof({ weight: 6, arbitrary: given }, anything),
    _meta: fc.oneof(fc.record({ idempotencyKey: fc.oneof(fc.string(), anything) }), anything),
  },
  { requiredKeys: ["name"] },
)
const METHODS = ["initialize", "ping", "tools/list", "tools/call", "notifications/initialized"]
const messages = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant("2.0") }, anything),
    id: fc.oneof({ weight: 6, arbitrary: fc.oneof(fc.integer(), fc.string()) }, anything),
    method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...METHODS) }, fc.string()),
    params: fc.oneof({ weight: 6, arbitrary: called }, anything),
  },
  { requiredKeys: ["jsonrpc", "method"] },
)
const one = fc.oneof({ weight: 9, arbitrary: messages }, anything)

/** Asserts that an answer fits the message that was sent. */
function expectAnswer(sent: unknown, answer: unknown): void {
  const { id, result, error } = McpAnswer.strict().parse(answer)
  expect(result === undefined).toBe(error !== undefined)
  const message = parseMessage(sent)
  if (message !== null) expect(id).toEqual(message.id)
  else expect(error?.code).toBe(-32_600)
}

it(
  "any body is answered message by message, except notifications and responses",
  { timeout: 300_000 },
  async () => {
    const sent = fc.oneof(one, fc.array(one, { maxLength: 6 }))
    await fc.assert(
      fc.asyncProperty(sent, async (body) => {
        // The server reads JSON, in which -0 becomes 0.
        const read = JSON.parse(JSON.stringify(body)) as unknown
        const { status, body: answer } = await postMcp(app, company.key, JSON.stringify(body))
        const sentMessages: readonly unknown[] = Array.isArray(read) ? read : [read]
        if (sentMessages.length > 0 && sentMessages.every(isUnanswered)) {
          expect([status, answer]).toEqual([202, ""])
          return
        }
        expect(status).toBe(200)
        if (!Array.isArray(read) || read.length === 0) return expectAnswer(read, answer)
        const waiting = sentMessages.filter((message) => !isUnanswered(message))
        expect(answer).toHaveLength(waiting.length)
        for (const [at, message] of waiting.entries()) expectAnswer(message, answer[at])
      }),
      propertyRuns(400, 10_000),
    )
    expect(world.warnings.filter((warning) => !warning.includes("a fault within"))).toEqual([])
  },
)

it("any bytes are read as JSON or rejected as a parse error", { timeout: 300_000 }, async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 80 }),
    fc.tuple(messages, fc.nat(), fc.nat(255)).map(([message, at, byte]) => {
      const text = Buffer.from(JSON.stringify(message))
      text[at % text.length] = byte
      return text
    }),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (sent) => {
      const { status, body } = await postMcp(app, company.key, Buffer.from(sent))
      expect([status, isJson(sent)]).toEqual([isJson(sent) ? status : 400, isJson(sent)])
      if (status === 400) expect(body).toMatchObject({ id: null, error: { code: -32_700 } })
      else expect([200, 202]).toContain(status)
    }),
    propertyRuns(400, 10_000),
  )
})

/** Whether bytes are JSON in UTF-8. */
function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}
