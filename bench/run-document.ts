/** The results as a document for programs, from which the table and the page are made. */
import type { Benchmark, Curve, Ratio, StoreName, Unit } from "./benchmark.ts"
import { goalOf } from "./benchmark.ts"
import type { SkippedMeasurement } from "./skipped.ts"
import type { RunEnvironment } from "./run-environment.ts"
import type { BenchmarkResult } from "./run-benchmark.ts"
import { FLUSH_FIGURE_NAME, ratioValues, figureValues } from "./run-benchmark.ts"
import type { ChartLine } from "./page/chart.ts"
import { judgeRatio, summarise } from "./statistics.ts"

export type RunDocument = ReturnType<typeof toRunDocument>
export type BenchmarkDocument = RunDocument["benchmarks"][number]

/**
 * Creates the document: every value of every round, with the summaries.
 *
 * @param leftOut measurements that did not start or finish
 */
export function toRunDocument(
  circumstances: RunEnvironment,
  measured: readonly BenchmarkResult[],
  leftOut: readonly SkippedMeasurement[],
) {
  const absent = measured.flatMap((one) => one.leftOut)
  const benchmarks = measured.map(benchmarkDocument)
  return { ...circumstances, benchmarks, leftOut: [...leftOut, ...absent] }
}

function benchmarkDocument(measured: BenchmarkResult) {
  const { benchmark, store, rounds, tookMs } = measured
  const flush = benchmark.figures.some(({ name }) => name === FLUSH_FIGURE_NAME)
  return {
    name: benchmark.name,
    title: benchmark.title,
    store: benchmark.stores.length === 0 ? null : store,
    rounds: rounds.length,
    tookMs: Math.round(tookMs),
    /** Time of a one-row commit; null if no store is needed. */
    flushMicros: flush ? summarise(figureValues(measured, FLUSH_FIGURE_NAME)).median : null,
    ratios: benchmark.ratios.map((ratio) => {
      const values = ratioValues(measured, ratio)
      const summary = summarise(values)
      const unit = unitOf(benchmark, ratio)
      return { ...ratio, unit, ...summary, ...ratioResult(ratio, store, summary.median), values }
    }),
    figures: benchmark.figures.map((figure) => {
      const values = figureValues(measured, figure.name)
      return { ...figure, ...summarise(values), values }
    }),
    curves: (benchmark.curves ?? []).map((curve) => curveDocument(measured, curve)),
  }
}

/** Returns a ratio's target on a store with the verdict on its median; nulls if there is no target. */
function ratioResult({ better, ...goals }: Ratio, store: StoreName, median: number) {
  const [target, floor] = [goalOf(goals.target, store), goalOf(goals.floor, store)]
  if (target === null) return { target, floor, result: null }
  return { target, floor, result: judgeRatio(median, { better, target, floor }) }
}

function unitOf({ figures }: Benchmark, { of, per }: Ratio): Unit | null {
  return per === null ? (figures.find(({ name }) => name === of)?.unit ?? null) : null
}

function curveDocument(measured: BenchmarkResult, { title, across, up, lines, find }: Curve) {
  const found = lines.map(({ title: name, points }): ChartLine => {
    const placed = points.map(({ x, figure }) => ({
      x,
      ...summarise(figureValues(measured, figure)),
    }))
    return { title: name, points: placed }
  })
  return { title, across, up, lines: found, findings: find(found) }
}
