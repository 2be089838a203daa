/** Throughput by number of callers: charges on one company by 1 to 1,024 callers. */
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import { fallsBelowPeak } from "./findings.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, FLUSH_FIGURE, curveFigures, curveLines, measureAtSizes } from "./points.ts"

const SIZE = { people: 20, keys: 40 }
const LINE: SizedLine = {
  name: "callers",
  title: "charges on one company",
  sizes: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
  of: "callers",
  unit: "per second",
}

export const callersGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-callers",
  title: "charges a second on one company, by how many callers wait for an answer each",
  stores: ["postgres", "eventstoredb", "memory"],
  figures: [FLUSH_FIGURE, ...curveFigures([LINE])],
  curves: [
    {
      title: "Throughput against callers",
      across: { title: "callers that wait for their answer", scale: "log" },
      up: { title: "charges a second", scale: "linear" },
      lines: curveLines([LINE]),
      find: (lines) => lines.map((line) => fallsBelowPeak(line, "callers")),
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const runner = ground.newRunner()
  const company = await openSpendingCompany(ground, runner, SIZE)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measureAtSizes(LINE, async (callers) => {
        company.prepareCalls()
        return (await runConcurrentCallers(callers, () => company.charge(runner), signal)).perSecond
      }),
    },
    check: () => company.check(runner),
  }
}
