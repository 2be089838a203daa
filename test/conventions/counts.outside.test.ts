import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { runChild } from "../../bin/node.mjs"
import type { RunCounts } from "../support/reporter.ts"
import { ROOT } from "./source-tree.ts"

let folder = ""

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "counts-"))
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"))
  writeFileSync(join(folder, "package.json"), '{"type": "module"}')
  const config = "export default { test: { expect: { requireAssertions: true } } }"
  writeFileSync(join(folder, "vitest.config.mjs"), config)
})

afterEach(() => rmSync(folder, { recursive: true }))

/** Runs small suites with the reporter of `npm test`. */
async function count(tests: Readonly<Record<string, string>>, ...args: readonly string[]) {
  for (const [name, test] of Object.entries(tests)) {
    const imports = [
      "import { spawn, spawnSync } from 'node:child_process'",
      "import { once } from 'node:events'",
      "import { connect } from 'node:net'",
      "import { beforeAll, describe, expect, it } from 'vitest'",
    ]
    writeFileSync(join(folder, `${name}.test.ts`), [...imports, test].join("\n"))
  }
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs")
  const reporter = `--reporter=${join(ROOT, "test/support/reporter.ts")}`
  const report = join(folder, "report.json")
  const env: NodeJS.ProcessEnv = { PATH: process.env["PATH"], TEST_REPORT_FILE: report }
  const options = { cwd: folder, env, stdio: "ignore" as const }
  await runChild(process.execPath, [vitest, "run", reporter, ...args], options)
  return JSON.parse(readFileSync(report, "utf8")) as RunCounts
}

it("the reporter counts passed, failed and skipped tests, and every kind of failure", async () => {
  const counts = await count({
    // One passes, one fails, two are skipped.
    a: `
      it("passes", () => { expect(1).toBe(1) })
      it("fails", () => { expect(1).toBe(2) })
      describe("here", () => {
        it("skips", (ctx) => { ctx.skip("no chromium here") })
        it.skip("skips too", () => { expect(1).toBe(1) })
      })`,
    // One has no assertion, and one has it in a function that never runs.
    b: `
      it("nothing", () => {})
      it("wrapped", () => () => { expect(1).toBe(2) })`,
    // One file cannot be loaded, and the setup of one suite fails.
    c: 'import "./gone.ts"',
    d: `
      describe("broken", () => {
        beforeAll(() => { throw new Error("no database") })
        it("waits", () => { expect(1).toBe(1) })
      })`,
    // One test passes, but an uncaught error follows.
    e: `
      it("passes", async () => {
        expect(1).toBe(1)
        const { promise, resolve } = Promise.withResolvers()
        setTimeout(() => { resolve(); throw new Error("late") })
        await promise
      })`,
  })
  expect(counts).toEqual({
    passed: 2,
    failed: 1 + 2 + 2 + 1,
    skipped: [
      { name: "a.test.ts > here > skips", reason: "no chromium here" },
      { name: "a.test.ts > here > skips too", reason: "no reason given" },
      { name: "d.test.ts > broken > waits", reason: "its suite broke before it" },
    ],
  })
})

it("the reporter counts a killed worker as failed", async () => {
  const counts = await count({ a: 'it("dies", () => { process.kill(process.pid, "SIGKILL") })' })
  expect(counts.passed).toBe(0)
  expect(counts.failed).toBe(1)
})

it("a file that uses more than its tier allows fails", async () => {
  const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const setup = JSON.stringify(join(ROOT, "test/support/setup.ts"))
  const provide = `{ postgresUrl: "postgresql://127.0.0.1:${port}/" }`
  const config = `export default { test: { setupFiles: [${setup}], provide: ${provide} } }`
  writeFileSync(join(folder, "vitest.config.mjs"), config)
  const connects = `it("connects", async () => {
    const socket = connect(${port}, "127.0.0.1")
    await once(socket, "close")
  })`
  const counts = await count({
    starts: 'it("starts", () => { spawnSync("true") })',
    "starts.postgres": 'it("starts", async () => { await once(spawn("true"), "close") })',
    "starts.outside": 'it("starts", () => { spawnSync("true") })',
    connects,
    "connects.postgres": connects,
  })
  server.close()
  expect(counts).toEqual({ passed: 5, failed: 3, skipped: [] })
})

it("the reporter does not count tests that a name filter excludes", async () => {
  const test = `
    describe("group", () => {
      it("one", () => { expect(1).toBe(1) })
      it("two", () => { expect(1).toBe(1) })
    })`
  expect(await count({ a: test }, "-t", "group > two")).toEqual({
    passed: 1,
    failed: 0,
    skipped: [],
  })
})
