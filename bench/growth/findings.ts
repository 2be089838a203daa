/** What lines show: whether they stay level, fall from their peak, grow in step, or stay below a bound. */
import type { Finding } from "../benchmark.ts"
import type { Line } from "../page/chart.ts"
import { percent, worded } from "../page/words.ts"

/** Throughput may fall this far below its peak. */
const FALLEN_PART = 0.2
/** Each thing may cost so many times what it cost at first: what is noisy is no growth yet. */
const LEVEL_TIMES = 1.5

/** Where a line, once it was at its peak, is 20 % or more below it. */
export function fallsBelowPeak({ title, points }: Line, of: string): Finding {
  if (points.length < 2) return tooFew(title)
  const peak = points.reduce((best, one) => (one.median > best.median ? one : best))
  const low = points.filter(({ x, median }) => {
    return x > peak.x && median < peak.median * (1 - FALLEN_PART)
  })
  const top = `${title}: the peak is ${worded(peak.median)} at ${worded(peak.x)} ${of}`
  if (low.length === 0) {
    return { text: `${top}; nowhere beyond it 20 % below`, holds: true }
  }
  const where = low.map(({ x, median }) => `${worded(x)} (${percent(1 - median / peak.median)})`)
  return { text: `${top}; 20 % or more below it at ${where.join(", ")} ${of}`, holds: false }
}

/** Whether the last point costs much more than the first from `from` on. */
export function staysLevel({ title, points }: Line, of: string, times = LEVEL_TIMES): Finding {
  if (points.length < 2) return tooFew(title)
  const [first, last] = endsOf(points)
  const grown = last.median / first.median
  const text = `${title}: at ${worded(last.x)} ${of} ${worded(grown)} times that at ${worded(first.x)}`
  return { text, holds: grown <= times }
}

/** Whether each thing costs as much where there are many: from `from` on, below which fixed costs tell. */
export function growsInStep({ title, points }: Line, of: string, from: number): Finding {
  const counted = points.filter(({ x }) => x >= from)
  if (counted.length < 2) return tooFew(title)
  const [first, last] = endsOf(counted)
  const grown = last.median / last.x / (first.median / first.x)
  const text = `${title}: one of ${worded(last.x)} ${of} costs ${worded(grown)} times one of ${worded(first.x)}`
  return { text, holds: grown <= LEVEL_TIMES }
}

/** Whether every point is below a bound. */
export function staysBelow({ title, points }: Line, bound: number, unit: string): Finding {
  const highest = Math.max(...points.map(({ median }) => median))
  const text = `${title}: ${worded(highest)} ${unit} at the most, where ${worded(bound)} may be`
  return { text, holds: highest <= bound }
}

/** Of one point nothing can be said about growth, neither good nor bad. */
function tooFew(title: string): Finding {
  return { text: `${title}: too few points to tell`, holds: null }
}

/** The nearest and the furthest point. */
function endsOf(points: Line["points"]): readonly [Line["points"][number], Line["points"][number]] {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) throw new RangeError("a line needs a point")
  return [first, last]
}
