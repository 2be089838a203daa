/** Arithmetic of results: the median of some rounds, their spread, and the verdict. */
import type { Ratio } from "./benchmark.ts"

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
  /** (max − min) ÷ median. */
  readonly spread: number
}

/** Summarizes at least one value. */
export function summarise(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b)
  const min = sorted[0]
  const max = sorted.at(-1)
  if (min === undefined || max === undefined) throw new Error("there is nothing to summarise")
  const upper = sorted[Math.floor(sorted.length / 2)] ?? max
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? min
  const median = (lower + upper) / 2
  return { median, min, max, spread: median === 0 ? 0 : (max - min) / median }
}

/** The verdict on a ratio: at its target, between target and floor, or below the floor. */
export type RatioVerdict = "met" | "missed" | "below the floor"

export interface RatioExpectation extends Pick<Ratio, "better"> {
  readonly target: number
  readonly floor: number | null
}

/** Judges the median of a ratio. Exactly at the target is met, exactly at the floor is not below. */
export function judgeRatio(
  median: number,
  { better, target, floor }: RatioExpectation,
): RatioVerdict {
  const reaches = (goal: number) => (better === "more" ? median >= goal : median <= goal)
  if (reaches(target)) return "met"
  return floor === null || reaches(floor) ? "missed" : "below the floor"
}
