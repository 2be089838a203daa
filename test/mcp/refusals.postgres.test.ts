/** What the MCP server refuses as a whole, before it looks at any message. */
import { afterAll, describe, expect, it } from "vitest"
import { callersOf } from "../calls/callers.ts"
import { callsOf, makeCompany, sharedWorld } from "../support/world.ts"
import { MCP, appWithTools, ask, calling, message, saidBy } from "./asking.ts"

const world = await sharedWorld()
const app = await appWithTools(world.ports)
const company = await makeCompany(world)
afterAll(() => app.close())

const FREE = ["initialize", "ping", "tools/list"]

describe("a key that is not let in", () => {
  it("is told so under the id of its request, and of none where there are several", async () => {
    const callers = callersOf(world, company)
    const { key: deleted } = await callers.ofDeleted()
    const { key: usedUp } = await callers.usedUp()
    const { key: paused } = await callers.paused()
    for (const key of [null, "cpk_nothing", deleted, usedUp, paused]) {
      for (const [sent, id] of [
        [message("ping", undefined, 7), 7],
        [message("initialize", {}, "a"), "a"],
        [calling("list_things", {}, "b"), "b"],
        [[message("ping", undefined, 7)], null],
        [{ jsonrpc: "2.0", method: "ping" }, null],
        ["no json", null],
        ["", null],
        [`{"id":1,"x":"${"x".repeat(1_100_000)}"}`, null],
      ] as const) {
        const { status, headers, body } = await ask(app, key, sent)
        expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"])
        expect(body).toMatchObject({ jsonrpc: "2.0", id, error: { code: -32_001 } })
        expect(body.error.data).toMatchObject({ error: "invalid_key", message: body.error.message })
      }
    }
  })

  it("is the only one: no operation and no funds are needed to look", async () => {
    const { companyId, ownerId } = await makeCompany(world, "0")
    const { key } = await world.operate("key create", {
      company: companyId,
      person: ownerId,
      operations: ["team.people.read"],
    })
    const limit = { company: companyId, class: "general", period: "month", dollars: "0" }
    await world.operate("limit set", limit)
    await world.operate("company lock", { company: companyId })
    for (const method of FREE) {
      expect(await ask(app, key, message(method))).toMatchObject({ status: 200, body: { id: 1 } })
    }
    const { isError, said } = saidBy((await ask(app, key, calling("list_things"))).body)
    expect([isError, said.error]).toEqual([true, "payment_required"])
  })
})

describe("the app's shared key", () => {
  it("may look, and is told by each tool that it takes a person's own, signed in or not", async () => {
    const callers = callersOf(world, company)
    for (const { key, headers } of [await callers.shared(), await callers.signedIn("owner")]) {
      const send = (sent: object) => {
        const body = JSON.stringify(sent)
        return ask(app, key, body, headers?.({ method: "POST", url: MCP, body }) ?? {})
      }
      for (const method of FREE) expect((await send(message(method))).body.result).toBeDefined()
      const { isError, said } = saidBy((await send(calling("list_things"))).body)
      expect([isError, said.error]).toEqual([true, "not_allowed"])
    }
  })
})

describe("what is free", () => {
  it("is not counted as an API call", async () => {
    const own = await makeCompany(world)
    for (const method of [...FREE, "nothing"]) await ask(app, own.key, message(method))
    await ask(app, own.key, calling("nothing"))
    expect(await callsOf(world, own)).toBe(0)
    await ask(app, own.key, calling("list_things"))
    expect(await callsOf(world, own)).toBe(1)
  })
})

describe("a body that nobody can read", () => {
  it.for([
    ["{", 400, -32_700, "validation"],
    ["no json", 400, -32_700, "validation"],
    [Buffer.from([0xff, 0xfe]), 400, -32_700, "validation"],
    [`${'{"a":'.repeat(70)}1${"}".repeat(70)}`, 400, -32_700, "validation"],
    [`"${"x".repeat(33 * 1024 * 1024)}"`, 413, -32_600, "too_large"],
  ] as const)("is refused without an id", async ([sent, status, code, error]) => {
    const answer = await ask(app, company.key, sent)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code, data: { error } },
    })
  })

  it("is refused where it says that it is of another type, or has a header that is not right", async () => {
    const typed = await ask(app, company.key, message("ping"), { "content-type": "text/plain" })
    expect(typed).toMatchObject({ status: 415, body: { id: null, error: { code: -32_600 } } })
    const placed = await ask(app, company.key, message("ping"), { "ledger-position": "nowhere" })
    expect(placed).toMatchObject({ status: 400, body: { id: 1, error: { code: -32_600 } } })
  })

  it("may have 32 MiB otherwise", async () => {
    const text = "x".repeat(31 * 1024 * 1024)
    const { status, body } = await ask(app, company.key, message("ping", { text }))
    expect([status, body.result]).toEqual([200, {}])
  })
})

describe("another verb and another path", () => {
  it.for(["GET", "DELETE", "PUT", "HEAD"] as const)(
    "%s is 405 before a key is looked at",
    async (method) => {
      const { statusCode, headers } = await app.inject({ method, url: MCP })
      expect([statusCode, headers["allow"]]).toEqual([405, "POST"])
    },
  )

  it.for(["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"])(
    "%s is not there: nobody signs in but by a key",
    async (name) => {
      for (const url of [`/.well-known/${name}`, `/.well-known/${name}${MCP}`]) {
        expect((await app.inject({ method: "GET", url })).statusCode).toBe(404)
      }
    },
  )
})
