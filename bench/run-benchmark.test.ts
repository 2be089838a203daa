import { describe, expect, it } from "vitest"
import type { BenchmarkContext } from "./benchmark.ts"
import { InvalidMeasurement } from "./benchmark.ts"
import { BENCHMARKS } from "./benchmarks.ts"
import { fakeBenchmark } from "./fake-benchmark.ts"
import { runBenchmark, ratioValues, figureValues } from "./run-benchmark.ts"

const numbered = { fast: (round: number) => round * 100, slow: (round: number) => round + 1 }
const GOALS = { better: "more", target: 4, floor: 2 } as const
const RATIO = { ...GOALS, id: "1", title: "fast ÷ slow", of: "fast", per: "slow" }
const quiet: BenchmarkContext = {
  signal: new AbortController().signal,
  store: "memory",
  report: () => undefined,
  maxSize: Infinity,
  dataDir: "",
}

describe("measure", () => {
  it("measures one figure after the other, round after round, then checks and takes down", async () => {
    const { benchmark, asked } = fakeBenchmark(numbered)
    await runBenchmark(benchmark, quiet)
    const rounds = ["fast", "slow", "fast", "slow", "fast", "slow", "fast", "slow"]
    expect(asked).toEqual([...rounds, "check", "close"])
  })

  it("counts every round but the one that warms up", async () => {
    const { benchmark } = fakeBenchmark(numbered)
    const measured = await runBenchmark(benchmark, quiet)
    expect(figureValues(measured, "fast")).toEqual([100, 200, 300])
    expect(figureValues(measured, "slow")).toEqual([2, 3, 4])
  })

  it("divides what was measured in the same round", async () => {
    const measured = await runBenchmark(fakeBenchmark(numbered).benchmark, quiet)
    expect(ratioValues(measured, RATIO)).toEqual([50, 200 / 3, 75])
    expect(ratioValues(measured, { ...RATIO, per: null })).toEqual([100, 200, 300])
  })

  it("divides ratios as it does figures", async () => {
    const measured = await runBenchmark(fakeBenchmark(numbered).benchmark, quiet)
    expect(ratioValues(measured, { ...RATIO, id: "2", of: "fast", per: "1" })).toEqual([2, 3, 4])
  })

  it("says what it does", async () => {
    const { benchmark } = fakeBenchmark(numbered)
    const said: string[] = []
    await runBenchmark(benchmark, { ...quiet, report: (message) => said.push(message) })
    expect(said).toContain("fake: warm-up, the fast one")
    expect(said.at(-2)).toMatch(/^fake: round 3 of 3, the slow one, about \d+ s left$/)
    expect(said.at(-1)).toBe("fake: checking what was measured")
  })

  it("refuses to judge by fewer than three rounds", async () => {
    const { benchmark, asked } = fakeBenchmark(numbered, { rounds: 2 })
    await expect(runBenchmark(benchmark, quiet)).rejects.toThrow("fewer than 3 rounds")
    expect(asked).toEqual([])
  })

  it("refuses what stores and does not measure the flush", async () => {
    const { benchmark, asked } = fakeBenchmark(numbered, { stores: ["memory"] })
    await expect(runBenchmark(benchmark, quiet)).rejects.toThrow("does not measure the flush")
    expect(asked).toEqual([])
  })

  it("believes no figure that is no number", async () => {
    const { benchmark } = fakeBenchmark({ ...numbered, slow: () => Number.NaN })
    await expect(runBenchmark(benchmark, quiet)).rejects.toThrow(InvalidMeasurement)
  })

  it("leaves out what opening found absent, with what is made of it", async () => {
    const { benchmark, asked } = fakeBenchmark(numbered, { skipped: { slow: "slow is not there" } })
    const measured = await runBenchmark(benchmark, quiet)
    expect(asked).toEqual(["fast", "fast", "fast", "fast", "check", "close"])
    expect(measured.benchmark.ratios).toEqual([])
    expect(measured.leftOut).toEqual([
      { benchmark: "fake", reason: "absent", message: "slow is not there" },
    ])
  })

  it("ends in an error where a check fails, and takes down all the same", async () => {
    const check = () => Promise.reject(new InvalidMeasurement("a fact is missing"))
    const { benchmark, asked } = fakeBenchmark(numbered, { check })
    await expect(runBenchmark(benchmark, quiet)).rejects.toThrow(InvalidMeasurement)
    expect(asked.at(-1)).toBe("close")
  })

  it("stops within the round once it is interrupted, and keeps the whole rounds before", async () => {
    const stop = new AbortController()
    const fast = (round: number) => {
      if (round === 2) stop.abort()
      return 1
    }
    const { benchmark, asked } = fakeBenchmark({ ...numbered, fast })
    const { rounds, leftOut } = await runBenchmark(benchmark, { ...quiet, signal: stop.signal })
    expect(rounds).toHaveLength(1)
    const message = "interrupted in round 2 of 3"
    expect(leftOut).toEqual([{ benchmark: "fake", reason: "interrupted", message }])
    expect(asked).toEqual(["fast", "slow", "fast", "slow", "fast", "check", "close"])
  })

  it("throws where it is interrupted before a round is whole, and takes down", async () => {
    const stop = new AbortController()
    const fast = (round: number) => {
      if (round === 1) stop.abort()
      return 1
    }
    const { benchmark, asked } = fakeBenchmark({ ...numbered, fast })
    await expect(runBenchmark(benchmark, { ...quiet, signal: stop.signal })).rejects.toThrow(
      "aborted",
    )
    expect(asked).toEqual(["fast", "slow", "fast", "close"])
  })
})

describe("every benchmark", () => {
  it.for(BENCHMARKS.map((benchmark) => [benchmark.name, benchmark] as const))(
    "%s judges what it measures, in three rounds or more",
    ([, { figures, ratios, rounds, stores, curves = [] }]) => {
      const names = [...figures.map(({ name }) => name), ...ratios.map(({ id }) => id)]
      expect(new Set(names).size).toBe(names.length)
      const judged = ratios.flatMap(({ of, per }) => (per === null ? [of] : [of, per]))
      expect(judged.filter((name) => !names.includes(name))).toEqual([])
      expect(rounds).toBeGreaterThanOrEqual(3)
      expect(stores.length === 0 || names.includes("flush")).toBe(true)
      const placed = curves.flatMap(({ lines }) => lines.flatMap(({ points }) => points))
      expect(placed.filter(({ figure }) => !names.includes(figure))).toEqual([])
    },
  )

  it("has a name of its own, and its ratios too", () => {
    const names = BENCHMARKS.map(({ name }) => name)
    const ids = BENCHMARKS.flatMap(({ ratios }) => ratios.map(({ id }) => id))
    expect(new Set(names).size).toBe(names.length)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
