/**
 * A benchmark: data that says what is measured and how it is judged, and how to set it up.
 *
 * Machines differ and are noisy, so the benchmark judges the ratio of two figures measured in the same round. A
 * missed target is shown and fails nothing; a dishonest result (a missing fact, an exceeded limit) ends the run with
 * an error.
 */

import type { Axis, ChartLine } from "./page/chart.ts"

/** A value that is measured once in every round. */
export interface Figure {
  readonly name: string
  readonly title: string
  readonly unit: Unit
}

export type Unit = "per second" | "µs" | "ms" | "bytes" | "%" | "events" | "rows" | "companies"

/** A figure, or a figure divided by another of the same round, with its target. */
export interface Ratio {
  /** Its number in the definition of "fast", or a name. */
  readonly id: string
  readonly title: string
  /** The name of a figure, or the id of another ratio. */
  readonly of: string
  /** The divisor, named in the same way; null if the figure itself is judged. */
  readonly per: string | null
  readonly better: "more" | "less"
  /** The target, by store if stores differ; null for none. */
  readonly target: Goal
  /** Below this value the design has lost its point; null for none. */
  readonly floor: Goal
}

/** An expectation for all stores, or for each store. */
export type Goal = number | null | Readonly<Partial<Record<StoreName, number>>>

/** Returns the expectation for a store. */
export function goalOf(goal: Goal, store: StoreName): number | null {
  return goal === null || typeof goal === "number" ? goal : (goal[store] ?? null)
}

/** The stores that a benchmark's events can live in. */
export const STORES = ["postgres", "eventstoredb", "memory"] as const
/** A store of `STORES`. */
export type StoreName = (typeof STORES)[number]
/** The variable with the address of an EventStoreDB server to measure. */
export const SERVER_VARIABLE = "EVENTSTORE_TEST_URL"

/** Figures that show how something grows. */
export interface Curve {
  readonly title: string
  readonly across: Axis
  readonly up: Axis
  /** Each figure is a point at `x`. */
  readonly lines: readonly {
    readonly title: string
    readonly points: readonly { readonly x: number; readonly figure: string }[]
  }[]
  /** Returns the findings about the drawn lines. */
  readonly find: (lines: readonly ChartLine[]) => readonly CurveFinding[]
}

export interface CurveFinding {
  readonly text: string
  /** Whether it is as expected; null if there is no expectation. */
  readonly holds: boolean | null
}

export interface Benchmark {
  readonly name: string
  readonly title: string
  /** The stores it can run on; empty if it needs no store. */
  readonly stores: readonly StoreName[]
  /** At least `MIN_ROUNDS`; a warm-up round comes before them. */
  readonly rounds: number
  /** The figures in the order of a round. */
  readonly figures: readonly Figure[]
  readonly ratios: readonly Ratio[]
  /** The curves of its figures; absent for a benchmark of ratios only. */
  readonly curves?: readonly Curve[]
  readonly open: (setting: BenchmarkContext) => Promise<OpenBenchmark>
}

/** What a benchmark is set up with. */
export interface BenchmarkContext {
  /** Aborted by Ctrl-C: long work then stops and throws the signal's reason. */
  readonly signal: AbortSignal
  /** One of the benchmark's stores. */
  readonly store: StoreName
  /** Receives a text about the next step. */
  readonly report: (message: string) => void
  /** Maximum size of a curve's points. */
  readonly maxSize: number
  /** The folder of data sets, which stay from run to run. */
  readonly dataDir: string
}

/** A benchmark that is set up. */
export interface OpenBenchmark {
  /** Measures each figure, by name: does the work once and returns the value. */
  readonly measure: Readonly<Record<string, () => Promise<number>>>
  /** Figures that are not measured after all, with the reasons. */
  readonly skipped?: Readonly<Record<string, string>>
  /** Checks after the last round that the measured work really happened. @throws InvalidMeasurement */
  readonly check: () => Promise<void>
  /** Removes everything that `open` set up, also after a failure. */
  readonly close: () => Promise<void>
}

/** With fewer rounds a spread says little. */
export const MIN_ROUNDS = 3

/** The measured work did not happen as it should: the figures are invalid. */
export class InvalidMeasurement extends Error {
  override readonly name = "InvalidMeasurement"
}

/** Checks a condition of an honest run. @throws InvalidMeasurement */
export function assertMeasurement(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvalidMeasurement(what)
}

/** Creates a ratio (or a figure without divisor) of which less is better. */
export function lowerIsBetter(
  id: string,
  title: string,
  of: string,
  per: string | null,
  target: number,
  floor: number,
): Ratio {
  return { id, title, of, per, better: "less", target, floor }
}
