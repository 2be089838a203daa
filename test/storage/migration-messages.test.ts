import { readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import type { OperationInput } from "../../src/frame/operator/cli/command-spec.ts"
import type { MaintenanceResult } from "../../src/frame/operator/cli/command-line-host.ts"
import {
  fakeHost,
  fakeOperation,
  runTestCommand,
  testFolder,
  splitWords,
} from "../operator/fake-host.ts"

const AUDIT = {
  ok: true,
  events: 7,
  streams: 2,
  checks: [{ name: "all", ok: true, detail: "7" }],
  firstBroken: null,
  foreignStreams: { streams: 0, events: 0, byName: {} },
  skipped: [],
}
const COPIED = {
  ok: true,
  to: "esdb://host:2113",
  events: 7,
  streams: 2,
  alreadyThere: 3,
  leftOut: [],
}

function hostReturning(result: MaintenanceResult) {
  const commands: [string, OperationInput][] = []
  const runMaintenance = async (name: string, input: OperationInput) => {
    commands.push([name, input])
    return result
  }
  return { commands, host: fakeHost([], { runMaintenance }) }
}

describe("store migrate and restore", () => {
  it("pass their arguments on, and print one JSON document", async () => {
    const { host, commands } = hostReturning({ ...COPIED, audit: AUDIT } as MaintenanceResult)
    const result = await runTestCommand(
      splitWords("store migrate --to esdb://host:2113 --json"),
      host,
    )
    expect(result).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(result.stdout)).toEqual({ ...COPIED, audit: AUDIT })
    await runTestCommand(splitWords("store migrate --to database"), host)
    await runTestCommand(splitWords("restore a.backup"), host)
    expect(commands).toEqual([
      ["store migrate", { to: "esdb://host:2113" }],
      ["store migrate", { to: "database" }],
      ["restore", { file: "a.backup" }],
    ])
    expect(host.calls).toEqual([])
  })

  it("print the next step for people", async () => {
    const copied = hostReturning({ ...COPIED, audit: AUDIT } as MaintenanceResult)
    const there = await runTestCommand(
      splitWords("store migrate --to esdb://host:2113"),
      copied.host,
    )
    expect(there.stdout).toMatch(/already there: 3\n[^]*Everything is valid: 7 facts/)
    expect(there.stdout).toMatch(
      /From now on start with LEDGER_EVENTSTORE_URL=esdb:\/\/host:2113\.\n$/,
    )
    const back = hostReturning({ ...COPIED, to: "database", audit: AUDIT } as MaintenanceResult)
    const home = await runTestCommand(splitWords("store migrate --to database"), back.host)
    expect(home.stdout).toMatch(/From now on start with LEDGER_EVENTSTORE_URL unset\.\n$/)
  })

  it("exit with 1 after a failed audit or a rejection, and with 130 if interrupted", async () => {
    const { host } = hostReturning({ ok: false })
    expect(await runTestCommand(splitWords("restore a.backup --json"), host)).toMatchObject({
      code: 1,
    })
    const rejectingHost = fakeHost([], {
      runMaintenance: async () => {
        throw new OperatorRefused("not_empty", "Not here.")
      },
    })
    expect(await runTestCommand(splitWords("restore a.backup --json"), rejectingHost)).toEqual({
      code: 1,
      stdout: '{"error":"not_empty","message":"Not here."}\n',
      stderr: "",
    })
    const abort = new AbortController()
    const waiting = fakeHost([], {
      runMaintenance: async (_name, _input, { signal }) => {
        abort.abort()
        signal.throwIfAborted()
        return { ok: true }
      },
    })
    expect(
      await runTestCommand(splitWords("restore a.backup"), waiting, abort.signal),
    ).toMatchObject({
      code: 130,
      stderr: "Interrupted. Run the same command again to continue.\n",
    })
  })

  it("do not run next to a running server", async () => {
    const host = fakeHost([], { runningServer: async () => ({ socketPath: "/nowhere" }) })
    const result = await runTestCommand(splitWords("store migrate --to esdb://host:2113"), host)
    expect(result).toMatchObject({ code: 1, stdout: "" })
    expect(result.stderr).toMatch(/^A server uses this installation. Stop it first/)
    expect(host.calls).toEqual([])
  })

  it.each([
    "store migrate",
    "store migrate --to http://host",
    "store migrate --to esdb://host?tlsVerifyCert=false",
    "backup",
    "backup - --json",
    "restore",
  ])("exit with 2 on wrong usage: %s", async (line) => {
    expect(await runTestCommand(splitWords(line), fakeHost([]))).toMatchObject({ code: 2 })
  })
})

describe("backup", () => {
  const operation = fakeOperation("backup", async ({ send }) => {
    await send("a\n")
    await send("b\n")
    return { ok: true, events: 1, rows: 2, bytes: 4, checksum: "c", leftOut: [], audit: AUDIT }
  })

  it("writes a file that only its owner can read, even if it replaces a readable one", async () => {
    const path = join(await testFolder(), "ledger.backup")
    await writeFile(path, "old", { mode: 0o644 })
    const result = await runTestCommand(["backup", path], fakeHost([operation]))
    expect(result).toMatchObject({ code: 0 })
    expect(result.stdout).toMatch(/events: 1\nrows: 2\nbytes: 4\n/)
    expect(await readFile(path, "utf8")).toBe("a\nb\n")
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it("writes the backup to standard output and the report to standard error", async () => {
    const result = await runTestCommand(["backup", "-"], fakeHost([operation]))
    expect(result).toMatchObject({ code: 0, stdout: "a\nb\n" })
    expect(result.stderr).toMatch(/Everything is valid/)
  })
})
