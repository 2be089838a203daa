/** Irreversible operations: a terminal asks for the name, everything else must pass `--yes`. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { describe, expect, it } from "vitest"
import { BUNDLE_FILE } from "../../bin/program.mjs"
import { runCommandLine } from "../../src/frame/operator/cli/run-command-line.ts"
import { PROGRAM } from "../../src/slices.ts"
import {
  CATALOGUE,
  fakeHost,
  fakeOperation,
  parseLine,
  recordingTerminal,
  runTestCommand,
  testFolder,
  splitWords,
} from "./fake-host.ts"
import { askServer, operatorRequest, serveOperations, newRecordingClient } from "./fake-server.ts"

function deleting(name: string) {
  const calls: unknown[] = []
  const operation = fakeOperation(name, async (_, input) => {
    calls.push(input)
    return { done: true }
  })
  return { calls, operation }
}

const lines = [
  [
    "company delete",
    "company delete acme",
    "acme",
    "its keys stop working immediately, and its data is erased after 14 days; " +
      'until then "company restore" undoes it',
  ],
  [
    "key delete",
    "key delete key_1",
    "key_1",
    'the key is rejected from now on, permanently; "key pause" stops it temporarily',
  ],
] as const

describe.each(lines)("%s", (name, line, named, says) => {
  it("runs with --yes", async () => {
    const { calls, operation } = deleting(name)
    expect(await runTestCommand(splitWords(`${line} --yes`), fakeHost([operation]))).toMatchObject({
      code: 0,
    })
    expect(calls).toHaveLength(1)
  })

  it("exits 2 without --yes and without a terminal, and opens nothing", async () => {
    const { calls, operation } = deleting(name)
    const host = fakeHost([operation])
    const ran = await runTestCommand(splitWords(line), host)
    expect(ran).toMatchObject({ code: 2, stdout: "" })
    expect(ran.stderr).toContain(`error: ${line}: ${says}. Confirm it with --yes\n`)
    const json = await runTestCommand(splitWords(`${line} --json`), host)
    expect(json.code).toBe(2)
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: "usage",
      message: expect.stringContaining("--yes"),
    })
    expect([calls, host.calls]).toEqual([[], []])
  })

  /** Runs the line at a terminal where this text is typed. */
  async function typing(typed: string) {
    const { calls, operation } = deleting(name)
    const questions: string[] = []
    const terminal = recordingTerminal({
      prompt: async (question) => {
        questions.push(question)
        return typed
      },
    })
    const { signal } = new AbortController()
    const code = await runCommandLine(splitWords(line), fakeHost([operation]), terminal, signal)
    return { code, calls, questions, stderr: terminal.stderr }
  }

  it("asks for the name on a terminal", async () => {
    const { code, calls, questions } = await typing(` ${named} `)
    expect([code, calls.length]).toEqual([0, 1])
    expect(questions).toEqual([`${line}: ${says}.\nType ${named} to continue: `])
  })

  it.each(["", "y", "yes", "Acme", "key_2"])("does nothing if %j is typed", async (typed) => {
    const { code, calls, stderr } = await typing(typed)
    expect([code, calls]).toEqual([2, []])
    expect(stderr).toContain(`the input does not match ${named}: nothing was done`)
  })

  it("is rejected on the admin socket without a confirmation, or with another name", async () => {
    const { calls, operation } = deleting(name)
    const { socketPath } = await serveOperations([operation])
    const field = operation.irreversible?.field ?? ""
    const request = operatorRequest(name, { [field]: named })
    for (const confirmed of [{}, { confirmation: "other" }, { confirmed: "" }]) {
      const answer = await askServer(
        socketPath,
        { ...request, ...confirmed },
        newRecordingClient().observer,
      )
      expect(answer).toMatchObject({ error: { fields: { confirm: expect.any(String) } } })
    }
    expect(calls).toEqual([])
    const sure = { ...request, confirmation: named }
    expect(await askServer(socketPath, sure, newRecordingClient().observer)).toEqual({
      result: { done: true },
    })
  })

  it("sends the confirmation to a running server", async () => {
    const { calls, operation } = deleting(name)
    const { socketPath } = await serveOperations([operation])
    const host = fakeHost([], { runningServer: async () => ({ socketPath }) })
    expect(await runTestCommand(splitWords(`${line} --yes`), host)).toMatchObject({ code: 0 })
    expect(calls).toHaveLength(1)
  })
})

it("stops asking when it is interrupted", async () => {
  const { calls, operation } = deleting("company delete")
  const abort = new AbortController()
  const prompt = async (_: string, signal: AbortSignal) => {
    abort.abort()
    signal.throwIfAborted()
    return "acme"
  }
  const terminal = recordingTerminal({ prompt })
  const host = fakeHost([operation])
  expect(await runCommandLine(["company", "delete", "acme"], host, terminal, abort.signal)).toBe(
    130,
  )
  expect(calls).toEqual([])
  expect(terminal.stderr).toBe("Interrupted before the confirmation. Nothing was done.\n")
})

it("asks only before irreversible operations", async () => {
  const confirmed = CATALOGUE.commands.filter(({ irreversible }) => irreversible !== undefined)
  expect(confirmed.map(({ name }) => name)).toEqual([
    "key delete",
    "domain remove",
    "lead erase",
    "company delete",
    "repository scrub",
    "box stop",
    "preview reset",
  ])
  expect(parseLine("company lock acme --yes").kind).toBe("usage")
  const { socketPath } = await serveOperations([
    fakeOperation("company list", async () => ({ done: true })),
  ])
  const answer = await askServer(
    socketPath,
    operatorRequest("company list"),
    newRecordingClient().observer,
  )
  expect(answer).toEqual({ result: { done: true } })
})

it.each(PROGRAM.operations.filter(({ irreversible }) => irreversible !== undefined))(
  "$name asks for the value of a required argument or option",
  ({ name, irreversible }) => {
    const spec = CATALOGUE.commands.find((command) => command.name === name)
    const field = irreversible?.field ?? ""
    const named = spec?.arguments.filter((one) => one.field === field && one.isOptional !== true)
    const flagged = spec?.options.filter(
      ({ flags, isRequired }) => flags.startsWith(`--${field} `) && isRequired === true,
    )
    expect([...(named ?? []), ...(flagged ?? [])]).toHaveLength(1)
  },
)

/** Runs the line at a terminal made by `script`, and types the text. */
async function atTerminal(line: string, dataDir: string, typed: string) {
  const env = { ...process.env, LEDGER_DATA_DIR: dataDir }
  const child = spawn("script", ["-qec", line, "/dev/null"], { env })
  const ended = once(child, "close")
  child.stdin.write(typed)
  const shown = await text(child.stdout)
  const [code] = await ended
  return { code, shown }
}

it("asks on a real terminal, and reads the answer there", async (context) => {
  if (spawnSync("script", ["--version"]).error !== undefined) {
    return context.skip("no `script` on this machine")
  }
  const { calls, operation } = deleting("company delete")
  const { socketPath } = await serveOperations([operation])
  const folder = await testFolder()
  const server = { pid: process.pid, url: "http://127.0.0.1:1", socketPath, folderId: "folder-1" }
  await writeFile(join(folder, "server.json"), JSON.stringify(server))
  const line = `'${process.execPath}' '${BUNDLE_FILE}' company delete acme`
  expect(await atTerminal(line, folder, "no\n")).toMatchObject({ code: 2 })
  expect(calls).toEqual([])
  const sure = await atTerminal(line, folder, "acme\n")
  expect(sure).toMatchObject({ code: 0, shown: expect.stringContaining("Type acme to continue: ") })
  return expect(calls).toEqual([{ company: "acme" }])
})
