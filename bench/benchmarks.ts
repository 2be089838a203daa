/** Every benchmark there is, in the order in which they run. */
import { audit } from "./audit/benchmark.ts"
import type { Benchmark } from "./benchmark.ts"
import { boxes } from "./boxes/benchmark.ts"
import { calls } from "./calls/benchmark.ts"
import { catchUp } from "./catch-up/benchmark.ts"
import { charges } from "./charges/benchmark.ts"
import { code } from "./code/benchmark.ts"
import { companies } from "./companies/benchmark.ts"
import { decide } from "./decide/benchmark.ts"
import { exportBills } from "./export/benchmark.ts"
import { growthCallers } from "./growth/callers.ts"
import { growthCompanies } from "./growth/companies.ts"
import { growthHistory } from "./growth/history.ts"
import { growthKeys } from "./growth/keys.ts"
import { growthLists } from "./growth/lists.ts"
import { growthRebuild } from "./growth/rebuild.ts"
import { growthVerify } from "./growth/verify.ts"
import { mails } from "./mails/benchmark.ts"
import { names } from "./names/benchmark.ts"
import { million } from "./million/benchmark.ts"
import { processes } from "./processes/benchmark.ts"
import { publishing } from "./publishing/benchmark.ts"
import { reads } from "./reads/benchmark.ts"
import { recordings } from "./recordings/benchmark.ts"
import { replay } from "./replay/benchmark.ts"
import { scale } from "./scale/benchmark.ts"
import { texts } from "./texts/benchmark.ts"
import { webhooks } from "./webhooks/benchmark.ts"

/** What `npm run bench` runs. */
export const BENCHMARKS: readonly Benchmark[] = [
  decide,
  charges,
  replay,
  audit,
  catchUp,
  exportBills,
  million,
  companies,
  texts,
  processes,
  reads,
  code,
  boxes,
  publishing,
  mails,
  names,
  recordings,
  webhooks,
  calls,
  growthHistory,
  growthCallers,
  growthCompanies,
  growthKeys,
  growthRebuild,
  growthLists,
  growthVerify,
  scale,
]
