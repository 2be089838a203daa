/** What was measured, as a document for programs: the table and the page are made of it. */
import type { Benchmark, Curve, Ratio, StoreName, Unit } from "./benchmark.ts"
import { goalOf } from "./benchmark.ts"
import type { LeftOut } from "./left-out.ts"
import type { Circumstances } from "./machine.ts"
import type { Measured } from "./measure.ts"
import { FLUSH, ratiosOf, valuesOf } from "./measure.ts"
import type { Line } from "./page/chart.ts"
import { judge, summarise } from "./statistics.ts"

/** A whole run. */
export type RunDocument = ReturnType<typeof documentOf>
/** What a benchmark of a run came to. */
export type MeasuredDocument = RunDocument["benchmarks"][number]

/**
 * Every value of every round, and what they came to.
 *
 * @param leftOut what was not even begun, or came to no end
 */
export function documentOf(
  circumstances: Circumstances,
  measured: readonly Measured[],
  leftOut: readonly LeftOut[],
) {
  const absent = measured.flatMap((one) => one.leftOut)
  const benchmarks = measured.map(measuredDocument)
  return { ...circumstances, benchmarks, leftOut: [...leftOut, ...absent] }
}

function measuredDocument(measured: Measured) {
  const { benchmark, store, rounds, tookMs } = measured
  const flush = benchmark.figures.some(({ name }) => name === FLUSH)
  return {
    name: benchmark.name,
    title: benchmark.title,
    store: benchmark.stores.length === 0 ? null : store,
    rounds: rounds.length,
    tookMs: Math.round(tookMs),
    /** A one-row commit; null for what needs no store. */
    flushMicros: flush ? summarise(valuesOf(measured, FLUSH)).median : null,
    ratios: benchmark.ratios.map((ratio) => {
      const values = ratiosOf(measured, ratio)
      const summary = summarise(values)
      const unit = unitOf(benchmark, ratio)
      return { ...ratio, unit, ...summary, ...judged(ratio, store, summary.median), values }
    }),
    figures: benchmark.figures.map((figure) => {
      const values = valuesOf(measured, figure.name)
      return { ...figure, ...summarise(values), values }
    }),
    curves: (benchmark.curves ?? []).map((curve) => drawn(measured, curve)),
  }
}

/** What is expected of a ratio on a store, and how its median did; nulls where nothing is expected. */
function judged({ better, ...goals }: Ratio, store: StoreName, median: number) {
  const [target, floor] = [goalOf(goals.target, store), goalOf(goals.floor, store)]
  if (target === null) return { target, floor, result: null }
  return { target, floor, result: judge(median, { better, target, floor }) }
}

function unitOf({ figures }: Benchmark, { of, per }: Ratio): Unit | null {
  return per === null ? (figures.find(({ name }) => name === of)?.unit ?? null) : null
}

/** A curve with what its points came to, and what they show. */
function drawn(measured: Measured, { title, across, up, lines, find }: Curve) {
  const found = lines.map(({ title: name, points }): Line => {
    const placed = points.map(({ x, figure }) => ({
      x,
      ...summarise(valuesOf(measured, figure)),
    }))
    return { title: name, points: placed }
  })
  return { title, across, up, lines: found, findings: find(found) }
}
