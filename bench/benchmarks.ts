/** All benchmarks, in the order in which they run. */
import { auditBenchmark } from "./audit/benchmark.ts"
import type { Benchmark } from "./benchmark.ts"
import { boxesBenchmark } from "./boxes/benchmark.ts"
import { callsBenchmark } from "./calls/benchmark.ts"
import { catchUpBenchmark } from "./catch-up/benchmark.ts"
import { chargesBenchmark } from "./charges/benchmark.ts"
import { codeBenchmark } from "./code/benchmark.ts"
import { companiesBenchmark } from "./companies/benchmark.ts"
import { decideBenchmark } from "./decide/benchmark.ts"
import { exportBenchmark } from "./export/benchmark.ts"
import { callersGrowthBenchmark } from "./growth/callers.ts"
import { companiesGrowthBenchmark } from "./growth/companies.ts"
import { historyGrowthBenchmark } from "./growth/history.ts"
import { keysGrowthBenchmark } from "./growth/keys.ts"
import { listsGrowthBenchmark } from "./growth/lists.ts"
import { rebuildGrowthBenchmark } from "./growth/rebuild.ts"
import { verifyGrowthBenchmark } from "./growth/verify.ts"
import { mailsBenchmark } from "./mails/benchmark.ts"
import { namesBenchmark } from "./names/benchmark.ts"
import { millionBenchmark } from "./million/benchmark.ts"
import { processesBenchmark } from "./processes/benchmark.ts"
import { publishingBenchmark } from "./publishing/benchmark.ts"
import { readsBenchmark } from "./reads/benchmark.ts"
import { recordingsBenchmark } from "./recordings/benchmark.ts"
import { replayBenchmark } from "./replay/benchmark.ts"
import { scaleBenchmark } from "./scale/benchmark.ts"
import { textsBenchmark } from "./texts/benchmark.ts"
import { webhooksBenchmark } from "./webhooks/benchmark.ts"

/** The benchmarks of `npm run bench`. */
export const BENCHMARKS: readonly Benchmark[] = [
  decideBenchmark,
  chargesBenchmark,
  replayBenchmark,
  auditBenchmark,
  catchUpBenchmark,
  exportBenchmark,
  millionBenchmark,
  companiesBenchmark,
  textsBenchmark,
  processesBenchmark,
  readsBenchmark,
  codeBenchmark,
  boxesBenchmark,
  publishingBenchmark,
  mailsBenchmark,
  namesBenchmark,
  recordingsBenchmark,
  webhooksBenchmark,
  callsBenchmark,
  historyGrowthBenchmark,
  callersGrowthBenchmark,
  companiesGrowthBenchmark,
  keysGrowthBenchmark,
  rebuildGrowthBenchmark,
  listsGrowthBenchmark,
  verifyGrowthBenchmark,
  scaleBenchmark,
]
