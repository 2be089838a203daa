/** The admin socket: operations as routes, and commands that run on the server. */
import { once } from "node:events"
import { existsSync, statSync, writeFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { type IncomingMessage, request as httpRequest } from "node:http"
import { createServer } from "node:net"
import { basename, join } from "node:path"
import { text } from "node:stream/consumers"
import { describe, expect, it, onTestFinished } from "vitest"
import { type AdminContext, OperatorRefused } from "../../src/frame/operator/operation.ts"
import { MAX_SOCKET_PATH_BYTES, operationUrl } from "../../src/frame/operator/protocol.ts"
import { ServerGone, sendOverSocket, identifyServer } from "../../src/frame/operator/cli/client.ts"
import { PROGRAM } from "../../src/slices.ts"
import {
  UNUSED_PORTS,
  PORT_SETTING,
  fakeOperation,
  testFolder,
  fakeHost,
  runTestCommand,
  splitWords,
} from "./fake-host.ts"
import {
  askServer,
  operatorRequest,
  serveOperations,
  newRecordingClient,
  waitingOperation,
} from "./fake-server.ts"

const IDENTITY = { folderId: "folder-1", pid: process.pid, settings: [PORT_SETTING] }

/** Posts a raw body; returns the status and text of the answer. */
async function post(socketPath: string, path: string, body: string) {
  const headers = { "content-type": "application/json" }
  const request = httpRequest({ socketPath, path, method: "POST", agent: false, headers })
  // The server answers a body that is too long before it has read all of it.
  request.on("error", () => undefined)
  request.end(body)
  const [response] = (await once(request, "response")) as [IncomingMessage]
  return { status: response.statusCode, text: await text(response) }
}

describe("the admin socket", () => {
  it("is accessible only to its owner", async () => {
    const { socketPath } = await serveOperations([])
    const { mode } = statSync(socketPath)
    expect((mode & 0o777).toString(8)).toBe("600")
    expect(existsSync(join(socketPath, "../.admin"))).toBe(false)
  })

  it("replaces the socket file of a killed server", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    writeFileSync(socketPath, "")
    await serveOperations([], { socketPath })
    expect(await identifyServer(socketPath, "folder-1")).toEqual(IDENTITY)
  })

  it("identifies its data folder", async () => {
    const { socketPath } = await serveOperations([])
    expect(await identifyServer(socketPath, "folder-1")).toEqual(IDENTITY)
    expect(await identifyServer(socketPath, "folder-2")).toBe(null)
  })

  it("rejects a path that is too long for a socket", async () => {
    const socketPath = `/${"x".repeat(MAX_SOCKET_PATH_BYTES)}`
    await expect(serveOperations([], { socketPath })).rejects.toThrow(RangeError)
  })

  it("is removed when its server closes, unless another server has replaced it", async () => {
    const first = await serveOperations([])
    const second = await serveOperations([], { socketPath: first.socketPath })
    await first.server.close()
    expect(await identifyServer(first.socketPath, "folder-1")).toEqual(IDENTITY)
    await second.server.close()
    expect(existsSync(first.socketPath)).toBe(false)
    expect(await identifyServer(first.socketPath, "folder-1")).toBe(null)
  })

  it("has no server if nothing listens, and a silent one if nothing answers", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    expect(await identifyServer(socketPath, "folder-1")).toBe(null)
    const silent = createServer().listen(socketPath)
    onTestFinished(() => void silent.close())
    await once(silent, "listening")
    await expect(identifyServer(socketPath, "folder-1", 50)).rejects.toThrow(ServerGone)
  })
})

describe("an operation over the socket", () => {
  it("reports progress, sends chunks and answers", async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => `${index}: ${"ü\n".repeat(5_000)}`)
    const exporting = fakeOperation("export billing", async ({ progress, send, cause }, input) => {
      progress("begins")
      for (const piece of pieces) await send(piece)
      return { input, actor: cause.actor, reason: cause.reason }
    })
    const { socketPath, faults } = await serveOperations([exporting])
    const { received, observer } = newRecordingClient()
    const request = {
      ...operatorRequest("export billing", { month: "2026-11" }),
      reason: "year end",
    }
    expect(await askServer(socketPath, request, observer)).toEqual({
      result: { input: { month: "2026-11" }, actor: "ada", reason: "year end" },
    })
    expect(received.progress).toEqual(["begins"])
    expect(Buffer.concat(received.chunks).toString("utf8")).toBe(pieces.join(""))
    expect(faults).toEqual([])
  })

  it("sends binary chunks unchanged", async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256)
    const exporting = fakeOperation("export billing", async ({ send }) => {
      for (const piece of ["head\n", bytes, new Uint8Array(0)]) await send(piece)
      return {}
    })
    const { socketPath } = await serveOperations([exporting])
    const { received, observer } = newRecordingClient()
    expect(await askServer(socketPath, operatorRequest("export billing"), observer)).toEqual({
      result: {},
    })
    expect(Buffer.concat(received.chunks)).toEqual(Buffer.concat([Buffer.from("head\n"), bytes]))
  })

  it("waits for a slow reader", async () => {
    const sent: number[] = []
    const full = Promise.withResolvers<void>()
    const exporting = fakeOperation("export billing", async ({ send }) => {
      for (let piece = 0; piece < 400; piece += 1) {
        const room = send("x".repeat(100_000))
        // A send that does not resolve immediately has filled the buffers in between.
        const first = await Promise.race([room, new Promise((resolve) => setImmediate(resolve, 1))])
        if (first === 1) full.resolve()
        await room
        sent.push(piece)
      }
      return null
    })
    const { socketPath } = await serveOperations([exporting])
    const gate = Promise.withResolvers<void>()
    const { observer } = newRecordingClient()
    let taken = 0
    const send = async (piece: Uint8Array) => {
      await gate.promise
      taken += piece.length
    }
    const answer = askServer(socketPath, operatorRequest("export billing"), { ...observer, send })
    await full.promise
    expect(sent.length).toBeLessThan(400)
    gate.resolve()
    expect(await answer).toEqual({ result: null })
    expect(taken).toBe(400 * 100_000)
  })

  it("reports why a file is incomplete", async () => {
    const exporting = fakeOperation("export billing", async ({ send }) => {
      await send("head")
      throw new OperatorRefused("conflict", "It was changed meanwhile.")
    })
    const { socketPath, faults } = await serveOperations([exporting])
    const answer = await askServer(
      socketPath,
      operatorRequest("export billing"),
      newRecordingClient().observer,
    )
    expect(answer).toEqual({ error: { error: "conflict", message: "It was changed meanwhile." } })
    expect(faults).toEqual([])
    const ran = await runTestCommand(
      splitWords("export billing --company acme --month 2026-11 --format csv --out -"),
      fakeHost([exporting]),
    )
    expect(ran).toMatchObject({ code: 1, stderr: "It was changed meanwhile.\n" })
  })

  it("answers with an operation's rejection, and with an error for an unknown operation", async () => {
    const refusing = fakeOperation("wait", async () => {
      throw new OperatorRefused("not_found", "There is nothing.")
    })
    const { socketPath } = await serveOperations([refusing])
    const { observer } = newRecordingClient()
    expect(await askServer(socketPath, operatorRequest("wait"), observer)).toEqual({
      error: { error: "not_found", message: "There is nothing." },
    })
    expect(await askServer(socketPath, operatorRequest("nonsense"), observer)).toMatchObject({
      error: { error: "unknown_operation" },
    })
  })

  it("answers with a fault of the program and logs it", async () => {
    const fault = new TypeError("x is undefined")
    const failing = fakeOperation("wait", async () => {
      throw fault
    })
    const { socketPath, faults } = await serveOperations([failing])
    expect(
      await askServer(socketPath, operatorRequest("wait"), newRecordingClient().observer),
    ).toEqual({
      error: { error: "internal", message: "The server failed: x is undefined" },
    })
    expect(faults).toEqual([fault])
  })

  it("is aborted when its operator disconnects", async () => {
    const { operation, began, ended } = waitingOperation()
    const { socketPath, server, faults } = await serveOperations([operation])
    const abort = new AbortController()
    const answer = askServer(
      socketPath,
      operatorRequest("wait"),
      newRecordingClient(abort.signal).observer,
    )
    const refused = expect(answer).rejects.toMatchObject({ name: "AbortError" })
    await began
    abort.abort()
    await refused
    expect(await ended).toBe("aborted")
    await server.close()
    expect(faults).toEqual([])
  })

  it("stops sending when its operator disconnects", async () => {
    const stopped = Promise.withResolvers<unknown>()
    const exporting = fakeOperation("export billing", async ({ send }) => {
      try {
        for (;;) await send("x".repeat(100_000))
      } catch (error) {
        stopped.resolve(error)
        throw error
      }
    })
    const { socketPath, faults } = await serveOperations([exporting])
    const abort = new AbortController()
    const { observer } = newRecordingClient(abort.signal)
    const send = async () => abort.abort()
    await expect(
      askServer(socketPath, operatorRequest("export billing"), { ...observer, send }),
    ).rejects.toMatchObject({ name: "AbortError" })
    expect(await stopped.promise).toMatchObject({ name: "AbortError" })
    expect(faults).toEqual([])
  })

  it.each([
    ["malformed JSON", "{", 400],
    ["invalid input", "[]", 400],
    ["a body that is too long", JSON.stringify({ name: "x".repeat(2 * 1024 * 1024) }), 413],
  ])("rejects %s", async (_, body, status) => {
    const { socketPath } = await serveOperations(PROGRAM.operations)
    const answer = await post(socketPath, `${operationUrl("company create")}?actor=ada`, body)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ error: expect.any(String) })
  })

  it("has no other routes", async () => {
    const { socketPath } = await serveOperations([])
    expect((await post(socketPath, "/elsewhere", "{}")).status).toBe(404)
    expect((await post(socketPath, "/api/v1/phone/messages", "{}")).status).toBe(404)
  })
})

it("logs nothing of the requests' and answers' content", async () => {
  const lines: unknown[] = []
  const info = (message: string, details?: object) => void lines.push({ message, ...details })
  const log = { info, warn: (message: string) => void lines.push({ message }) }
  const creating = fakeOperation("key create", async () => ({ key: "cpk_hidden" }))
  const failing = fakeOperation("company lock", async () => {
    throw new OperatorRefused("conflict", "The word hidden is in use.")
  })
  const options = { ports: { ...UNUSED_PORTS, log }, logRequests: 1 }
  const { socketPath } = await serveOperations([creating, failing], options)
  const observer = { signal: new AbortController().signal }
  const attribution = { actor: "hidden", reason: "hidden", confirmation: "hidden" }
  const input = { company: "hidden", password: "hidden" }
  await askServer(socketPath, { ...operatorRequest("key create", input), ...attribution }, observer)
  await askServer(
    socketPath,
    { ...operatorRequest("company lock", input), ...attribution },
    observer,
  )
  expect(lines).toMatchObject([
    { route: "/operator/v1/operations/key-create", status: 200 },
    { route: "/operator/v1/operations/company-lock", status: 409, error: "conflict" },
  ])
  expect(JSON.stringify(lines)).not.toContain("hidden")
})

it("serves an OpenAPI document of its routes", async () => {
  const { socketPath } = await serveOperations(PROGRAM.operations)
  const { signal } = new AbortController()
  const send = sendOverSocket(socketPath)
  const { status, body } = await send({ method: "GET", url: "/openapi.json", signal })
  const document = JSON.parse(await text(body)) as { paths: Record<string, object> }
  expect(status).toBe(200)
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining(PROGRAM.operations.map(({ name }) => operationUrl(name))),
  )
})

it("accepts an operation's file as the request body", async () => {
  const read: unknown[] = []
  const taking = fakeOperation("repository upload", async (_, input) => {
    const { file, message } = input as { readonly file: string; readonly message: string }
    read.push(basename(file), await readFile(file, "utf8"), message)
    throw new OperatorRefused("bad_file", `${file} cannot be taken.`)
  })
  const real = PROGRAM.operations.find(({ name }) => name === "repository upload")
  const { socketPath } = await serveOperations([{ ...taking, input: real?.input ?? taking.input }])
  const folder = await testFolder()
  const path = join(folder, "app.zip")
  await writeFile(path, "ü".repeat(300_000))
  const input = { company: "acme", file: path, message: "ä & b" }
  const request = { ...operatorRequest("repository upload", input), uploadField: "file" }
  const answer = await askServer(socketPath, request, newRecordingClient().observer)
  expect(answer).toEqual({ error: { error: "bad_file", message: "app.zip cannot be taken." } })
  expect(read).toEqual(["app.zip", "ü".repeat(300_000), "ä & b"])
  const missing = { ...request, input: { ...input, file: folder } }
  await expect(askServer(socketPath, missing, newRecordingClient().observer)).rejects.toThrow(
    "is not a file",
  )
  const host = fakeHost([], { runningServer: async () => ({ socketPath }) })
  const ran = await runTestCommand(
    splitWords(`repository upload ${folder}/none.zip --company acme`),
    host,
  )
  expect(ran).toMatchObject({ code: 1, stderr: `${folder}/none.zip cannot be read (ENOENT).\n` })
})

describe("a server that stops", () => {
  it("lets a running operation finish", async () => {
    const began = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const slow = fakeOperation("wait", async () => {
      began.resolve()
      await gate.promise
      return "done"
    })
    const { socketPath, server } = await serveOperations([slow])
    const answer = askServer(socketPath, operatorRequest("wait"), newRecordingClient().observer)
    await began.promise
    const closed = server.close()
    await expect(
      askServer(socketPath, operatorRequest("wait"), newRecordingClient().observer),
    ).rejects.toThrow(ServerGone)
    gate.resolve()
    expect(await answer).toEqual({ result: "done" })
    await closed
  })

  it("aborts an operation that exceeds the grace period", async () => {
    const { operation, began, ended } = waitingOperation()
    const { socketPath, server } = await serveOperations([operation], { graceMs: 1 })
    const answer = askServer(socketPath, operatorRequest("wait"), newRecordingClient().observer)
    await began
    await server.close()
    expect(await answer).toMatchObject({
      error: {
        error: "unavailable",
        message: expect.stringMatching(/Check whether it took effect/),
      },
    })
    expect(await ended).toBe("aborted")
  })
})

describe("a command with a running server", () => {
  it("runs on the server and opens nothing", async () => {
    const causes: AdminContext["cause"][] = []
    const locking = fakeOperation("company lock", async ({ cause, progress }, input) => {
      causes.push(cause)
      progress("locking")
      return { input }
    })
    const { socketPath } = await serveOperations([locking])
    const host = fakeHost([], { runningServer: async () => ({ socketPath }) })
    const ran = await runTestCommand(
      splitWords("company lock acme --as ada --reason asked --json"),
      host,
    )
    expect(ran).toEqual({
      code: 0,
      stdout: '{"input":{"company":"acme"}}\n',
      // Progress is only written to terminals.
      stderr: "",
    })
    expect(host.calls).toEqual([])
    expect(causes).toMatchObject([{ actor: "ada", reason: "asked" }])
  })

  it("exits 1 if the server rejects it, and 130 if it is interrupted", async () => {
    const { operation, began, ended } = waitingOperation()
    const refusing = fakeOperation("company list", async () => {
      throw new OperatorRefused("conflict", "Not now.")
    })
    const { socketPath } = await serveOperations([operation, refusing])
    const host = fakeHost([], { runningServer: async () => ({ socketPath }) })
    const refused = await runTestCommand(["company", "list", "--json"], host)
    expect(refused).toEqual({
      code: 1,
      stdout: '{"error":"conflict","message":"Not now."}\n',
      stderr: "",
    })
    const abort = new AbortController()
    const interrupted = runTestCommand(["wait"], host, abort.signal)
    await began
    abort.abort()
    expect(await interrupted).toMatchObject({
      code: 130,
      stderr: "Interrupted before the command was done.\n",
    })
    expect(await ended).toBe("aborted")
  })

  it("exits 1 with a message if the server has just ended", async () => {
    const socketPath = join(await testFolder(), "admin.sock")
    const host = fakeHost([], { runningServer: async () => ({ socketPath }) })
    const ran = await runTestCommand(["wait", "--json"], host)
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "unavailable" })
  })
})
