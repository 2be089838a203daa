/** Each command of the run-book, run by a shell beside a server. */
import { execFile, spawnSync } from "node:child_process"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { BUNDLE } from "../../bin/program.mjs"
import type { Place, ServerProcess } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { RUNBOOK } from "./alert-rules.ts"

const run = promisify(execFile)

/** The commands of the run-book's code, in their order. */
const COMMANDS = [...RUNBOOK.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, code = ""]) =>
  code.trimEnd().split("\n"),
)

/** Nothing is parked here: what decides on parked work is understood, and finds none. */
const NO_WORK = "999999"
const ON_WORK = COMMANDS.filter((line) => line.includes("WORK_ID"))

/** What machines lack, such as sandboxes, makes it end with 1. */
const VERDICTS = ["company-ledger doctor"]

let place: Place
let server: ServerProcess
let bin: string
/** Runs a line of the run-book where the server's settings are; answers its code and output. */
async function inShell(line: string) {
  const filled = line.replace("WORK_ID", NO_WORK).replace("http://127.0.0.1:3000", server.url)
  const { HOME, PATH, TMPDIR } = process.env
  const env = { HOME, TMPDIR, PATH: `${bin}:${PATH}`, LEDGER_DATA_DIR: place.dataDir, PORT: "0" }
  const options = { cwd: dirname(place.dataDir), env }
  try {
    const { stdout } = await run("sh", ["-c", filled], options)
    return { code: 0, said: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, said: `${stdout}${stderr}` }
  }
}

beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "ledger-runbook-"))
  const program = join(bin, "company-ledger")
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${BUNDLE}" "$@"\n`)
  await chmod(program, 0o755)
  place = await makePlace()
  server = await place.start()
  await place.ledger("company", "create", "acme", "--funds", "50")
})
afterAll(async () => {
  await place.clear()
  await rm(bin, { recursive: true })
})

describe("the run-book", () => {
  it("has commands that do what it says of them", async (ctx) => {
    if (spawnSync("curl", ["--version"]).status !== 0) ctx.skip("curl is not installed")
    expect(COMMANDS.length).toBeGreaterThan(30)
    // A refused call, for the figures to name.
    await fetch(`${server.url}/api/v1/account`)
    const failed: object[] = []
    const said = new Map<string, string>()
    for (const line of COMMANDS) {
      if (said.has(line)) continue
      const ended = await inShell(line)
      said.set(line, ended.said)
      const isWell = ON_WORK.includes(line)
        ? ended.code === 1 && ended.said.includes(NO_WORK)
        : ended.code === 0 || VERDICTS.includes(line)
      if (!isWell) failed.push({ line, ...ended })
    }
    expect(ON_WORK).toHaveLength(2)
    expect(failed).toEqual([])
    expect(said.get("company-ledger doctor")).toContain("event store")
    const restored = "LEDGER_DATA_DIR=./restored company-ledger audit verify"
    expect(said.get(restored)).toContain("Everything holds")
    // Each of them is a process.
  }, 900_000)
})
