/** A benchmark whose figures are made up, and that notes what is asked of it. */
import type { Benchmark, Opened } from "./benchmark.ts"

/** A benchmark of two figures and their ratio. `answers` gives each figure its value, by round. */
export function fakeBenchmark(
  answers: Readonly<Record<"fast" | "slow", (round: number) => number>>,
  more: Partial<Benchmark> & { readonly check?: Opened["check"] } = {},
): { readonly benchmark: Benchmark; readonly asked: string[] } {
  const asked: string[] = []
  const { check = async () => undefined, ...changes } = more
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
