/** Messages by JSON-RPC and MCP: requests, notifications, responses, batches and invalid input. */
import { afterAll, describe, expect, it } from "vitest"
import { RELEASE } from "../../src/frame/operator/cli/command-spec.ts"
import { PROTOCOL_VERSIONS } from "../../src/mcp/mcp-route.ts"
import { callersOf } from "../api/callers.ts"
import { unchargedCallsOf, makeCompany, sharedWorld } from "../support/world.ts"
import {
  appWithTools,
  postMcp,
  toolCallMessage,
  mcpMessage,
  toolResultOf,
  MCP_PATH,
  changesMade,
} from "./mcp-client.ts"

const world = await sharedWorld()
const app = await appWithTools(world.ports)
const company = await makeCompany(world)
afterAll(() => app.close())

const send = (body: unknown, headers = {}) => postMcp(app, company.key, body, headers)

describe("initialize", () => {
  it.for(PROTOCOL_VERSIONS)("accepts protocol version %s", async (protocolVersion) => {
    const { status, body } = await send(mcpMessage("initialize", { protocolVersion }))
    expect([status, body.result.protocolVersion]).toEqual([200, protocolVersion])
  })

  it.for([undefined, {}, { protocolVersion: "2099-01-01" }, { protocolVersion: 7 }])(
    "offers the newest version for the params %o",
    async (params) => {
      const { body } = await send(mcpMessage("initialize", params))
      expect(body.result).toEqual({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "company-ledger", version: RELEASE },
        instructions: expect.stringContaining("start_box"),
      })
    },
  )

  it("starts no session and ignores the protocol headers of a client", async () => {
    const { status, headers } = await send(mcpMessage("ping"), {
      accept: "text/event-stream",
      "mcp-protocol-version": "1999-01-01",
      "mcp-session-id": "nothing",
    })
    expect([status, headers["mcp-session-id"]]).toEqual([200, undefined])
    expect(headers["content-type"]).toBe("application/json; charset=utf-8")
  })
})

describe("a message", () => {
  it.for([0, -1, 1.5, "", "a", "1"])("is answered with its id %o", async (id) => {
    const { status, body } = await send(mcpMessage("ping", undefined, id))
    expect([status, body]).toEqual([200, { jsonrpc: "2.0", id, result: {} }])
  })

  it.for([
    [{}, null],
    ["text", null],
    ["null", null],
    ["[]", null],
    [{ jsonrpc: "2.0", id: 1 }, 1],
    [{ id: "a", method: "ping" }, "a"],
    [{ jsonrpc: "1.0", id: 1, method: "ping" }, 1],
    [{ jsonrpc: "2.0", id: null, method: "ping" }, null],
    [{ jsonrpc: "2.0", id: {}, method: "ping" }, null],
    [{ jsonrpc: "2.0", id: true, method: "ping" }, null],
    [`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, null],
    [{ jsonrpc: "2.0", id: 1, method: 1 }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "ping", params: [] }, 1],
    [{ jsonrpc: "2.0", id: 1, method: "ping", params: "a" }, 1],
    [{ jsonrpc: "2.0", id: 1, result: {}, method: 1 }, 1],
    [{ jsonrpc: "2.0", id: 1, error: "no" }, 1],
    [{ jsonrpc: "2.0", result: {} }, null],
    [{ method: "ping" }, null],
  ] as const)("that is invalid gets error -32600: %o", async ([sent, id]) => {
    const { status, body } = await send(sent === "text" ? `"text"` : sent)
    const error = { code: -32_600, message: expect.stringMatching(/^[A-Z].*\.$/) as string }
    expect([status, body]).toEqual([200, { jsonrpc: "2.0", id, error }])
  })

  it.for(["nothing", "tools/Call", "constructor", "resources/list", "", "x".repeat(1_000)])(
    "with an unknown method gets error -32601: %s",
    async (method) => {
      const { status, body } = await send(mcpMessage(method))
      expect([status, body.id, body.error.code]).toEqual([200, 1, -32_601])
      expect(body.error.message.length).toBeLessThan(120)
    },
  )

  it.for([
    undefined,
    {},
    { name: 1 },
    { name: "nothing" },
    { name: "constructor" },
    { name: "list_things", arguments: [] },
    { name: "list_things", _meta: 1 },
    { name: "list_things", _meta: { idempotencyKey: 1 } },
  ])("with an invalid tool call gets error -32602: %o", async (params) => {
    const { status, body } = await send(mcpMessage("tools/call", params))
    expect([status, body.id, body.error.code]).toEqual([200, 1, -32_602])
    expect(body.error.message).toMatch(/^[A-Z].*\.$/)
  })

  it.for([
    { name: "list_things" },
    { name: "list_things", arguments: null },
    { name: "list_things", arguments: {}, _meta: null },
    { name: "list_things", arguments: { all: null, path: null }, _meta: { idempotencyKey: null } },
  ])("may have null for optional members: %o", async (params) => {
    const { body } = await send(mcpMessage("tools/call", params))
    expect(toolResultOf(body)).toMatchObject({ isError: false })
    expect((await send(mcpMessage("ping", null))).body).toMatchObject({ result: {} })
  })

  it("that lists tools ignores its cursor", async () => {
    const { body } = await send(mcpMessage("tools/list", { cursor: "a" }))
    expect(body.result.tools.length).toBeGreaterThan(0)
    expect(body.result.nextCursor).toBeUndefined()
  })
})

describe("a notification", () => {
  it.for([
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", method: "nothing" },
    { jsonrpc: "2.0", method: "tools/call", params: { name: "nothing" } },
    [{ jsonrpc: "2.0", method: "ping" }],
    [
      { jsonrpc: "2.0", method: "ping" },
      { jsonrpc: "2.0", method: "nothing" },
    ],
  ])("is accepted without an answer: %o", async (sent) => {
    const { status, headers, body } = await send(sent)
    expect([status, body, headers["content-type"]]).toEqual([202, "", undefined])
  })

  it("that calls a tool is executed, alone or in a batch", async () => {
    const notify = (text: string) => ({
      jsonrpc: "2.0",
      method: "tools/call",
      params: { name: "change_thing", arguments: { thing: "a", text } },
    })
    expect((await send(notify("notified alone"))).status).toBe(202)
    expect((await send([notify("notified in a batch")])).status).toBe(202)
    expect(changesMade.filter((text) => text.startsWith("notified"))).toEqual([
      "notified alone",
      "notified in a batch",
    ])
  })
})

describe("a response", () => {
  it.for([
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: "a", result: null },
    { jsonrpc: "2.0", id: 1, error: { code: -32_601, message: "Method not found" } },
    [{ jsonrpc: "2.0", id: 1, result: {} }],
  ])("is accepted without an answer: %o", async (sent) => {
    const { status, body } = await send(sent)
    expect([status, body]).toEqual([202, ""])
  })

  it("in a batch gets no answer", async () => {
    const { body } = await send([{ jsonrpc: "2.0", id: 9, result: {} }, mcpMessage("ping")])
    expect(body).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }])
  })
})

describe("a batch", () => {
  it("is executed and answered in order, without answers to notifications", async () => {
    changesMade.length = 0
    const changes = ["one", "two", "three"].map((text, at) =>
      toolCallMessage("change_thing", { thing: "a", text }, at),
    )
    const notification = { jsonrpc: "2.0", method: "notifications/cancelled" }
    const batch = [...changes, notification, {}, mcpMessage("nothing"), 7]
    const { status, headers, body } = await send(batch)
    expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"])
    expect(changesMade).toEqual(["one", "two", "three"])
    expect(body.slice(0, 3).map((one: object) => toolResultOf(one).answer.length)).toEqual([
      3, 3, 5,
    ])
    expect(body.map(({ id }: { id: unknown }) => id)).toEqual([0, 1, 2, null, 1, null])
    const codes = body.slice(3).map(({ error }: { error: { code: number } }) => error.code)
    expect(codes).toEqual([-32_600, -32_601, -32_600])
  })

  it("of one message is answered with a list, even if the message is invalid", async () => {
    const { body } = await send([mcpMessage("ping")])
    expect(body).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }])
    expect((await send([[]])).body).toMatchObject([{ id: null, error: { code: -32_600 } }])
  })

  it("has at most 1,000 messages; a larger one is rejected and not executed", async () => {
    const pings = (count: number) =>
      Array.from({ length: count }, (_, at) => mcpMessage("ping", undefined, at))
    const { body } = await send(pings(1_000))
    expect(body.map(({ id }: { id: number }) => id)).toEqual(pings(1_000).map((_, at) => at))
    changesMade.length = 0
    const more = [
      toolCallMessage("change_thing", { thing: "a", text: "too many" }),
      ...pings(1_000),
    ]
    const { status, body: refused } = await send(more)
    expect([status, refused.id, refused.error.code]).toEqual([200, null, -32_600])
    expect(changesMade).toEqual([])
  })
})

const FREE = ["initialize", "ping", "tools/list"]

describe("an invalid key", () => {
  it("is rejected with the id of its request, or with null for a batch", async () => {
    const callers = callersOf(world, company)
    const { key: deleted } = await callers.ofDeletedCompany()
    const { key: usedUp } = await callers.withExhaustedLimit()
    const { key: paused } = await callers.withPausedKey()
    for (const key of [null, "cpk_nothing", deleted, usedUp, paused]) {
      for (const [sent, id] of [
        [mcpMessage("ping", undefined, 7), 7],
        [mcpMessage("initialize", {}, "a"), "a"],
        [toolCallMessage("list_things", {}, "b"), "b"],
        [[mcpMessage("ping", undefined, 7)], null],
        [{ jsonrpc: "2.0", method: "ping" }, null],
        ["no json", null],
        ["", null],
        [`{"id":1,"x":"${"x".repeat(1_100_000)}"}`, null],
      ] as const) {
        const { status, headers, body } = await postMcp(app, key, sent)
        expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"])
        expect(body).toMatchObject({ jsonrpc: "2.0", id, error: { code: -32_001 } })
        expect(body.error.data).toMatchObject({ error: "invalid_key", message: body.error.message })
      }
    }
  })

  it("is the only reason to reject a free method: no operation or funds are needed", async () => {
    const { companyId, key } = await makeCompany(world, {
      funds: "0",
      key: { operations: ["team.people.read"] },
      limits: [{ dollars: "0" }],
    })
    await world.operate("company lock", { company: companyId })
    for (const method of FREE) {
      expect(await postMcp(app, key, mcpMessage(method))).toMatchObject({
        status: 200,
        body: { id: 1 },
      })
    }
    const { isError, answer } = toolResultOf(
      (await postMcp(app, key, toolCallMessage("list_things"))).body,
    )
    expect([isError, answer.error]).toEqual([true, "payment_required"])
  })
})

describe("the app key", () => {
  it("may call free methods, but tools require a person's own key, signed in or not", async () => {
    const callers = callersOf(world, company)
    for (const { key, headers } of [await callers.withAppKey(), await callers.signedIn("owner")]) {
      const sendSigned = (sent: object) => {
        const body = JSON.stringify(sent)
        return postMcp(app, key, body, headers?.({ method: "POST", url: MCP_PATH, body }) ?? {})
      }
      for (const method of FREE)
        expect((await sendSigned(mcpMessage(method))).body.result).toBeDefined()
      const { isError, answer } = toolResultOf(
        (await sendSigned(toolCallMessage("list_things"))).body,
      )
      expect([isError, answer.error]).toEqual([true, "not_allowed"])
    }
  })
})

describe("a free method", () => {
  it("is not counted as an API call", async () => {
    const own = await makeCompany(world)
    for (const method of [...FREE, "nothing"]) await postMcp(app, own.key, mcpMessage(method))
    await postMcp(app, own.key, toolCallMessage("nothing"))
    expect(await unchargedCallsOf(world, own)).toBe(0)
    await postMcp(app, own.key, toolCallMessage("list_things"))
    expect(await unchargedCallsOf(world, own)).toBe(1)
  })
})

describe("an unreadable body", () => {
  it.for([
    ["{", 400, -32_700, "validation"],
    ["no json", 400, -32_700, "validation"],
    [Buffer.from([0xff, 0xfe]), 400, -32_700, "validation"],
    [`${'{"a":'.repeat(70)}1${"}".repeat(70)}`, 400, -32_700, "validation"],
    [`"${"x".repeat(33 * 1024 * 1024)}"`, 413, -32_600, "too_large"],
  ] as const)("is rejected without an id", async ([sent, status, code, error]) => {
    const answer = await postMcp(app, company.key, sent)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code, data: { error } },
    })
  })

  it("is rejected for another content type or an invalid header", async () => {
    const typed = await postMcp(app, company.key, mcpMessage("ping"), {
      "content-type": "text/plain",
    })
    expect(typed).toMatchObject({ status: 415, body: { id: null, error: { code: -32_600 } } })
    const placed = await postMcp(app, company.key, mcpMessage("ping"), {
      "ledger-position": "nowhere",
    })
    expect(placed).toMatchObject({ status: 400, body: { id: 1, error: { code: -32_600 } } })
  })

  it("is not one with up to 32 MiB", async () => {
    const text = "x".repeat(31 * 1024 * 1024)
    const { status, body } = await postMcp(app, company.key, mcpMessage("ping", { text }))
    expect([status, body.result]).toEqual([200, {}])
  })
})

describe("another verb and another path", () => {
  it.for(["GET", "DELETE", "PUT", "HEAD"] as const)(
    "%s is rejected with 405 before the key is checked",
    async (method) => {
      const { statusCode, headers } = await app.inject({ method, url: MCP_PATH })
      expect([statusCode, headers["allow"]]).toEqual([405, "POST"])
    },
  )

  it.for(["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"])(
    "%s does not exist, because the server accepts only API keys",
    async (name) => {
      for (const url of [`/.well-known/${name}`, `/.well-known/${name}${MCP_PATH}`]) {
        expect((await app.inject({ method: "GET", url })).statusCode).toBe(404)
      }
    },
  )
})
