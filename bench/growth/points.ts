/** Figures that are points of a curve. */
import type { Benchmark, Curve, Figure, Unit } from "../benchmark.ts"

/** Points of one line, measured at each of these sizes. */
export interface SizedLine {
  /** Prefix of the names of its figures. */
  readonly name: string
  readonly title: string
  readonly sizes: readonly number[]
  /** The unit of a size: `10 callers`. */
  readonly of: string
  readonly unit: Unit
}

/** The time of a commit, measured with every store. */
export const FLUSH_FIGURE: Figure = { name: "flush", title: "one-row commit", unit: "µs" }

function figureAt({ name }: Pick<SizedLine, "name">, size: number): string {
  return `${name} ${size}`
}

/** The figures of all points, by size. */
export function curveFigures(lines: readonly SizedLine[]): readonly Figure[] {
  const sizes = [...new Set(lines.flatMap((line) => line.sizes))].toSorted((a, b) => a - b)
  return sizes.flatMap((size) =>
    lines
      .filter((line) => line.sizes.includes(size))
      .map((line) => ({
        name: figureAt(line, size),
        title: `${line.title}, ${size.toLocaleString("en-US")} ${line.of}`,
        unit: line.unit,
      })),
  )
}

/** The lines of a curve. */
export function curveLines(lines: readonly SizedLine[]): Curve["lines"] {
  return lines.map((line) => ({
    title: line.title,
    points: line.sizes.map((x) => ({ x, figure: figureAt(line, x) })),
  }))
}

/** Measures each figure, by its name. */
export function measureAtSizes(
  { sizes, ...line }: SizedLine,
  measure: (size: number) => Promise<number>,
): Readonly<Record<string, () => Promise<number>>> {
  return Object.fromEntries(sizes.map((size) => [figureAt(line, size), () => measure(size)]))
}

/** Values that all curves share. */
export const CURVE_DEFAULTS: Pick<Benchmark, "rounds" | "ratios"> = { rounds: 3, ratios: [] }
