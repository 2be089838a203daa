/** An agent's work in a box with the official MCP client, from the start of the box to a pushed commit. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request } from "node:http"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, describe, expect, it } from "vitest"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import { BOX_TOOLS } from "../../src/boxes/tools.ts"
import { repositoryFolder } from "../code/code-world.ts"
import { git } from "../code/git.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { BOX_MINUTE_PRICES, makeBoxCompany, ownSandboxBoxWorld } from "./box-world.ts"
import { readText } from "./preview-world.ts"
import { advance, spentMicrosOf } from "../support/world.ts"

const one = await ownSandboxBoxWorld()
const { world } = one
// On a separate day, so that the nightly charge for calls does not count.
await world.operate("clock set", { to: "2031-05-06T12:00:00.000Z" })
const company = await makeBoxCompany(one)
const { port } = new URL(one.server)
const transport = new StreamableHTTPClientTransport(new URL(`${one.server}/api/v1/mcp`), {
  requestInit: { headers: { authorization: `Bearer ${company.key}` } },
})
const client = new Client({ name: "an agent", version: "1.0.0" })
await client.connect(transport)
afterAll(() => client.close())

const SERVER =
  `require("http").createServer((request, answer) => answer.end("A page of the box"))` +
  `.listen(3000, "0.0.0.0", () => console.log("Serving on port 3000"))`

const called = new Set<string>()

/** Calls a tool; returns the result as an agent gets it. */
async function callTool(name: keyof typeof BOX_TOOLS, args: object = {}) {
  called.add(name)
  const { content, isError } = await client.callTool({ name, arguments: { ...args } })
  const [first] = content as readonly [{ readonly text: string }]
  // Each test asserts the shape that it expects.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { isError, result: JSON.parse(first.text) }
}

/** Calls a tool that must succeed; returns its result. */
async function use(name: keyof typeof BOX_TOOLS, args: object = {}) {
  const { isError, result } = await callTool(name, args)
  expect([name, isError, result.message]).toEqual([name, false, undefined])
  return result
}

/** Visits a link like a browser. */
async function visit(url: string): Promise<string> {
  const { host, pathname: path } = new URL(url)
  const outgoing = request({ host: "127.0.0.1", port, path, agent: false, headers: { host } })
  outgoing.end()
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  return `${answer.statusCode} ${await readText(answer)}`
}

describe("an agent", () => {
  it("works with the sixteen tools, and leaves one commit and the charges", async () => {
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name).filter((name) => Object.hasOwn(BOX_TOOLS, name))
    expect(names.toSorted()).toEqual(Object.keys(BOX_TOOLS).toSorted())

    expect(await use("list_boxes")).toEqual({ boxes: [] })
    const options = {
      size: "small",
      branch: "fix",
      label: "Fix it",
      maxMinutes: 30,
      idleMinutes: 10,
    }
    const { id: box, status } = await use("start_box", options)
    expect(status).toBe("starting")
    const early = await callTool("run_command", { box, command: "true" })
    expect([undefined, "box_starting"]).toContain(early.result.error)
    await world.operate("wait")
    expect(await use("get_box", { box })).toMatchObject({ id: box, status: "running", ...options })

    // The agent reads and edits the code.
    const { files } = await use("list_files", { box })
    expect(files).toMatchObject([{ name: "README.md", type: "file", size: 8 }])
    expect(await use("read_file", { box, path: files[0].path })).toMatchObject({
      content: "# Hello\n",
    })
    await use("write_file", { box, path: "src/hello.ts", content: "export const hello = 1\n" })
    await use("write_file", { box, path: "scratch", content: "x" })
    await use("delete_file", { box, path: "scratch" })
    expect(await use("run_command", { box, command: "cat hello.ts", cwd: "src" })).toMatchObject({
      exitCode: 0,
      stdout: "export const hello = 1\n",
    })
    const failed = await use("run_command", { box, command: "exit 1", timeoutMs: 5_000 })
    expect(failed).toMatchObject({ exitCode: 1, success: false })

    // The agent starts a server and opens a link to it.
    const { id: process } = await use("start_process", {
      box,
      command: `exec node -e '${SERVER}'`,
    })
    const { processes } = await use("list_processes", { box })
    expect(processes).toMatchObject([{ id: process, status: "running" }])
    const wrote = async () => (await use("process_logs", { box, process })).stdout
    await expect.poll(wrote, { timeout: 10_000 }).toBe("Serving on port 3000\n")
    const { url } = await use("open_preview", { box, port: 3_000 })
    expect(await visit(url)).toBe("200 A page of the box")
    await advance(world, "5m")
    expect(await use("stop_process", { box, process })).toEqual({ ok: true })
    expect(await visit(url)).toContain("502 ")

    // The pushed commit stays; everything else ends with the box.
    const pushed = await use("push", { box, message: "Say hello" })
    expect(pushed).toMatchObject({ pushed: true, branch: "fix", exitCode: 0 })
    const stopped = await use("stop_box", { box })
    expect(stopped).toMatchObject({ status: "stopped", stopReason: "stopped", previews: [] })
    expect(stopped.spent).toEqual({ minutes: 5, dollars: 0.01 })
    expect(await visit(url)).toContain("404 ")
    const late = await callTool("run_command", { box, command: "true" })
    expect([late.isError, late.result.error]).toEqual([true, "box_stopped"])

    const { events } = await use("box_activity", { box })
    const actions = events.map(({ action }: { action: string }) => action).toReversed()
    expect(actions.filter((action: string) => action !== "start")).toEqual([
      "write_file",
      "write_file",
      "delete_file",
      "exec",
      "exec",
      "start_process",
      "open_preview",
      "preview",
      "stop_process",
      "push",
      "stop",
    ])
    expect([...called].toSorted()).toEqual(Object.keys(BOX_TOOLS).toSorted())
    await expectTraces(box)
  })

  it("gets errors for invalid arguments, unknown boxes and missing operations", async () => {
    const wrong = await callTool("start_box", { size: "huge" })
    expect([wrong.isError, wrong.result.error]).toEqual([true, "validation"])
    const none = await callTool("get_box", { box: "box_none" })
    expect([none.isError, none.result.error]).toEqual([true, "not_found"])
    await world.operate("key change", { keyId: company.keyId, operations: ["sandbox.read"] })
    const refused = await callTool("start_box")
    expect([refused.isError, refused.result.error]).toEqual([true, "operation_not_granted"])
  })
})

/** Expects the facts, charges and commit of the work, and no machine. */
async function expectTraces(box: string): Promise<void> {
  const { companyId, ownerId, keyId } = company
  const { stream } = boxStreamOf(companyId, box as Parameters<typeof boxStreamOf>[1])
  const facts = await collectEvents(world.ports.store.read(stream))
  expect(facts.map(({ type }) => type)).toEqual([
    "BoxStarted",
    "BoxRunning",
    "PreviewOpened",
    ...Array.from({ length: 4 }, () => "BoxMinuteStarted"),
    "BoxPushed",
    "BoxStopped",
  ])
  await advance(world, "1h")
  expect(await spentMicrosOf(world, company)).toBe(5 * BOX_MINUTE_PRICES.small)
  const { charges } = await world.operate("charge list", { company: companyId })
  expect(charges).toHaveLength(5)
  for (const charge of charges) {
    expect(charge).toMatchObject({
      state: "settled",
      amountMicros: BOX_MINUTE_PRICES.small,
      keyId,
      personId: ownerId,
    })
  }
  const code = repositoryFolder(one.codeDir, { companyId })
  expect(git(code, "log", "--format=%s %ae", "fix")).toBe(
    "Say hello owner@example.com\nmore person@example.com",
  )
  expect(git(code, "show", "fix:src/hello.ts")).toBe("export const hello = 1")
  expect(await world.ports.boxHost.listBoxes()).toEqual([])
  expect(world.warnings).toEqual([])
}
