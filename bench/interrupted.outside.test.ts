import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Benchmark } from "./benchmark.ts"
import { InvalidMeasurement } from "./benchmark.ts"
import { fakeBenchmark } from "./fake-benchmark.ts"
import { runIn } from "./fake-run.ts"

let folder = ""

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bench-"))
})

afterEach(() => rm(folder, { recursive: true }))

const figures = { fast: (round: number) => 600 * (round + 1), slow: () => 200 }

describe("an interrupted run", () => {
  it("is code 130, and what was measured before is shown and kept", async () => {
    const stop = new AbortController()
    // Round 0 warms up; the second counted round is interrupted.
    const fast = (round: number) => {
      if (round === 2) stop.abort()
      return 600
    }
    const { benchmark, asked } = fakeBenchmark({ ...figures, fast })
    const whole = fakeBenchmark(figures, { name: "whole" }).benchmark
    const after = fakeBenchmark(figures, { name: "after" })
    const json = join(folder, "out.json")
    const all = [whole, benchmark, after.benchmark]
    const ran = await runIn(folder, ["--json", json], all, stop.signal)
    expect(ran.code).toBe(130)
    expect(ran.stderr).toContain("Interrupted: what was measured before is kept.")
    const { benchmarks, leftOut } = JSON.parse(await readFile(json, "utf8"))
    expect(benchmarks.map(({ name }: Benchmark) => name)).toEqual(["whole", "fake"])
    expect(leftOut).toEqual([
      { benchmark: "after", reason: "interrupted", message: "not begun" },
      { benchmark: "fake", reason: "interrupted", message: "interrupted in round 2 of 3" },
    ])
    expect(asked.slice(-2)).toEqual(["check", "close"])
    expect(after.asked).toEqual([])
  })

  it("keeps nothing of a benchmark that was not honest", async () => {
    const stop = new AbortController()
    const fast = (round: number) => {
      if (round === 2) stop.abort()
      return 600
    }
    const check = async () => Promise.reject(new InvalidMeasurement("a fact is missing"))
    const { benchmark } = fakeBenchmark({ ...figures, fast }, { check })
    const ran = await runIn(folder, ["--json", join(folder, "out.json")], [benchmark], stop.signal)
    expect(ran).toMatchObject({ code: 130, stdout: "" })
    expect(ran.stderr).toContain("Not honest: fake: a fact is missing.")
    expect(await readdir(folder)).toEqual([])
  })

  it("is code 130 where nothing was measured yet, and nothing is shown or kept", async () => {
    const stop = new AbortController()
    const fast = (round: number) => {
      if (round === 1) stop.abort()
      return 1
    }
    const { benchmark, asked } = fakeBenchmark({ ...figures, fast })
    const ran = await runIn(folder, ["--json", join(folder, "out.json")], [benchmark], stop.signal)
    expect(ran).toMatchObject({ code: 130, stdout: "" })
    expect(ran.stderr).toContain("Interrupted")
    expect(asked.at(-1)).toBe("close")
    expect(await readdir(folder)).toEqual([])
  })
})
