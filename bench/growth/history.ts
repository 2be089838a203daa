/** A charge by the length of its company's history. */
import { performance } from "node:perf_hooks"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { summarise } from "../statistics.ts"
import { staysLevel } from "./findings.ts"
import { HISTORY_SIZES, LEDGER_COMPANY_SIZE, onLedgers } from "./ledgers.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, FLUSH_FIGURE, curveFigures, curveLines, measureAtSizes } from "./points.ts"

const WARM: SizedLine = {
  name: "warm",
  title: "a charge of a company in memory",
  sizes: HISTORY_SIZES,
  of: "charges before it",
  unit: "µs",
}
const COLD: SizedLine = { ...WARM, name: "cold", title: "the first charge after a start" }
/** Number of charges whose median is a figure. */
const WARM_CHARGES = 50
const COLD_CHARGES = 15
const WARMING_CHARGES = 5

export const historyGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-history",
  title: "median time of a charge, by how many charges its company has behind it",
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...curveFigures([WARM, COLD])],
  curves: [
    {
      title: "A charge against what the company did before",
      across: { title: "charges the company has behind it", scale: "log" },
      up: { title: "µs, median of one caller's charges", scale: "linear" },
      lines: curveLines([WARM, COLD]),
      find: (lines) => lines.map((line) => staysLevel(line, "charges")),
    },
  ],
  open: onLedgers(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  kept: ReadonlyMap<number, SpendingCompany>,
  { signal }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const runner = ground.newRunner()
  const measured = new Set(kept.values())
  /** Checkpoints are not updated, so that every start folds the same facts. */
  const frozen: Checkpoints = { load: ground.checkpoints.load, save: async () => undefined }
  /** Measuring makes a short history longer, so each time it is another company. */
  const companyOf = async (size: number): Promise<SpendingCompany> => {
    const found = kept.get(size)
    if (found !== undefined) return found
    const fresh = await openSpendingCompany(ground, runner, LEDGER_COMPANY_SIZE)
    await fresh.fill(runner, size, signal)
    measured.add(fresh)
    return fresh
  }
  const median = async (company: SpendingCompany, charges: number, by: () => Runner) => {
    const times: number[] = []
    while (times.length < charges) {
      signal.throwIfAborted()
      const own = by()
      const begun = performance.now()
      if (await company.charge(own)) times.push((performance.now() - begun) * 1_000)
    }
    return summarise(times).median
  }
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measureAtSizes(WARM, async (size) => {
        const company = await companyOf(size)
        await median(company, WARMING_CHARGES, () => runner)
        return median(company, WARM_CHARGES, () => runner)
      }),
      ...measureAtSizes(COLD, async (size) => {
        const company = await companyOf(size)
        return median(company, COLD_CHARGES, () => ground.newRunner(frozen))
      }),
    },
    check: async () => {
      for (const company of measured) await company.check(ground.newRunner(frozen))
    },
  }
}
