/** An agent's day in a box, by the protocol's own client: from its start to the commit that stays. */
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
// A day of its own: what calls come to is charged in the night.
await world.operate("clock set", { to: "2031-05-06T12:00:00.000Z" })
const company = await makeBoxCompany(one)
const { port } = new URL(one.server)
const transport = new StreamableHTTPClientTransport(new URL(`${one.server}/api/v1/mcp`), {
  requestInit: { headers: { authorization: `Bearer ${company.key}` } },
})
const client = new Client({ name: "an agent", version: "1.0.0" })
// Its class says `sessionId?: string`, and its own interface says otherwise.
await client.connect(transport)
afterAll(() => client.close())

const SERVER =
  `require("http").createServer((asked, answer) => answer.end("A page of the box"))` +
  `.listen(3000, "0.0.0.0", () => console.log("Serving on port 3000"))`

const called = new Set<string>()

async function use(name: keyof typeof BOX_TOOLS, given: object = {}) {
  called.add(name)
  const { content, isError } = await client.callTool({ name, arguments: { ...given } })
  const [said] = content as readonly [{ readonly text: string }]
  // A test says what it expects of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { isError, said: JSON.parse(said.text) }
}

/** What a tool answers that must not refuse. */
async function right(name: keyof typeof BOX_TOOLS, given: object = {}) {
  const { isError, said } = await use(name, given)
  expect([name, isError, said.message]).toEqual([name, false, undefined])
  return said
}

/** Opens a link, as a browser does. */
async function visit(url: string): Promise<string> {
  const { host, pathname: path } = new URL(url)
  const asked = request({ host: "127.0.0.1", port, path, agent: false, headers: { host } })
  asked.end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  return `${answer.statusCode} ${await readText(answer)}`
}

describe("an agent's day", () => {
  it("goes by the sixteen tools, and leaves one commit and what it cost", async () => {
    const { tools } = await client.listTools()
    const own = tools.map(({ name }) => name).filter((name) => Object.hasOwn(BOX_TOOLS, name))
    expect(own.toSorted()).toEqual(Object.keys(BOX_TOOLS).toSorted())

    expect(await right("list_boxes")).toEqual({ boxes: [] })
    const asked = { size: "small", branch: "fix", label: "Fix it", maxMinutes: 30, idleMinutes: 10 }
    const { id: box, status } = await right("start_box", asked)
    expect(status).toBe("starting")
    const early = await use("run_command", { box, command: "true" })
    expect([undefined, "box_starting"]).toContain(early.said.error)
    await world.operate("wait")
    expect(await right("get_box", { box })).toMatchObject({ id: box, status: "running", ...asked })

    // The code is there, and is worked on.
    const { files } = await right("list_files", { box })
    expect(files).toMatchObject([{ name: "README.md", type: "file", size: 8 }])
    expect(await right("read_file", { box, path: files[0].path })).toMatchObject({
      content: "# Hello\n",
    })
    await right("write_file", { box, path: "src/hello.ts", content: "export const hello = 1\n" })
    await right("write_file", { box, path: "scratch", content: "x" })
    await right("delete_file", { box, path: "scratch" })
    expect(await right("run_command", { box, command: "cat hello.ts", cwd: "src" })).toMatchObject({
      exitCode: 0,
      stdout: "export const hello = 1\n",
    })
    const failed = await right("run_command", { box, command: "exit 1", timeoutMs: 5_000 })
    expect(failed).toMatchObject({ exitCode: 1, success: false })

    // It runs, and others look at it.
    const { id: process } = await right("start_process", {
      box,
      command: `exec node -e '${SERVER}'`,
    })
    const { processes } = await right("list_processes", { box })
    expect(processes).toMatchObject([{ id: process, status: "running" }])
    const wrote = async () => (await right("process_logs", { box, process })).stdout
    await expect.poll(wrote, { timeout: 10_000 }).toBe("Serving on port 3000\n")
    const { url } = await right("open_preview", { box, port: 3_000 })
    expect(await visit(url)).toBe("200 A page of the box")
    await advance(world, "5m")
    expect(await right("stop_process", { box, process })).toEqual({ ok: true })
    expect(await visit(url)).toContain("502 ")

    // What is to stay is pushed; the rest goes.
    const pushed = await right("push", { box, message: "Say hello" })
    expect(pushed).toMatchObject({ pushed: true, branch: "fix", exitCode: 0 })
    const stopped = await right("stop_box", { box })
    expect(stopped).toMatchObject({ status: "stopped", stopReason: "stopped", previews: [] })
    expect(stopped.spent).toEqual({ minutes: 5, dollars: 0.01 })
    expect(await visit(url)).toContain("404 ")
    const late = await use("run_command", { box, command: "true" })
    expect([late.isError, late.said.error]).toEqual([true, "box_stopped"])

    const { events } = await right("box_activity", { box })
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

  it("is told what is wrong with what it asks, and that it may not", async () => {
    const wrong = await use("start_box", { size: "huge" })
    expect([wrong.isError, wrong.said.error]).toEqual([true, "validation"])
    const none = await use("get_box", { box: "box_none" })
    expect([none.isError, none.said.error]).toEqual([true, "not_found"])
    await world.operate("key change", { keyId: company.keyId, operations: ["sandbox.read"] })
    const refused = await use("start_box")
    expect([refused.isError, refused.said.error]).toEqual([true, "operation_not_granted"])
  })
})

/** What is left: facts, charges, the commit, and no machine. */
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
