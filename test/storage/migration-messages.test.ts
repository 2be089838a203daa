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

/** A host whose moves come to this, and what was asked of it. */
function movingTo(result: MaintenanceResult) {
  const asked: [string, OperationInput][] = []
  const runMaintenance = async (name: string, input: OperationInput) => {
    asked.push([name, input])
    return result
  }
  return { asked, host: fakeHost([], { runMaintenance }) }
}

describe("store migrate and restore", () => {
  it("are given on with their words, and answer one document", async () => {
    const { host, asked } = movingTo({ ...COPIED, audit: AUDIT } as MaintenanceResult)
    const ran = await runTestCommand(splitWords("store migrate --to esdb://host:2113 --json"), host)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout)).toEqual({ ...COPIED, audit: AUDIT })
    await runTestCommand(splitWords("store migrate --to database"), host)
    await runTestCommand(splitWords("restore a.backup"), host)
    expect(asked).toEqual([
      ["store migrate", { to: "esdb://host:2113" }],
      ["store migrate", { to: "database" }],
      ["restore", { file: "a.backup" }],
    ])
    expect(host.deeds).toEqual([])
  })

  it("say for people what comes next", async () => {
    const copied = movingTo({ ...COPIED, audit: AUDIT } as MaintenanceResult)
    const there = await runTestCommand(
      splitWords("store migrate --to esdb://host:2113"),
      copied.host,
    )
    expect(there.stdout).toMatch(/already there: 3\n[^]*Everything is valid: 7 facts/)
    expect(there.stdout).toMatch(
      /From now on start with LEDGER_EVENTSTORE_URL=esdb:\/\/host:2113\.\n$/,
    )
    const back = movingTo({ ...COPIED, to: "database", audit: AUDIT } as MaintenanceResult)
    const home = await runTestCommand(splitWords("store migrate --to database"), back.host)
    expect(home.stdout).toMatch(/From now on start with LEDGER_EVENTSTORE_URL unset\.\n$/)
  })

  it("exit 1 where the audit finds something, or it is refused, and 130 where interrupted", async () => {
    const { host } = movingTo({ ok: false })
    expect(await runTestCommand(splitWords("restore a.backup --json"), host)).toMatchObject({
      code: 1,
    })
    const refusing = fakeHost([], {
      runMaintenance: async () => {
        throw new OperatorRefused("not_empty", "Not here.")
      },
    })
    expect(await runTestCommand(splitWords("restore a.backup --json"), refusing)).toEqual({
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

  it("leave a living server alone", async () => {
    const host = fakeHost([], { runningServer: async () => ({ socketPath: "/nowhere" }) })
    const ran = await runTestCommand(splitWords("store migrate --to esdb://host:2113"), host)
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toMatch(/^A server uses this installation. Stop it first/)
    expect(host.deeds).toEqual([])
  })

  it.each([
    "store migrate",
    "store migrate --to http://host",
    "store migrate --to esdb://host?tlsVerifyCert=false",
    "backup",
    "backup - --json",
    "restore",
  ])("is wrong usage: %s", async (line) => {
    expect(await runTestCommand(splitWords(line), fakeHost([]))).toMatchObject({ code: 2 })
  })
})

describe("backup", () => {
  const operation = fakeOperation("backup", async ({ send }) => {
    await send("a\n")
    await send("b\n")
    return { ok: true, events: 1, rows: 2, bytes: 4, checksum: "c", leftOut: [], audit: AUDIT }
  })

  it("writes a file that is its owner's alone to read, also over one that was not", async () => {
    const path = join(await testFolder(), "ledger.backup")
    await writeFile(path, "old", { mode: 0o644 })
    const ran = await runTestCommand(["backup", path], fakeHost([operation]))
    expect(ran).toMatchObject({ code: 0 })
    expect(ran.stdout).toMatch(/events: 1\nrows: 2\nbytes: 4\n/)
    expect(await readFile(path, "utf8")).toBe("a\nb\n")
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it("writes to standard output for another program to take, and says the rest beside", async () => {
    const ran = await runTestCommand(["backup", "-"], fakeHost([operation]))
    expect(ran).toMatchObject({ code: 0, stdout: "a\nb\n" })
    expect(ran.stderr).toMatch(/Everything is valid/)
  })
})
