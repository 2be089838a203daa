/** Runs a benchmark: sets up, warms up, measures round by round, checks and cleans up. */
import { performance } from "node:perf_hooks"
import type { Benchmark, OpenBenchmark, Ratio, BenchmarkContext, StoreName } from "./benchmark.ts"
import { MIN_ROUNDS, assertMeasurement } from "./benchmark.ts"
import type { SkippedMeasurement } from "./skipped.ts"
import { withoutFigures } from "./filter-benchmark.ts"
import type { TimeLeft } from "./time-left.ts"
import { timeLeft } from "./time-left.ts"

/** The figure of the disk's time for one commit, which every benchmark with a store has. */
export const FLUSH_FIGURE_NAME = "flush"

/** All figures of a round, by name. */
export type Round = ReadonlyMap<string, number>

export interface BenchmarkResult {
  readonly benchmark: Benchmark
  readonly store: StoreName
  readonly rounds: readonly Round[]
  readonly tookMs: number
  /** Figures that were not measured after all, with the reasons. */
  readonly leftOut: readonly SkippedMeasurement[]
}

/**
 * Measures a benchmark. Each round measures every figure once, in sequence, so that a slow moment of the machine
 * affects all of them; the first round only warms up.
 *
 * @throws InvalidMeasurement if the measured work did not really happen, or if a benchmark that stores does not measure
 *   the store's flush
 * @throws the signal's reason if it is aborted before the first round is over; later, the complete rounds are the result
 */
export async function runBenchmark(
  asked: Benchmark,
  watch: BenchmarkContext,
): Promise<BenchmarkResult> {
  const { name, rounds, stores } = asked
  const hasFlush = asked.figures.some((figure) => figure.name === FLUSH_FIGURE_NAME)
  assertMeasurement(
    stores.length === 0 || hasFlush,
    `${name} stores and does not measure the flush`,
  )
  if (rounds < MIN_ROUNDS) throw new Error(`${name} has fewer than ${MIN_ROUNDS} rounds`)
  const begun = performance.now()
  watch.report(`${name}: setting up`)
  const opened = await asked.open(watch)
  try {
    const absent = opened.skipped ?? {}
    const benchmark = withoutFigures(asked, new Set(Object.keys(absent)))
    const { figures } = benchmark
    const measured: Round[] = []
    const clock = timeLeft(figures.length * (rounds + 1))
    await runRound(benchmark, opened, watch, { title: "warm-up", clock })
    const interrupted: SkippedMeasurement[] = []
    while (measured.length < rounds && interrupted.length === 0) {
      const title = `round ${measured.length + 1} of ${rounds}`
      try {
        measured.push(await runRound(benchmark, opened, watch, { title, clock }))
      } catch (error) {
        if (!watch.signal.aborted || measured.length === 0) throw error
        const message = `interrupted in ${title}`
        interrupted.push({ benchmark: name, reason: "interrupted", message })
      }
    }
    watch.report(`${name}: checking what was measured`)
    await opened.check()
    return {
      benchmark,
      store: watch.store,
      rounds: measured,
      tookMs: performance.now() - begun,
      leftOut: [
        ...[...new Set(Object.values(absent))].map((message): SkippedMeasurement => {
          return { benchmark: name, reason: "absent", message }
        }),
        ...interrupted,
      ],
    }
  } finally {
    await opened.close()
  }
}

async function runRound(
  { name, figures }: Benchmark,
  opened: OpenBenchmark,
  { signal, report }: BenchmarkContext,
  { title, clock }: { readonly title: string; readonly clock: TimeLeft },
): Promise<Round> {
  const round = new Map<string, number>()
  for (const figure of figures) {
    signal.throwIfAborted()
    report(`${name}: ${title}, ${figure.title}${clock.words()}`)
    const measureOnce = opened.measure[figure.name]
    if (measureOnce === undefined) throw new Error(`${name} does not measure ${figure.name}`)
    const value = await measureOnce()
    assertMeasurement(Number.isFinite(value), `${name} measured ${value} as ${figure.title}`)
    clock.done()
    round.set(figure.name, value)
  }
  signal.throwIfAborted()
  return round
}

/** Returns a figure's values, by round. */
export function figureValues({ rounds }: BenchmarkResult, figure: string): readonly number[] {
  return rounds.map((round) => {
    const value = round.get(figure)
    if (value === undefined) throw new Error(`no figure ${figure} was measured`)
    return value
  })
}

/** Returns a ratio's values, by round: values of the same round are divided. */
export function ratioValues(measured: BenchmarkResult, { of, per }: Ratio): readonly number[] {
  const above = namedValues(measured, of)
  if (per === null) return above
  const below = namedValues(measured, per)
  return above.map((value, i) => value / (below[i] ?? Number.NaN))
}

function namedValues(measured: BenchmarkResult, name: string): readonly number[] {
  const ratio = measured.benchmark.ratios.find(({ id }) => id === name)
  return ratio === undefined ? figureValues(measured, name) : ratioValues(measured, ratio)
}
