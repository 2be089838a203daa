/** Findings about lines: whether they stay level, fall from their peak, grow linearly, or stay below a bound. */
import type { CurveFinding } from "../benchmark.ts"
import type { ChartLine } from "../page/chart.ts"
import { formatPercent, formatNumber } from "../page/format.ts"

/** Throughput may fall this far below its peak. */
const MAX_DROP = 0.2
/** Accepted growth of a unit's cost: less is noise. */
const MAX_GROWTH = 1.5

/** Finds where a line is 20 % or more below its peak, after the peak. */
export function fallsBelowPeak({ title, points }: ChartLine, of: string): CurveFinding {
  if (points.length < 2) return tooFew(title)
  const peak = points.reduce((best, one) => (one.median > best.median ? one : best))
  const low = points.filter(({ x, median }) => {
    return x > peak.x && median < peak.median * (1 - MAX_DROP)
  })
  const top = `${title}: the peak is ${formatNumber(peak.median)} at ${formatNumber(peak.x)} ${of}`
  if (low.length === 0) {
    return { text: `${top}; nowhere beyond it 20 % below`, holds: true }
  }
  const where = low.map(
    ({ x, median }) => `${formatNumber(x)} (${formatPercent(1 - median / peak.median)})`,
  )
  return { text: `${top}; 20 % or more below it at ${where.join(", ")} ${of}`, holds: false }
}

/** Whether the last point costs much more than the first from `from` on. */
export function staysLevel(
  { title, points }: ChartLine,
  of: string,
  times = MAX_GROWTH,
): CurveFinding {
  if (points.length < 2) return tooFew(title)
  const [first, last] = endsOf(points)
  const grown = last.median / first.median
  const text = `${title}: at ${formatNumber(last.x)} ${of} ${formatNumber(grown)} times that at ${formatNumber(first.x)}`
  return { text, holds: grown <= times }
}

/** Whether a unit's cost stays the same with many units, from `from` on; below it fixed costs dominate. */
export function growsLinearly(
  { title, points }: ChartLine,
  of: string,
  from: number,
): CurveFinding {
  const counted = points.filter(({ x }) => x >= from)
  if (counted.length < 2) return tooFew(title)
  const [first, last] = endsOf(counted)
  const grown = last.median / last.x / (first.median / first.x)
  const text = `${title}: one of ${formatNumber(last.x)} ${of} costs ${formatNumber(grown)} times one of ${formatNumber(first.x)}`
  return { text, holds: grown <= MAX_GROWTH }
}

/** Whether every point is below a bound. */
export function staysBelow(
  { title, points }: ChartLine,
  bound: number,
  unit: string,
): CurveFinding {
  const highest = Math.max(...points.map(({ median }) => median))
  const text = `${title}: ${formatNumber(highest)} ${unit} at the most, where ${formatNumber(bound)} may be`
  return { text, holds: highest <= bound }
}

/** A single point says nothing about growth. */
function tooFew(title: string): CurveFinding {
  return { text: `${title}: too few points to tell`, holds: null }
}

/** The smallest and the largest point. */
function endsOf(
  points: ChartLine["points"],
): readonly [ChartLine["points"][number], ChartLine["points"][number]] {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) throw new RangeError("a line needs a point")
  return [first, last]
}
