/** `tools/call` calls the tool's route through all of its checks. */
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import type { CheckedRequest, InternalCall } from "../../src/frame/routes/declare/route.ts"
import type { StreamedFile } from "../../src/frame/routes/answers/answer-bodies.ts"
import { RELEASE } from "../../src/frame/operator/cli/command-spec.ts"
import { mcpRoute } from "../../src/mcp/mcp-route.ts"
import type { Company } from "../support/world.ts"
import {
  callApp,
  unchargedCallsOf,
  makeCompany,
  makeKey,
  sharedWorld,
  freezeRateWindow,
} from "../support/world.ts"
import {
  MCP_PATH,
  appWithTools,
  postMcp,
  toolCallMessage,
  mcpMessage,
  toolResultOf,
  SAMPLE_TOOLS,
  changesMade,
  changeGate,
} from "./mcp-client.ts"
import { apiCallerAt } from "../support/api-caller.ts"
import { partialFake } from "../support/partial-fake.ts"

const THINGS = "/api/v1/pretended/tools"

const world = await sharedWorld()
let company: Company
const app = await appWithTools(world.ports, "on")
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
})

/** Calls a tool and returns its result. */
const call = async (name: string, given: object = {}, meta?: object, headers = {}) => {
  const { status, body } = await postMcp(
    app,
    company.key,
    toolCallMessage(name, given, 1, meta),
    headers,
  )
  expect(status).toBe(200)
  return toolResultOf(body)
}

/** Calls a tool and returns its error code and the invalid fields. */
const errorOf = async (name: string, given: object) => {
  const { isError, answer } = await call(name, given)
  return [isError, answer.error, answer.fields]
}

describe("a tool's answer", () => {
  it("is the route's answer, as text", async () => {
    const change = { text: "hello", times: 2, note: null, size: "large", budget: 0.5 }
    const { body } = await postMcp(
      app,
      company.key,
      toolCallMessage("change_thing", { thing: "a", ...change }),
    )
    const direct = await callApp(app, company.key, "PUT", `${THINGS}/a/content`, { body: change })
    expect(JSON.parse(body.result.content[0].text)).toEqual(direct.body)
    expect(body.result).toEqual({
      content: [{ type: "text", text: JSON.stringify(direct.body) }],
      isError: false,
    })
  })

  it("is an error with the route's whole body if the route rejects the call", async () => {
    const { isError, answer } = await call("get_thing", { thing: "none" })
    const direct = await callApp(app, company.key, "GET", `${THINGS}/none`)
    expect([isError, answer]).toEqual([true, direct.body])
  })

  it("reveals no internals if the route throws", async () => {
    const { isError, answer } = await call("get_thing", { thing: "broken" })
    expect([isError, answer.error]).toEqual([true, "internal"])
    expect(answer.message).not.toContain("within")
    expect(answer.requestId).toMatch(/^req_/)
  })

  it("belongs to a call with its own request id and without the outer request's headers", async () => {
    const { headers } = await postMcp(app, company.key, mcpMessage("ping"))
    const other = { "x-forwarded-for": "10.0.0.1", "idempotency-key": "no", cookie: "a=b" }
    const { answer } = await call("get_thing", { thing: "a b/c" }, { idempotencyKey: "k" }, other)
    expect(answer).toMatchObject({
      id: "a b/c",
      target: `${THINGS}/a%20b%2Fc`,
      address: "127.0.0.1",
    })
    expect(answer.requestId).toMatch(/^req_[0-9A-Za-z]{22}$/)
    expect(answer.requestId).not.toBe(headers["x-request-id"])
    expect(Object.keys(answer.headers).toSorted()).toEqual([
      "authorization",
      "content-type",
      "idempotency-key",
    ])
  })
})

describe("a rejected tool call", () => {
  it("has its own log line, with the id of the outer request", async () => {
    const lines: object[] = []
    const info = (line: string, details?: object) => void lines.push({ line, ...details })
    const logging = await appWithTools({ ...world.ports, log: { ...world.ports.log, info } })
    const { headers, body } = await postMcp(logging, company.key, [
      toolCallMessage("get_thing", { thing: "here" }),
      toolCallMessage("get_thing", { thing: "none" }),
    ])
    expect(body).toHaveLength(2)
    expect(lines).toEqual([
      {
        line: "GET /api/v1/pretended/tools/:id 404",
        method: "GET",
        status: 404,
        route: "/api/v1/pretended/tools/:id",
        error: "not_found",
        company: company.companyId,
        key: company.keyId,
        chargeId: undefined,
        requestId: expect.stringMatching(/^req_/) as string,
        within: headers["x-request-id"],
      },
    ])
    await logging.close()
  })
})

describe("arguments", () => {
  it.for([
    ["get_thing", {}, { thing: "Is required." }],
    ["get_thing", { thing: 7 }, { thing: "Must be text." }],
    ["get_thing", { thing: null }, { thing: "Is required." }],
    ["change_thing", { thing: "a" }, { text: "Is required." }],
    ["change_thing", { thing: "a", text: 7 }, { text: "Must be text." }],
    ["change_thing", { thing: "a", text: "b", times: 10 }, { times: "Must be at most 9." }],
    ["change_thing", { thing: "a", text: "b", times: "1" }, { times: "Must be a number." }],
    ["delete_thing", { thing: "a" }, { path: "Is required." }],
    ["delete_thing", { thing: "a", path: ["b"] }, { path: "Must be text." }],
    ["list_things", { all: 2 }, { all: "Must be 1." }],
    ["list_things", { all: "2" }, { all: "Must be 1." }],
    ["list_things", { al: 1 }, { al: "Is not an argument of this tool; the nearest is all." }],
    [
      "list_things",
      { hidden: "1" },
      { hidden: "Is not an argument of this tool, which takes all, path." },
    ],
    [
      "change_thing",
      { thing: "a", text: "b", secretly: true },
      {
        secretly:
          "Is not an argument of this tool, which takes thing, text, times, note, size, budget.",
      },
    ],
    [
      "list_things",
      { "a b": 1 },
      { arguments: "Include a name that this tool does not take, which takes all, path." },
    ],
  ] as const)("that are invalid get the route's 400: %s %o", async ([name, given, fields]) => {
    expect(await errorOf(name, given)).toEqual([true, "validation", fields])
  })

  it.for([1, "1", true])("may set a flag with %o", async (all) => {
    const { isError, answer } = await call("list_things", { all, path: "a b&c" })
    expect([isError, answer]).toEqual([
      false,
      { all: "1", path: "a b&c", target: `${THINGS}?all=1&path=a+b%26c` },
    ])
  })

  it("that are infinite are rejected, not dropped, because no budget means no limit", async () => {
    const params = `{"name":"change_thing","arguments":{"thing":"a","text":"b","budget":1e999}}`
    const sent = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
    const { isError, answer } = toolResultOf((await postMcp(app, company.key, sent)).body)
    expect([isError, Object.keys(answer.fields)]).toEqual([true, ["budget"]])
  })

  it("may be as long as the route allows", async () => {
    const text = "é".repeat(5_000_000)
    const { isError, answer } = await call("change_thing", { thing: "a", text })
    expect([isError, answer.length]).toEqual([false, 5_000_000])
    const longer = await call("change_thing", { thing: "a", text: `${text}é` })
    expect([longer.isError, Object.keys(longer.answer.fields)]).toEqual([true, ["text"]])
  })
})

describe("the checks of a tool's route", () => {
  it("count each call, including invalid ones", async () => {
    await call("list_things")
    await call("list_things", { nothing: 1 })
    await call("get_thing", {})
    expect(await unchargedCallsOf(world, company)).toBe(3)
  })

  it("allow 120 calls a minute, including those over plain HTTP", async () => {
    freezeRateWindow(world)
    const direct = await callApp(app, company.key, "GET", THINGS)
    expect(direct.status).toBe(200)
    const batch = Array.from({ length: 120 }, (_, at) => toolCallMessage("list_things", {}, at))
    const { body } = await postMcp(app, company.key, batch)
    const errors = body.map((one: object) => toolResultOf(one).answer.error)
    expect(errors).toEqual([...Array<undefined>(119).fill(undefined), "rate_limited"])
    expect((await postMcp(app, company.key, mcpMessage("ping"))).status).toBe(200)
  })

  it("require the operation of the route", async () => {
    const { key } = await makeKey(world, company, { operations: ["sandbox.read"] })
    const message = toolCallMessage("change_thing", { thing: "a", nothing: 1 })
    const { isError, answer } = toolResultOf((await postMcp(app, key, message)).body)
    expect([isError, answer.error, answer.operation]).toEqual([
      true,
      "operation_not_granted",
      "sandbox.exec",
    ])
  })

  it("reject a key that was paused after the batch began", async () => {
    const { key, keyId } = await makeKey(world, company)
    changeGate.before = async () => void (await world.operate("key pause", { keyId }))
    const { body } = await postMcp(app, key, [
      toolCallMessage("change_thing", { thing: "a", text: "pause" }, 1),
      toolCallMessage("list_things", {}, 2),
    ])
    changeGate.before = async () => undefined
    expect(body.map((one: object) => toolResultOf(one).answer.error)).toEqual([
      undefined,
      "invalid_key",
    ])
  })

  it("charge once per _meta.idempotencyKey", async () => {
    const [idempotencyKey, about] = [randomUUID(), randomUUID()]
    const first = await call("buy_thing", { about }, { idempotencyKey })
    expect(first.isError).toBe(false)
    expect(await call("buy_thing", { about }, { idempotencyKey, progressToken: 1 })).toEqual(first)
    expect(changesMade.filter((one) => one === `bought ${about}`)).toHaveLength(1)
    const other = await call("buy_thing", { about: "another" }, { idempotencyKey })
    expect([other.isError, other.answer.error]).toEqual([true, "idempotency_conflict"])
    const headers = { authorization: `Bearer ${company.key}`, "idempotency-key": idempotencyKey }
    const direct = await app.inject({ method: "POST", url: THINGS, headers, payload: { about } })
    expect([direct.json(), direct.headers["idempotency-replayed"]]).toEqual([first.answer, "true"])
  })

  it.for(["", "é", "x".repeat(256)])("reject the idempotency key %j", async (idempotencyKey) => {
    const { isError, answer } = await call("buy_thing", { about: "it" }, { idempotencyKey })
    expect([isError, Object.keys(answer.fields)]).toEqual([true, ["Idempotency-Key"]])
  })
})

describe("a batch of calls", () => {
  const changes = ["first", "second", "third"].map((text, at) =>
    toolCallMessage("change_thing", { thing: "a", text }, at),
  )

  it("finishes the call under way when the server stops, and answers 'unavailable' for the rest", async () => {
    const listening = await appWithTools(world.ports)
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const begun = Promise.withResolvers<void>()
    changeGate.before = async (stopping) => {
      begun.resolve()
      await once(stopping, "abort")
    }
    changesMade.length = 0
    const { port } = listening.server.address() as AddressInfo
    const callIt = apiCallerAt(`http://127.0.0.1:${port}`)
    const sending = callIt(company.key, "POST", MCP_PATH, { body: changes })
    await begun.promise
    const closed = listening.close()
    const answers = (await sending).body as readonly object[]
    await closed
    changeGate.before = async () => undefined
    expect(answers.map((one) => toolResultOf(one).answer.error)).toEqual([
      undefined,
      "unavailable",
      "unavailable",
    ])
    expect(changesMade).toEqual(["first"])
  })

  it.for(["requests", "notifications"])(
    "of %s begins no further call once its caller has disconnected",
    async (kind) => {
      const gone = new AbortController()
      const begun: string[] = []
      const given = {
        body: kind === "requests" ? changes : changes.map((one) => ({ ...one, id: undefined })),
        callerGone: gone.signal,
        callInternally: async ({ body }: InternalCall) => {
          begun.push((body as { readonly text: string }).text)
          if (begun.length === 2) gone.abort()
          return { status: 200, body: "{}" }
        },
      }
      const reply = await mcpRoute(SAMPLE_TOOLS).handle(
        world.ports,
        null,
        partialFake<CheckedRequest<unknown, unknown, unknown>>(given),
      )
      const { streamedBody } = reply as { readonly streamedBody?: StreamedFile }
      const target = { send: async () => undefined, progress: () => undefined, signal: gone.signal }
      if (streamedBody !== undefined) {
        await expect(streamedBody.write(target)).rejects.toThrow("aborted")
      }
      const isUnanswered = streamedBody === undefined
      expect([begun, isUnanswered]).toEqual([["first", "second"], kind === "notifications"])
    },
  )
})

const listening = await appWithTools(world.ports)
const caller = await makeCompany(world)
await listening.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => listening.close())

async function connected(key: string): Promise<Client> {
  const { port } = listening.server.address() as AddressInfo
  const transport = new StreamableHTTPClientTransport(
    new URL(`http://127.0.0.1:${port}${MCP_PATH}`),
    {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    },
  )
  const client = new Client({ name: "a test", version: "1.0.0" })
  // The SDK's class and its interface disagree about the type of `sessionId`.
  await client.connect(transport)
  return client
}

describe("the protocol's own client", () => {
  it("initializes, lists the tools and calls them", async () => {
    const client = await connected(caller.key)
    expect(client.getServerVersion()).toEqual({ name: "company-ledger", version: RELEASE })
    expect(client.getServerCapabilities()).toEqual({ tools: {} })
    expect(client.getInstructions()).toContain("start_box")
    expect(await client.ping()).toEqual({})
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["list_things", "change_thing"]),
    )
    const given = { thing: "a", text: "hello" }
    const { content, isError } = await client.callTool({ name: "change_thing", arguments: given })
    const text = JSON.stringify({ id: "a", length: 5, times: 1 })
    expect([content, isError]).toEqual([[{ type: "text", text }], false])
    await client.close()
  })

  it("gets the reason of a rejected call, and an error for an unknown tool", async () => {
    const client = await connected(caller.key)
    const { content, isError } = await client.callTool({ name: "get_thing", arguments: {} })
    expect([isError, content]).toEqual([
      true,
      [{ type: "text", text: expect.stringContaining('"thing":"Is required."') as string }],
    ])
    await expect(client.callTool({ name: "nothing" })).rejects.toMatchObject({ code: -32_602 })
    await client.close()
  })

  it("is rejected without a valid key", async () => {
    await expect(connected("cpk_nothing")).rejects.toThrow(/-32001/)
  })
})
