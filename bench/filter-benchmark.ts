/** Removes figures from a benchmark, with everything that needs them. */
import type { Benchmark, Curve } from "./benchmark.ts"
import type { SkippedMeasurement } from "./skipped.ts"

/** Removes figures, the ratios made of them, and their points. */
export function withoutFigures(benchmark: Benchmark, names: ReadonlySet<string>): Benchmark {
  if (names.size === 0) return benchmark
  const gone = new Set(names)
  const isGone = (name: string | null) => name !== null && gone.has(name)
  // A ratio may be made of ratios, so a removed one may remove others.
  for (let before = -1; before !== gone.size;) {
    before = gone.size
    for (const { id, of, per } of benchmark.ratios) if (isGone(of) || isGone(per)) gone.add(id)
  }
  return {
    ...benchmark,
    figures: benchmark.figures.filter(({ name }) => !gone.has(name)),
    ratios: benchmark.ratios.filter(({ id }) => !gone.has(id)),
    curves: (benchmark.curves ?? []).map((curve) => ({
      ...curve,
      lines: pointsWhere(curve, ({ figure }) => !gone.has(figure)),
    })),
  }
}

type Points = Curve["lines"][number]["points"]

function pointsWhere({ lines }: Curve, keeps: (point: Points[number]) => boolean): Curve["lines"] {
  const kept = lines.map((line) => ({ ...line, points: line.points.filter(keeps) }))
  return kept.filter(({ points }) => points.length > 0)
}

/** Limits a benchmark to a size, and returns the removed points. */
export function limitToSize(
  benchmark: Benchmark,
  most: number,
): {
  readonly benchmark: Benchmark
  /** Whether its curves have no point left. */
  readonly isEmpty: boolean
  readonly leftOut: readonly SkippedMeasurement[]
} {
  const points = (benchmark.curves ?? []).flatMap((curve) =>
    curve.lines.flatMap((line) => line.points.map((point) => ({ ...point, of: line.title }))),
  )
  const far = points.filter(({ x }) => x > most)
  return {
    benchmark: withoutFigures(benchmark, new Set(far.map(({ figure }) => figure))),
    isEmpty: points.length > 0 && far.length === points.length,
    leftOut: far.map(({ x, of }) => {
      const message = `${of} at ${x.toLocaleString("en-US")}, for --most says so`
      return { benchmark: benchmark.name, reason: "most", message }
    }),
  }
}
