/**
 * What a benchmark is: data that says what is measured and how it is judged, and how to set it up.
 *
 * Machines differ and are noisy, so what is judged is a ratio of two figures that were measured side
 * by side in the same round. A missed target is shown and fails nothing; a result that is not honest
 * (a fact missing, a limit passed) is no result and ends the run with an error.
 */

import type { Axis, ChartLine } from "./page/chart.ts"

/** Something that is measured once in every round. */
export interface Figure {
  readonly name: string
  readonly title: string
  readonly unit: Unit
}

/** What a figure counts. */
export type Unit = "per second" | "µs" | "ms" | "bytes" | "%" | "events" | "rows" | "companies"

/** A figure, or a figure divided by another of the same round, with what is expected of it. */
export interface Ratio {
  /** Its number in the list of what "fast" means, or a name for what that list says beside one. */
  readonly id: string
  readonly title: string
  /** The name of a figure, or the id of another ratio. */
  readonly of: string
  /** What it is divided by, named in the same way; null where the figure itself is judged. */
  readonly per: string | null
  readonly better: "more" | "less"
  /** By store where stores differ; null where a store has none. */
  readonly target: Goal
  /** Where the design has lost its point; null where only a target was set. */
  readonly floor: Goal
}

/** What is expected, of whatever store or of each. */
export type Goal = number | null | Readonly<Partial<Record<StoreName, number>>>

/** What is expected of a store. */
export function goalOf(goal: Goal, store: StoreName): number | null {
  return goal === null || typeof goal === "number" ? goal : (goal[store] ?? null)
}

/** Where the events of a benchmark can live. */
export const STORES = ["postgres", "eventstoredb", "memory"] as const
/** One of them. */
export type StoreName = (typeof STORES)[number]
/** The variable that names a server of EventStoreDB to measure. */
export const SERVER_VARIABLE = "EVENTSTORE_TEST_URL"

/** Figures that belong together: how something grows. */
export interface Curve {
  readonly title: string
  readonly across: Axis
  readonly up: Axis
  /** Each figure is a point; `x` says where it stands. */
  readonly lines: readonly {
    readonly title: string
    readonly points: readonly { readonly x: number; readonly figure: string }[]
  }[]
  /** What the drawn lines show of what is expected of them. */
  readonly find: (lines: readonly ChartLine[]) => readonly CurveFinding[]
}

/** What a curve shows. */
export interface CurveFinding {
  readonly text: string
  /** Whether it is as expected; null where it is only told. */
  readonly holds: boolean | null
}

/** A benchmark. */
export interface Benchmark {
  readonly name: string
  readonly title: string
  /** The stores it can be run on; none for one that needs no store. */
  readonly stores: readonly StoreName[]
  /** At least `MIN_ROUNDS`; a warm-up round comes before them. */
  readonly rounds: number
  /** In the order of a round. */
  readonly figures: readonly Figure[]
  readonly ratios: readonly Ratio[]
  /** How its figures grow; none for a benchmark of ratios alone. */
  readonly curves?: readonly Curve[]
  readonly open: (setting: BenchmarkContext) => Promise<OpenBenchmark>
}

/** What a benchmark is set up with. */
export interface BenchmarkContext {
  /** Aborted by Ctrl-C: whatever takes long gives up then, and throws the signal's reason. */
  readonly signal: AbortSignal
  /** One of the benchmark's own stores. */
  readonly store: StoreName
  /** Told in words what happens next. */
  readonly report: (message: string) => void
  /** Points of curves further out than this are left out. */
  readonly maxSize: number
  /** The folder in which data sets are kept from run to run. */
  readonly dataDir: string
}

/** A benchmark that was set up. */
export interface OpenBenchmark {
  /** For each figure by its name: does the work once and answers the figure. */
  readonly measure: Readonly<Record<string, () => Promise<number>>>
  /** The figures that are not measured after all, each with the reason. */
  readonly skipped?: Readonly<Record<string, string>>
  /** Looks, after the last round, whether what was measured really happened. @throws InvalidMeasurement */
  readonly check: () => Promise<void>
  /** Takes down what `open` set up, also after a failure. */
  readonly close: () => Promise<void>
}

/** A spread says little with fewer rounds than this. */
export const MIN_ROUNDS = 3

/** What was measured did not happen as it should: the figures are worth nothing. */
export class InvalidMeasurement extends Error {
  override readonly name = "InvalidMeasurement"
}

/** Makes sure of something that an honest run keeps. @throws InvalidMeasurement */
export function assertMeasurement(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvalidMeasurement(what)
}

/** A ratio, or a figure where it is by nothing, of which less is better. */
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
