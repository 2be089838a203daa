import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CannotWrite } from "../src/frame/operator/cli/out-file.ts"
import type { Benchmark } from "./benchmark.ts"
import { InvalidMeasurement } from "./benchmark.ts"
import { curveBenchmark, fakeBenchmark } from "./fake-benchmark.ts"
import { runIn } from "./fake-run.ts"

let folder = ""

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bench-"))
})

afterEach(() => rm(folder, { recursive: true }))

const run = (words: readonly string[], benchmarks: readonly Benchmark[], signal?: AbortSignal) =>
  runIn(folder, words, benchmarks, signal)

const figures = { fast: (round: number) => 600 * (round + 1), slow: () => 200 }
const other = fakeBenchmark(figures, { name: "other", title: "nothing of importance" })

describe("the table", () => {
  it("shows each ratio with its middle, spread, goals and result, then what it is made of", async () => {
    const { code, stdout } = await run(["fake"], [fakeBenchmark(figures).benchmark])
    expect(code).toBe(0)
    const rows = stdout.split("\n").map((line) => line.split(/ {2,}/))
    const head = [
      "ratio",
      "what",
      "median",
      "lowest",
      "highest",
      "spread",
      "target",
      "floor",
      "result",
    ]
    expect(rows).toContainEqual(head)
    expect(rows).toContainEqual(["1", "fast ÷ slow", "9", "6", "12", "67 %", "≥ 4", "≥ 2", "met"])
    const fast = ["-", "the fast one, per second", "1,800", "1,200", "2,400", "67 %", "-", "-", "-"]
    expect(rows).toContainEqual(fast)
    const slow = ["-", "the slow one, µs", "200", "200", "200", "0 %", "-", "-", "-"]
    expect(rows).toContainEqual(slow)
  })

  it("tells the machine, the versions, the date and the code", async () => {
    const { stdout } = await run([], [fakeBenchmark(figures).benchmark])
    expect(stdout).toMatch(
      /^\n(A busy hour: .*\n)?\d{4}-\d\d-\d\dT[\d:.]+Z, (commit [0-9a-f]{12}|no commit known)/,
    )
    expect(stdout).toMatch(/, \d+ cores, \d+ GiB; load \d/)
    expect(stdout).toContain(`Node ${process.versions.node}`)
    expect(stdout).toContain("fake: made-up figures; 3 rounds after a warm-up")
  })

  it("shows a figure that is judged by itself once", async () => {
    const [ratio] = fakeBenchmark(figures).benchmark.ratios
    const alone = {
      id: "1b",
      title: "the slow one",
      of: "slow",
      per: null,
      better: "less",
    } as const
    const ratios = ratio ? [ratio, { ...alone, target: 6, floor: 10 }] : []
    const { stdout } = await run([], [fakeBenchmark(figures, { ratios }).benchmark])
    expect(stdout.match(/the slow one/g)).toHaveLength(1)
    expect(stdout).toMatch(/1b +the slow one, µs +200 .*≤ 6 +≤ 10 +below the floor\n/)
  })
})

describe("the words", () => {
  it("run one by its name, and all without a name", async () => {
    const one = fakeBenchmark(figures)
    const benchmarks = [one.benchmark, other.benchmark]
    expect((await run(["other"], benchmarks)).code).toBe(0)
    expect(one.asked).toEqual([])
    const all = await run([], benchmarks)
    expect(one.asked.at(-1)).toBe("close")
    expect(all.stdout).toContain("other: nothing of importance;")
  })

  it("answer an unknown name with what there is, and code 2", async () => {
    const one = fakeBenchmark(figures)
    const ran = await run(["nothing"], [one.benchmark, other.benchmark])
    expect(ran).toMatchObject({ code: 2, stdout: "" })
    expect(ran.stderr).toContain("nothing")
    expect(ran.stderr).toContain("  fake: made-up figures\n  other: nothing of importance\n")
    expect(one.asked).toEqual([])
  })

  it("answer an unknown option with code 2", async () => {
    expect(await run(["--sideways"], [other.benchmark])).toMatchObject({ code: 2, stdout: "" })
  })

  it("answer --help with how to use it", async () => {
    const ran = await run(["--help"], [other.benchmark])
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("--json <file>")
    expect(ran.stdout).toContain("  other: nothing of importance\n")
  })
})

describe("the end", () => {
  it("is code 0 where a target is missed: that is shown", async () => {
    const ran = await run([], [fakeBenchmark({ ...figures, fast: () => 100 }).benchmark])
    expect(ran.code).toBe(0)
    expect(ran.stdout).toMatch(/fast ÷ slow .* below the floor\n/)
  })

  it("is code 1 where nothing was honest, and nothing is shown or kept", async () => {
    const check = () => Promise.reject(new InvalidMeasurement("one fact is missing"))
    const { benchmark } = fakeBenchmark(figures, { check })
    const ran = await run(["--json", join(folder, "out.json")], [benchmark])
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toContain("Not honest: fake: one fact is missing.\n")
    expect(await readdir(folder)).toEqual([])
  })

  /** Runs a faulty benchmark together with another one, and returns the saved results. */
  async function withOther(faulty: Parameters<typeof fakeBenchmark>[1]) {
    const file = join(folder, "out.json")
    const both = [fakeBenchmark(figures, faulty).benchmark, other.benchmark]
    const ran = await run(["--json", file], both)
    return { ...ran, kept: JSON.parse(await readFile(file, "utf8")) }
  }

  it("is code 1 where something was not honest, and the rest is shown and kept", async () => {
    const check = () => Promise.reject(new InvalidMeasurement("one fact is missing"))
    const { code, stdout, stderr, kept } = await withOther({ check })
    expect(code).toBe(1)
    expect(stderr).toContain("Not honest: fake: one fact is missing.\n")
    expect(stdout).toContain("nothing of importance")
    expect(kept.leftOut).toEqual([
      { benchmark: "fake", reason: "fault", message: "one fact is missing" },
    ])
    expect(kept.benchmarks).toMatchObject([{ name: "other" }])
  })

  it("is code 1 after a fault, which is reported with its location; the rest is saved", async () => {
    const open = () => Promise.reject(new TypeError("there is a fault in it"))
    const { code, stderr, kept } = await withOther({ open })
    expect(code).toBe(1)
    expect(stderr).toMatch(/fake: there is a fault in it\nTypeError: .*\n +at /)
    expect(kept.benchmarks).toMatchObject([{ name: "other" }])
  })

  it("is code 1 if another run uses the data, which is reported without a location", async () => {
    const open = () => Promise.reject(new CannotWrite("The data set is used by another run."))
    const { code, stderr } = await withOther({ open })
    expect(code).toBe(1)
    expect(stderr).toContain("fake: The data set is used by another run.\n")
    expect(stderr).not.toMatch(/^ +at /m)
  })
})

describe("the files", () => {
  it("are new in the folder of results, which is created, and are printed", async () => {
    const out = join(folder, "some", "results")
    const { stdout } = await run(["fake", "--out", out], [fakeBenchmark(figures).benchmark])
    const names = (await readdir(out)).toSorted()
    expect(names).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d-]+Z-fake\.html$/),
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d-]+Z-fake\.json$/),
    ])
    for (const name of names) expect(stdout).toContain(`  ${join(out, name)}\n`)
  })

  it("are the document that --json names and the page next to it", async () => {
    const path = join(folder, "out.json")
    await run(["fake", "--json", path], [fakeBenchmark(figures).benchmark])
    expect((await readdir(folder)).toSorted()).toEqual(["out.html", "out.json"])
    expect(await readFile(join(folder, "out.html"), "utf8")).toContain("fast ÷ slow")
  })
})

describe("growth", () => {
  const grown = curveBenchmark({ small: () => 100, large: () => 300 })

  it("is run by its word and not without a word", async () => {
    const one = fakeBenchmark(figures)
    const both = [one.benchmark, grown]
    expect((await run([], both)).stdout).not.toContain("curve:")
    const { stdout } = await run(["growth"], both)
    expect(stdout).toContain("curve: how it grows; 3 rounds")
    expect(stdout).not.toContain("fake:")
  })

  it("tells what its curves show, and what is not as expected", async () => {
    expect((await run(["curve"], [grown])).stdout).toContain("growing: 3 times as much\n")
    const steep = curveBenchmark({ small: () => 100, large: () => 900 })
    const { stdout } = await run(["curve"], [steep])
    expect(stdout).toContain("growing: 9 times as much (NOT as expected)\n")
  })

  it("leaves points out beyond --most, by name", async () => {
    const { stdout } = await run(["growth", "--most", "1e3"], [grown])
    expect(stdout).toContain("\nLeft out:\n  curve: one line at 10,000, for --most says so\n")
    expect(stdout).not.toContain("the large one")
  })

  it("has no size that is no number", async () => {
    expect((await run(["growth", "--most", "many"], [grown])).code).toBe(2)
  })
})

describe("--json", () => {
  it("writes every value of every round and what they came to", async () => {
    const path = join(folder, "out.json")
    expect((await run(["fake", "--json", path], [fakeBenchmark(figures).benchmark])).code).toBe(0)
    const document: unknown = JSON.parse(await readFile(path, "utf8"))
    expect(document).toMatchObject({
      node: process.versions.node,
      cores: expect.any(Number),
      versions: { pg: expect.stringMatching(/^8\./) },
      benchmarks: [
        {
          name: "fake",
          rounds: 3,
          ratios: [{ id: "1", target: 4, floor: 2, median: 9, result: "met", values: [6, 9, 12] }],
          figures: [
            { name: "fast", unit: "per second", median: 1_800, values: [1_200, 1_800, 2_400] },
            { name: "slow", unit: "µs", spread: 0 },
          ],
        },
      ],
    })
  })

  it("tells before the work that a file cannot be written", async () => {
    const { benchmark, asked } = fakeBenchmark(figures)
    const ran = await run(["--json", join(folder, "no", "out.json")], [benchmark])
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toContain("its folder does not exist")
    expect(asked).toEqual([])
  })
})
