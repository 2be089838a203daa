/** Runs a benchmark: sets up, warms up, measures round after round, checks, takes down. */
import { performance } from "node:perf_hooks"
import type { Benchmark, Opened, Ratio, Setting, StoreName } from "./benchmark.ts"
import { FEWEST_ROUNDS } from "./benchmark.ts"

/** Every figure of one round by its name. */
export type Round = ReadonlyMap<string, number>

/** What a benchmark came to. */
export interface Measured {
  readonly benchmark: Benchmark
  readonly store: StoreName
  readonly rounds: readonly Round[]
  readonly tookMs: number
}

/**
 * Measures a benchmark. Each round measures every figure once, one after the other, so that a slow
 * moment of the machine falls on all of them; the first round only warms up.
 *
 * @throws Dishonest when what was measured did not really happen
 * @throws the signal's reason once it is aborted
 */
export async function measure(benchmark: Benchmark, watch: Setting): Promise<Measured> {
  const { name, rounds } = benchmark
  if (rounds < FEWEST_ROUNDS) throw new Error(`${name} has fewer than ${FEWEST_ROUNDS} rounds`)
  const begun = performance.now()
  watch.report(`${name}: setting up`)
  const opened = await benchmark.open(watch)
  try {
    const measured: Round[] = []
    await measureRound(benchmark, opened, watch, "warm-up")
    while (measured.length < rounds) {
      const which = `round ${measured.length + 1} of ${rounds}`
      measured.push(await measureRound(benchmark, opened, watch, which))
    }
    watch.report(`${name}: checking what was measured`)
    await opened.check()
    return { benchmark, store: watch.store, rounds: measured, tookMs: performance.now() - begun }
  } finally {
    await opened.close()
  }
}

async function measureRound(
  { name, figures }: Benchmark,
  opened: Opened,
  { signal, report }: Setting,
  which: string,
): Promise<Round> {
  const round = new Map<string, number>()
  for (const figure of figures) {
    signal.throwIfAborted()
    report(`${name}: ${which}, ${figure.title}`)
    const measureOnce = opened.measure[figure.name]
    if (measureOnce === undefined) throw new Error(`${name} does not measure ${figure.name}`)
    round.set(figure.name, await measureOnce())
  }
  signal.throwIfAborted()
  return round
}

/** A figure in each round, by its name. */
export function valuesOf({ rounds }: Measured, figure: string): readonly number[] {
  return rounds.map((round) => {
    const value = round.get(figure)
    if (value === undefined) throw new Error(`no figure ${figure} was measured`)
    return value
  })
}

/** A ratio in each round: what was measured side by side is divided, then the middle is taken. */
export function ratiosOf(measured: Measured, { of, per }: Ratio): readonly number[] {
  const above = namedValues(measured, of)
  if (per === null) return above
  const below = namedValues(measured, per)
  return above.map((value, i) => value / (below[i] ?? Number.NaN))
}

function namedValues(measured: Measured, name: string): readonly number[] {
  const ratio = measured.benchmark.ratios.find(({ id }) => id === name)
  return ratio === undefined ? valuesOf(measured, name) : ratiosOf(measured, ratio)
}
