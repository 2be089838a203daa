/** A benchmark with made-up figures that records its calls. */
import type { Benchmark, OpenBenchmark } from "./benchmark.ts"

/** Creates a benchmark of two figures and their ratio. `answers` has each figure's value, by round. */
export function fakeBenchmark(
  answers: Readonly<Record<"fast" | "slow", (round: number) => number>>,
  more: Partial<Benchmark> & Partial<Pick<OpenBenchmark, "check" | "skipped">> = {},
): { readonly benchmark: Benchmark; readonly asked: string[] } {
  const asked: string[] = []
  const { check = async () => undefined, skipped = {}, ...changes } = more
  const measured = (figure: "fast" | "slow") => async () => {
    const round = asked.filter((one) => one === figure).length
    asked.push(figure)
    return answers[figure](round)
  }
  const benchmark: Benchmark = {
    name: "fake",
    title: "made-up figures",
    stores: [],
    rounds: 3,
    figures: [
      { name: "fast", title: "the fast one", unit: "per second" },
      { name: "slow", title: "the slow one", unit: "µs" },
    ],
    ratios: [
      {
        id: "1",
        title: "fast ÷ slow",
        of: "fast",
        per: "slow",
        better: "more",
        target: 4,
        floor: 2,
      },
    ],
    open: async () => ({
      skipped,
      measure: { fast: measured("fast"), slow: measured("slow") },
      check: async () => {
        asked.push("check")
        await check()
      },
      close: async () => {
        asked.push("close")
      },
    }),
    ...changes,
  }
  return { benchmark, asked }
}

/** Creates a benchmark of two points of one curve. */
export function curveBenchmark(
  answers: Readonly<Record<"small" | "large", () => number>>,
  title = "how it grows",
): Benchmark {
  const measured = (name: "small" | "large") => async () => answers[name]()
  return {
    name: "curve",
    title,
    stores: [],
    rounds: 3,
    ratios: [],
    figures: [
      { name: "small", title: "the small one", unit: "µs" },
      { name: "large", title: "the large one", unit: "µs" },
    ],
    curves: [
      {
        title: "growing",
        across: { title: "things", scale: "log" },
        up: { title: "µs each", scale: "linear" },
        lines: [
          {
            title: "one line",
            points: [
              { x: 100, figure: "small" },
              { x: 10_000, figure: "large" },
            ],
          },
        ],
        find: ([line]) => {
          const [first, last] = [line?.points[0], line?.points.at(-1)]
          const times = (last?.median ?? 0) / (first?.median ?? 1)
          return [{ text: `${times} times as much`, holds: times < 5 }]
        },
      },
    ],
    open: async () => ({
      measure: { small: measured("small"), large: measured("large") },
      check: async () => undefined,
      close: async () => undefined,
    }),
  }
}
