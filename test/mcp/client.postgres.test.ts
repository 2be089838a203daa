/** The protocol's own client, over a server that listens. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { AddressInfo } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { RELEASE } from "../../src/frame/operator/cli/release.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { MCP, appWithTools } from "./asking.ts"

const world = await sharedWorld()
const app = await appWithTools(world.ports)
const company = await makeCompany(world)
await app.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => app.close())

/** A client that has introduced itself, with a key. */
async function connected(key: string): Promise<Client> {
  const { port } = app.server.address() as AddressInfo
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}${MCP}`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  const client = new Client({ name: "a test", version: "1.0.0" })
  // Its class says `sessionId?: string`, and its own interface says otherwise.
  await client.connect(transport as Parameters<Client["connect"]>[0])
  return client
}

describe("the protocol's own client", () => {
  it("introduces itself, lists the tools and calls them", async () => {
    const client = await connected(company.key)
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

  it("reads why a tool refused, and which tool is not there", async () => {
    const client = await connected(company.key)
    const { content, isError } = await client.callTool({ name: "get_thing", arguments: {} })
    expect([isError, content]).toEqual([
      true,
      [{ type: "text", text: expect.stringContaining('"thing":"Is required."') as string }],
    ])
    await expect(client.callTool({ name: "nothing" })).rejects.toMatchObject({ code: -32_602 })
    await client.close()
  })

  it("does not get in without a key", async () => {
    await expect(connected("cpk_nothing")).rejects.toThrow(/-32001/)
  })
})
