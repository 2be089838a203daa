/** Deciding by number of keys: the ledger's rules without a store, for companies of 5 to 5,000 keys. */
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import type { LedgerSimulation } from "../decide/ledger-simulation.ts"
import { openLedgerSimulation } from "../decide/ledger-simulation.ts"
import { openStopwatch } from "../stopwatch.ts"
import { staysLevel } from "./findings.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, curveFigures, curveLines, measureAtSizes } from "./points.ts"

const SEED = 20_261_121
const STEP_CALLS = 200
const STEPS = 200
const WARMING_STEPS = 50
const KEYS_PER_PERSON = 5
/** With few keys, the key with a small limit has a large share, so that more is rejected. */
const FEW_KEYS = 25
const FEW_REFUSED = { leastPart: 0.01, mostPart: 0.25 }
/** The sums of many keys do not fit the caches. */
const MAX_GROWTH = 2
const LINE: SizedLine = {
  name: "keys",
  title: "decide + evolve",
  sizes: [5, 15, 50, 150, 500, 1_500, 5_000],
  of: "keys",
  unit: "µs",
}

export const keysGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  rounds: 5,
  name: "growth-keys",
  title: "time to decide and fold a charge, by how many keys the company has",
  stores: [],
  figures: curveFigures([LINE]),
  curves: [
    {
      title: "Deciding against keys",
      across: { title: "keys of the company, each with a limit", scale: "log" },
      up: { title: "µs a charge", scale: "linear" },
      lines: curveLines([LINE]),
      find: (lines) => lines.map((line) => staysLevel(line, "keys", MAX_GROWTH)),
    },
  ],
  open: async (setting) => open(setting),
}

function open({ signal, maxSize }: BenchmarkContext): OpenBenchmark {
  const watch = openStopwatch(signal)
  const sizes = LINE.sizes.filter((size) => size <= maxSize)
  const companies = new Map(sizes.map((keys) => [keys, companyWith(keys)]))
  return {
    measure: measureAtSizes(LINE, async (keys) => {
      const company = companies.get(keys) as LedgerSimulation
      await watch.take(WARMING_STEPS, () => company.step(STEP_CALLS))
      return (await watch.take(STEPS, () => company.step(STEP_CALLS))).microsecondsEach
    }),
    check: async () => {
      for (const company of companies.values()) company.check()
    },
    close: async () => undefined,
  }
}

function companyWith(keys: number): LedgerSimulation {
  const size = { people: Math.ceil(keys / KEYS_PER_PERSON), keys }
  return openLedgerSimulation(size, SEED, keys < FEW_KEYS ? FEW_REFUSED : undefined)
}
