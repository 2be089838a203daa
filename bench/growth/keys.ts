/** Deciding against keys: the ledger's rules alone, for companies of 5 to 5,000 keys. */
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import type { Spending } from "../decide/spending.ts"
import { openSpending } from "../decide/spending.ts"
import { openStopwatch } from "../stopwatch.ts"
import { staysLevel } from "./findings.ts"
import type { Sized } from "./points.ts"
import { CURVE, figuresOf, linesOf, measuredAt } from "./points.ts"

const SEED = 20_261_121
const STEP_CALLS = 200
const STEPS = 200
const WARMING_STEPS = 50
/** Every fifth key belongs to somebody else. */
const KEYS_A_PERSON = 5
/** Of few keys the one with a small limit is a large part, so that more is refused. */
const FEW_KEYS = 25
const FEW_REFUSED = { leastPart: 0.01, mostPart: 0.25 }
/** The sums of many keys do not stay in the caches. */
const MOST_TIMES = 2
const LINE: Sized = {
  name: "keys",
  title: "decide + evolve",
  sizes: [5, 15, 50, 150, 500, 1_500, 5_000],
  of: "keys",
  unit: "µs",
}

/** The curve. */
export const growthKeys: Benchmark = {
  ...CURVE,
  rounds: 5,
  name: "growth-keys",
  title: "time to decide and fold a charge, by how many keys the company has",
  stores: [],
  figures: figuresOf([LINE]),
  curves: [
    {
      title: "Deciding against keys",
      across: { title: "keys of the company, each with a limit", scale: "log" },
      up: { title: "µs a charge", scale: "linear" },
      lines: linesOf([LINE]),
      find: (lines) => lines.map((line) => staysLevel(line, "keys", MOST_TIMES)),
    },
  ],
  open: async (setting) => open(setting),
}

function open({ signal, most }: Setting): Opened {
  const watch = openStopwatch(signal)
  const sizes = LINE.sizes.filter((size) => size <= most)
  const companies = new Map(sizes.map((keys) => [keys, companyWith(keys)]))
  return {
    measure: measuredAt(LINE, async (keys) => {
      const company = companies.get(keys) as Spending
      await watch.take(WARMING_STEPS, () => company.step(STEP_CALLS))
      return (await watch.take(STEPS, () => company.step(STEP_CALLS))).microsecondsEach
    }),
    check: async () => {
      for (const company of companies.values()) company.check()
    },
    close: async () => undefined,
  }
}

function companyWith(keys: number): Spending {
  const size = { people: Math.ceil(keys / KEYS_A_PERSON), keys }
  return openSpending(size, SEED, keys < FEW_KEYS ? FEW_REFUSED : undefined)
}
