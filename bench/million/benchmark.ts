/** Ratio 9, and the memory of a subscription that is far behind: the later cost of a million charges. */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { execFile } from "node:child_process"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext, StoreName } from "../benchmark.ts"
import { SERVER_VARIABLE, assertMeasurement } from "../benchmark.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import { summarise } from "../statistics.ts"

const SIZE = { people: 3, keys: 5 }
const [MANY, FEW] = [1_000_000, 100]
const REPORT_INTERVAL = 100_000
/** Timed first charges of a round; the median counts. */
const COLD_CHARGES = 15
/** The ledger saves a checkpoint after so many facts, so a load folds at most one less. */
const CHECKPOINT_FACTS = 200

export const millionBenchmark: Benchmark = {
  name: "million",
  title: `a company with ${MANY.toLocaleString("en-US")} charges behind it (takes a minute or more to write)`,
  stores: ["postgres", "eventstoredb"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "many", title: "first charge of a cold company with 1,000,000 behind it", unit: "µs" },
    { name: "few", title: "first charge of a cold company with 100 behind it", unit: "µs" },
    { name: "behind", title: "memory taken by a subscription 1,000,000 behind", unit: "bytes" },
  ],
  ratios: [
    {
      id: "9",
      title: "first charge with 1,000,000 behind it ÷ with 100",
      of: "many",
      per: "few",
      better: "less",
      target: { postgres: 1.5, eventstoredb: 2 },
      floor: { postgres: 2.5, eventstoredb: 3 },
    },
    {
      id: "9 behind",
      title: "most memory a subscription takes that is 1,000,000 behind",
      of: "behind",
      per: null,
      better: "less",
      target: 200_000_000,
      floor: null,
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  setting: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { signal, report, store } = setting
  const runner = ground.newRunner()
  const few = await openSpendingCompany(ground, runner, SIZE)
  await few.fill(runner, FEW, signal)
  const many = await openSpendingCompany(ground, runner, SIZE)
  for (let written = 0; written < MANY; written += REPORT_INTERVAL) {
    report(`million: ${written.toLocaleString("en-US")} charges are written`)
    await many.fill(runner, REPORT_INTERVAL, signal)
  }
  await goToWorstPoint(ground, runner, many)

  /** Checkpoints are not updated, so that every load folds the same facts. */
  const frozen: Checkpoints = { load: ground.checkpoints.load, save: async () => undefined }
  const cold = async (company: SpendingCompany): Promise<number> => {
    const times: number[] = []
    while (times.length < COLD_CHARGES) {
      signal.throwIfAborted()
      const stranger = ground.newRunner(frozen)
      const begun = performance.now()
      const isAccepted = await company.charge(stranger)
      if (isAccepted) times.push((performance.now() - begun) * 1_000)
    }
    return summarise(times).median
  }
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      many: () => cold(many),
      few: () => cold(few),
      behind: () => peakBytes(ground, store, signal),
    },
    check: async () => {
      await many.check(ground.newRunner(frozen))
      await few.check(ground.newRunner(frozen))
    },
  }
}

/** Charges until the maximum number of facts follows the last checkpoint. */
async function goToWorstPoint(
  { checkpoints }: StoreEnvironment,
  runner: Runner,
  company: SpendingCompany,
): Promise<void> {
  for (;;) {
    const kept = await checkpoints.load(company.stream)
    const revision = await runner.read(
      { aggregate: LEDGER_AGGREGATE, stream: company.stream },
      ledgerRevision,
    )
    const facts = revision - (kept?.revision ?? -1)
    if (kept !== null && facts === CHECKPOINT_FACTS - 1) return
    await company.charge(runner)
  }
}

/** Memory of a process of its own that follows everything from the start. */
async function peakBytes(
  { databaseUrl }: StoreEnvironment,
  store: StoreName,
  signal: AbortSignal,
): Promise<number> {
  const script = fileURLToPath(new URL("follow-from-start.ts", import.meta.url))
  const url = store === "postgres" ? databaseUrl : (process.env[SERVER_VARIABLE] ?? "")
  const env = { ...process.env, FOLLOWED_STORE: store, FOLLOWED_URL: url }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { signal, env })
  const { events, took } = JSON.parse(stdout) as { events: number; took: number }
  assertMeasurement(events >= MANY, `the subscriber got ${events} events`)
  return took
}
