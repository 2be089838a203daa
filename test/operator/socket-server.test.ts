/** The admin socket: its server, its protocol, and a command line that finds a server there. */
import { once } from "node:events"
import { existsSync, statSync, writeFileSync } from "node:fs"
import { type IncomingMessage, request as httpRequest } from "node:http"
import { createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { type AdminContext, OperatorRefused } from "../../src/frame/operator/operation.ts"
import { MAX_SOCKET_PATH_BYTES } from "../../src/frame/operator/private-socket.ts"
import { ServerGone, askServer, serverOf } from "../../src/frame/operator/cli/admin-client.ts"
import { PORT, fakeOperation, testFolder, fakeHost, run, wordsOf } from "./fake-host.ts"
import { request, serve, talkOf, waiting } from "./serve-admin.ts"
import { AdminProtocolFault, readIdentity, readLine } from "../../src/frame/operator/protocol.ts"

const IDENTITY = { folderId: "folder-1", pid: process.pid, settings: [PORT] }

/** Posts a body as it stands; the status and text of the answer. */
async function post(socketPath: string, path: string, body: string) {
  const asked = httpRequest({ socketPath, path, method: "POST", agent: false })
  asked.end(body)
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  let text = ""
  for await (const part of response) text += String(part)
  return { status: response.statusCode, text }
}

describe("the admin socket", () => {
  it("can be used by its owner alone", async () => {
    const { socketPath } = await serve([])
    const { mode } = statSync(socketPath)
    expect((mode & 0o777).toString(8)).toBe("600")
    expect(existsSync(join(socketPath, "../.admin"))).toBe(false)
  })

  it("takes the place of what a killed run left", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    writeFileSync(socketPath, "")
    await serve([], { socketPath })
    expect(await serverOf(socketPath, "folder-1")).toEqual(IDENTITY)
  })

  it("says whose it is", async () => {
    const { socketPath } = await serve([])
    expect(await serverOf(socketPath, "folder-1")).toEqual(IDENTITY)
    expect(await serverOf(socketPath, "folder-2")).toBe(null)
  })

  it("refuses a path that is too long for a socket", async () => {
    const socketPath = `/${"x".repeat(MAX_SOCKET_PATH_BYTES)}`
    await expect(serve([], { socketPath })).rejects.toThrow(RangeError)
  })

  it("goes when it is closed, and leaves another server's alone", async () => {
    const first = await serve([])
    const second = await serve([], { socketPath: first.socketPath })
    await first.server.close()
    expect(await serverOf(first.socketPath, "folder-1")).toEqual(IDENTITY)
    await second.server.close()
    expect(existsSync(first.socketPath)).toBe(false)
    expect(await serverOf(first.socketPath, "folder-1")).toBe(null)
  })

  it("is no server where nobody listens, and a silent one where somebody does", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    expect(await serverOf(socketPath, "folder-1")).toBe(null)
    const silent = createServer().listen(socketPath)
    onTestFinished(() => void silent.close())
    await once(silent, "listening")
    await expect(serverOf(socketPath, "folder-1", 50)).rejects.toThrow(ServerGone)
  })
})

describe("an operation over the socket", () => {
  it("tells progress, sends pieces and answers", async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => `${index}: ${"ü\n".repeat(5_000)}`)
    const exporting = fakeOperation("export billing", async ({ progress, send, cause }, input) => {
      progress("begins")
      for (const piece of pieces) await send(piece)
      return { input, actor: cause.actor, reason: cause.reason }
    })
    const { socketPath, faults } = await serve([exporting])
    const { heard, talk } = talkOf()
    const asked = { ...request("export billing", { month: "2026-11" }), reason: "year end" }
    expect(await askServer(socketPath, asked, talk)).toEqual({
      result: { input: { month: "2026-11" }, actor: "ada", reason: "year end" },
    })
    expect(heard.progress).toEqual(["begins"])
    expect(heard.chunks).toEqual(pieces)
    expect(faults).toEqual([])
  })

  it("sends pieces that are no text as the bytes that they are", async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256)
    const exporting = fakeOperation("export billing", async ({ send }) => {
      for (const piece of ["head\n", bytes, new Uint8Array(0)]) await send(piece)
      return {}
    })
    const { socketPath } = await serve([exporting])
    const { heard, talk } = talkOf()
    expect(await askServer(socketPath, request("export billing"), talk)).toEqual({ result: {} })
    expect(heard.chunks[0]).toBe("head\n")
    expect(heard.chunks.slice(1).map((piece) => Buffer.from(piece as Uint8Array))).toEqual([
      Buffer.from(bytes),
      Buffer.alloc(0),
    ])
  })

  it("waits for a reader that is behind", async () => {
    const sent: number[] = []
    const full = Promise.withResolvers<void>()
    const exporting = fakeOperation("export billing", async ({ send }) => {
      for (let piece = 0; piece < 400; piece += 1) {
        const room = send("x".repeat(100_000))
        // A send that does not resolve at once has filled what lies between.
        const first = await Promise.race([room, new Promise((resolve) => setImmediate(resolve, 1))])
        if (first === 1) full.resolve()
        await room
        sent.push(piece)
      }
      return null
    })
    const { socketPath } = await serve([exporting])
    const gate = Promise.withResolvers<void>()
    const { talk } = talkOf()
    let taken = 0
    const send = async () => {
      await gate.promise
      taken += 1
    }
    const answer = askServer(socketPath, request("export billing"), { ...talk, send })
    await full.promise
    expect(sent.length).toBeLessThan(400)
    gate.resolve()
    expect(await answer).toEqual({ result: null })
    expect(taken).toBe(400)
  })

  it("answers with a refusal, and with the faults of the input", async () => {
    const refusing = fakeOperation("wait", async () => {
      throw new OperatorRefused("not_found", "There is nothing.")
    })
    const { socketPath } = await serve([refusing])
    const { talk } = talkOf()
    expect(await askServer(socketPath, request("wait"), talk)).toEqual({
      error: { error: "not_found", message: "There is nothing." },
    })
    expect(await askServer(socketPath, request("nonsense"), talk)).toMatchObject({
      error: { error: "unknown_operation" },
    })
  })

  it("answers with a fault of the program and tells the server's log", async () => {
    const fault = new TypeError("x is undefined")
    const failing = fakeOperation("wait", async () => {
      throw fault
    })
    const { socketPath, faults } = await serve([failing])
    expect(await askServer(socketPath, request("wait"), talkOf().talk)).toEqual({
      error: { error: "internal", message: "The server failed: x is undefined" },
    })
    expect(faults).toEqual([fault])
  })

  it("is told when its operator no longer waits", async () => {
    const { operation, began, ended } = waiting()
    const { socketPath, server, faults } = await serve([operation])
    const abort = new AbortController()
    const answer = askServer(socketPath, request("wait"), talkOf(abort.signal).talk)
    const refused = expect(answer).rejects.toMatchObject({ name: "AbortError" })
    await began
    abort.abort()
    await refused
    expect(await ended).toBe("aborted")
    await server.close()
    expect(faults).toEqual([])
  })

  it("stops sending when its operator no longer waits", async () => {
    const stopped = Promise.withResolvers<unknown>()
    const exporting = fakeOperation("export billing", async ({ send }) => {
      try {
        for (;;) await send("x".repeat(100_000))
      } catch (error) {
        stopped.resolve(error)
        throw error
      }
    })
    const { socketPath, faults } = await serve([exporting])
    const abort = new AbortController()
    const { talk } = talkOf(abort.signal)
    const send = async () => abort.abort()
    await expect(
      askServer(socketPath, request("export billing"), { ...talk, send }),
    ).rejects.toMatchObject({ name: "AbortError" })
    expect(await stopped.promise).toMatchObject({ name: "AbortError" })
    expect(faults).toEqual([])
  })

  it.each([
    ["no JSON", "{", 400],
    ["no request", '{"operation": 3}', 400],
    ["too much", JSON.stringify({ operation: "x".repeat(2 * 1024 * 1024) }), 400],
  ])("refuses what is %s", async (_, body, status) => {
    const { socketPath } = await serve([])
    const answer = await post(socketPath, "/operations", body)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ error: { error: expect.any(String) } })
  })

  it("knows no other route", async () => {
    const { socketPath } = await serve([])
    expect((await post(socketPath, "/elsewhere", "{}")).status).toBe(404)
  })
})

describe("a server that stops", () => {
  it("lets what runs end", async () => {
    const began = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow = fakeOperation("wait", async () => {
      began.resolve()
      await gate.promise
      return "done"
    })
    const { socketPath, server } = await serve([slow])
    const answer = askServer(socketPath, request("wait"), talkOf().talk)
    await began.promise
    const closed = server.close()
    await expect(askServer(socketPath, request("wait"), talkOf().talk)).rejects.toThrow(ServerGone)
    gate.resolve()
    expect(await answer).toEqual({ result: "done" })
    await closed
  })

  it("aborts what runs on past the grace", async () => {
    const { operation, began, ended } = waiting()
    const { socketPath, server } = await serve([operation], { graceMs: 1 })
    const answer = askServer(socketPath, request("wait"), talkOf().talk)
    const refused = expect(answer).rejects.toThrow(/look whether the command was done/)
    await began
    await server.close()
    await refused
    expect(await ended).toBe("aborted")
  })
})

const setting = { name: "PORT", value: "3000", source: "default" }

describe("a line of an answer", () => {
  it.each([
    { progress: "half way" },
    { chunk: "" },
    { bytes: "" },
    { bytes: "YQ==" },
    { bytes: "YWJj" },
    { error: { error: "conflict", message: "Not now.", limit: null } },
    { result: null },
    { result: { ok: true }, text: "Done.\n" },
  ])("is taken as it stands: %j", (line) => {
    expect(readLine(JSON.stringify(line))).toEqual(line)
  })

  it.each([
    "",
    "nothing",
    "null",
    "7",
    "[]",
    "{}",
    '"progress"',
    '{"progress":7}',
    '{"chunk":null}',
    '{"bytes":"YQ"}',
    '{"bytes":"Y Q="}',
    '{"bytes":7}',
    '{"text":"alone"}',
    '{"result":1,"text":7}',
    '{"result":1,"more":2}',
    '{"error":"conflict"}',
    '{"error":{"error":"conflict"}}',
    '{"error":{"message":"why"}}',
    '{"progress":"a","chunk":"b"}',
    '{"error":{"error":"a","message":"b"},"result":1}',
  ])("is refused: %s", (text) => {
    expect(() => readLine(text)).toThrow(AdminProtocolFault)
  })
})

describe("who a server says it is", () => {
  it("is taken with the settings, of which an earlier release says nothing", () => {
    const bare = { folderId: "f", pid: 7 }
    expect(readIdentity(JSON.stringify(bare))).toEqual({ ...bare, settings: [] })
    const told = { ...bare, settings: [setting, { ...setting, source: "environment" }] }
    expect(readIdentity(JSON.stringify({ ...told, more: 1 }))).toEqual(told)
  })

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '{"folderId":"f"}',
    '{"pid":7}',
    '{"folderId":7,"pid":7}',
    '{"folderId":"f","pid":0}',
    '{"folderId":"f","pid":1.5}',
    '{"folderId":"f","pid":"7"}',
    JSON.stringify({ folderId: "f", pid: 7, settings: setting }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [{ ...setting, value: 3_000 }] }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [{ ...setting, source: "file" }] }),
    JSON.stringify({ folderId: "f", pid: 7, settings: [null] }),
  ])("is refused: %s", (text) => {
    expect(() => readIdentity(text)).toThrow(AdminProtocolFault)
  })
})

describe("the command line beside a server", () => {
  it("sends the command there and opens nothing", async () => {
    const causes: AdminContext["cause"][] = []
    const locking = fakeOperation("company lock", async ({ cause, progress }, input) => {
      causes.push(cause)
      progress("locking")
      return { input }
    })
    const { socketPath } = await serve([locking])
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const ran = await run(wordsOf("company lock acme --as ada --reason asked --json"), host)
    expect(ran).toEqual({
      code: 0,
      stdout: '{"input":{"company":"acme"}}\n',
      // What it tells of the way is for terminals alone.
      stderr: "",
    })
    expect(host.deeds).toEqual([])
    expect(causes).toMatchObject([{ actor: "ada", reason: "asked" }])
  })

  it("exits 1 where it is refused there, and 130 where it is interrupted", async () => {
    const { operation, began, ended } = waiting()
    const refusing = fakeOperation("company list", async () => {
      throw new OperatorRefused("conflict", "Not now.")
    })
    const { socketPath } = await serve([operation, refusing])
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const refused = await run(["company", "list", "--json"], host)
    expect(refused).toEqual({
      code: 1,
      stdout: '{"error":"conflict","message":"Not now."}\n',
      stderr: "",
    })
    const abort = new AbortController()
    const interrupted = run(["wait"], host, abort.signal)
    await began
    abort.abort()
    expect(await interrupted).toMatchObject({
      code: 130,
      stderr: "Interrupted before it was done.\n",
    })
    expect(await ended).toBe("aborted")
  })

  it("exits 1 with a sentence where the server has just ended", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    const host = fakeHost([], { livingServer: async () => ({ socketPath }) })
    const ran = await run(["wait", "--json"], host)
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "unavailable" })
  })
})
