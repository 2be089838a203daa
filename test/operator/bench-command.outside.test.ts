import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, readdir, watch, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { runBenchmarks } from "../../src/bootstrap/commands/benchmarks.ts"
import { BENCHMARKS } from "../../bench/benchmarks.ts"
import { parseBenchArguments } from "../../bench/bench-arguments.ts"
import {
  CATALOGUE,
  fakeHost,
  recordingTerminal,
  runTestCommand,
  testFolder,
  splitWords,
} from "./fake-host.ts"

const never = new AbortController().signal

/** The options that the benchmark program parses from a command line. */
async function orderOf(line: string) {
  let order: ReturnType<typeof parseBenchArguments> = -1
  const recordBenchRun = async (words: readonly string[]) => {
    order = parseBenchArguments(words, BENCHMARKS, recordingTerminal())
    return 7
  }
  const { code, stdout, stderr } = await runTestCommand(
    splitWords(line),
    fakeHost([], { runBenchmarks: recordBenchRun }),
  )
  expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: "", stderr: "" })
  return order
}

/** Writes a script to a folder that has the benchmarks' dependencies. */
async function benchmarksOf(source: string): Promise<{ program: string; folder: string }> {
  const folder = await testFolder()
  await mkdir(join(folder, "node_modules", "canonicalize"), { recursive: true })
  await writeFile(join(folder, "node_modules", "canonicalize", "index.js"), "")
  const program = join(folder, "main.mjs")
  await writeFile(program, `import { writeFileSync } from "node:fs"\n${source}`)
  return { program, folder }
}

describe("the arguments of bench", () => {
  it("are all passed to the benchmark program", async () => {
    const line = "bench decide charges --json -out.json --data sets --most 1e6 --store postgres"
    expect(await orderOf(line)).toMatchObject({
      chosen: [{ name: "decide" }, { name: "charges" }],
      json: "-out.json",
      dataDir: "sets",
      maxSize: 1_000_000,
      store: "postgres",
    })
    expect(await orderOf("bench")).toMatchObject({ json: null, subject: "ratios" })
    expect(await orderOf("bench --out there")).toMatchObject({ folder: "there" })
  })

  it("are the same as for npm run bench", () => {
    const terminal = recordingTerminal()
    parseBenchArguments(["--help"], BENCHMARKS, terminal)
    const theirs = new Set(terminal.stdout.match(/--[a-z]+(?= <)/g))
    const ours = CATALOGUE.commands
      .find(({ name }) => name === "bench")
      ?.options.map(({ flags }) => flags.split(" ")[0])
    expect(new Set(ours)).toEqual(theirs)
  })

  it("are rejected without a JSON document on standard output, because --json names a file", async () => {
    const ran = await runTestCommand(splitWords("bench --json out.json --sideways"), fakeHost([]))
    expect(ran).toMatchObject({ code: 2, stdout: "" })
    expect((await runTestCommand(["bench", "--json"], fakeHost([]))).stderr).toContain(
      "argument missing",
    )
  })
})

describe("the benchmarks", () => {
  it("run in a separate process with the arguments, and bench exits with its code", async () => {
    const { program, folder } = await benchmarksOf(`
      writeFileSync(new URL("words.json", import.meta.url), JSON.stringify(process.argv.slice(2)))
      process.exitCode = 5
    `)
    expect(await runBenchmarks(["--json=a b", "--", "x"], never, program)).toBe(5)
    const words = await readFile(join(folder, "words.json"), "utf8")
    expect(JSON.parse(words)).toEqual(["--json=a b", "--", "x"])
  })

  it("shut down before the command exits on an interrupt", async () => {
    const { program, folder } = await benchmarksOf(`
      const alive = setInterval(() => undefined, 1_000)
      process.on("SIGINT", () => {
        writeFileSync(new URL("cleaned-up", import.meta.url), "")
        clearInterval(alive)
        process.exitCode = 130
      })
      writeFileSync(new URL("begun", import.meta.url), "")
    `)
    const seen = watch(folder)
    const stop = new AbortController()
    const ended = runBenchmarks([], stop.signal, program)
    for await (const { filename } of seen) if (filename === "begun") break
    stop.abort()
    expect(await ended).toBe(130)
    expect(await readdir(folder)).toContain("cleaned-up")
  })

  it("killed by a signal exit with 128 plus its number", async () => {
    const { program } = await benchmarksOf("process.kill(process.pid, 'SIGKILL')")
    expect(await runBenchmarks([], never, program)).toBe(137)
  })

  it("are not started if the command was already interrupted", async () => {
    const { program } = await benchmarksOf("setInterval(() => undefined, 1_000)")
    expect(await runBenchmarks([], AbortSignal.abort(), program)).toBe(130)
  })

  it("report in one line how to fix it if they are not installed", async () => {
    const program = join(await testFolder(), "main.mjs")
    const bench = (words: readonly string[]) => runBenchmarks(words, never, program)
    const absent = await runTestCommand(["bench"], fakeHost([], { runBenchmarks: bench }))
    expect(absent).toMatchObject({ code: 1, stdout: "" })
    expect(absent.stderr).toMatch(/^The benchmarks are not part of this installation\. .*\n$/)

    await writeFile(program, "")
    const bare = await runTestCommand(
      ["bench", "--json", "out.json"],
      fakeHost([], { runBenchmarks: bench }),
    )
    expect(bare).toMatchObject({ code: 1, stdout: "" })
    expect(bare.stderr).toMatch(/^The packages of the benchmarks are not installed\. .*npm ci.*\n$/)
  })

  it("list the known names for an unknown one", async () => {
    const script = fileURLToPath(new URL("../../bin/company-ledger.mjs", import.meta.url))
    const child = spawn(process.execPath, [script, "bench", "nothing"])
    const ended = once(child, "close")
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    expect(await ended).toEqual([2, null])
    expect(stdout).toBe("")
    expect(stderr).toContain("  decide: ")
  })
})
