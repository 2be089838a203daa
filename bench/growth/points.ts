/** Figures that are the points of a curve. */
import type { Benchmark, Curve, Figure, Unit } from "../benchmark.ts"

/** Points of one line, which are measured at each of these sizes. */
export interface SizedLine {
  /** Begins the names of the figures. */
  readonly name: string
  readonly title: string
  readonly sizes: readonly number[]
  /** What a size counts: `10 callers`. */
  readonly of: string
  readonly unit: Unit
}

/** How long a commit takes: beside whatever stores. */
export const FLUSH_FIGURE: Figure = { name: "flush", title: "one-row commit", unit: "µs" }

/** The name of the figure at a size. */
function figureAt({ name }: Pick<SizedLine, "name">, size: number): string {
  return `${name} ${size}`
}

/** The figures of all points, size by size. */
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

/** What measures each figure, by its name. */
export function measureAtSizes(
  { sizes, ...line }: SizedLine,
  measure: (size: number) => Promise<number>,
): Readonly<Record<string, () => Promise<number>>> {
  return Object.fromEntries(sizes.map((size) => [figureAt(line, size), () => measure(size)]))
}

/** What all curves have in common. */
export const CURVE_DEFAULTS: Pick<Benchmark, "rounds" | "ratios"> = { rounds: 3, ratios: [] }
