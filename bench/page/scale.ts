/** Positions of values along an axis, and the axis labels. */

/** A linear axis from 0, or a logarithmic one. */
export type ScaleKind = "linear" | "log"

/** A label of an axis and its position: 0 at the start, 1 at the end. */
export interface Tick {
  readonly value: number
  readonly at: number
}

export interface Scale {
  /** 0 at the start of the axis, 1 at its end. */
  readonly place: (value: number) => number
  readonly ticks: readonly Tick[]
}

/** Approximate maximum number of ticks. */
const MAX_TICKS = 7
const ROUND_STEPS = [1, 2, 5, 10]

/** Creates an axis for these values. @throws RangeError for no values, or a logarithm of 0 or less */
export function scaleOf(kind: ScaleKind, values: readonly number[]): Scale {
  if (values.length === 0) throw new RangeError("an axis needs a value")
  return kind === "log" ? logScale(values) : linearScale(values)
}

function linearScale(values: readonly number[]): Scale {
  const highest = Math.max(...values, 0)
  const step = roundStep(highest === 0 ? 1 : highest / (MAX_TICKS - 1))
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9))
  const place = (value: number) => value / (steps * step)
  const ticks = Array.from({ length: steps + 1 }, (_, i) => ({ value: i * step, at: i / steps }))
  return { place, ticks }
}

/** The next of 1, 2, 5, 10, … that is at least this large. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return power * (ROUND_STEPS.find((step) => step * power >= least) ?? ROUND_STEPS.length)
}

function logScale(values: readonly number[]): Scale {
  const lowest = Math.min(...values)
  if (lowest <= 0) throw new RangeError("an axis of factors has no place for 0")
  const from = Math.floor(Math.log10(lowest) + 1e-9)
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
  const place = (value: number) => (Math.log10(value) - from) / (to - from)
  // A short axis also has ticks between the powers of ten.
  const factors = to - from <= 2 ? [1, 2, 5] : [1]
  const powers = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
  const marked = powers.flatMap((power) => factors.map((factor) => factor * power))
  const ticks = marked.filter((value) => place(value) <= 1 + 1e-9)
  return { place, ticks: ticks.map((value) => ({ value, at: place(value) })) }
}
