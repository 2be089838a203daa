/** Ledgers with long histories, which stay from run to run. */
import type { OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany, reopenSpendingCompany } from "../fixtures/spending-company.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { openStoreEnvironment } from "../fixtures/store-environment.ts"
import { timeLeft } from "../time-left.ts"
import type { DataSet } from "./data-set.ts"
import { openDataSet } from "./data-set.ts"

export const LEDGER_COMPANY_SIZE = { people: 3, keys: 5 }
/** Number of charges in the companies' histories. */
export const HISTORY_SIZES: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000]
/** Shorter histories are written quickly, so they do not stay. */
const MIN_KEPT_SIZE = 100_000
/** Number of charges written between two checks for an abort. */
const CHUNK = 10_000
/** Each run adds charges; with more than this factor it is another history. */
const MAX_EXCESS = 1.1

/** The stream of each company, by its size. */
type Streams = Readonly<Record<string, string>>

export type OpenOnLedgers = (
  ground: StoreEnvironment,
  kept: ReadonlyMap<number, SpendingCompany>,
  setting: BenchmarkContext,
) => Promise<Omit<OpenBenchmark, "close">>

/** Opens a benchmark on the stored ledgers; missing ones are written first. */
export function onLedgers(
  open: OpenOnLedgers,
): (setting: BenchmarkContext) => Promise<OpenBenchmark> {
  return async (setting) => {
    const which = { name: "ledgers", formatVersion: 1, empty: {} }
    const set = await openDataSet<Streams>(which, setting)
    const closers = [set.release]
    const close = async (): Promise<void> => {
      for (const closer of closers.splice(0).toReversed()) await closer()
    }
    try {
      const ground = await openStoreEnvironment(setting, set.databaseDir)
      closers.push(ground.close)
      const kept = await keptCompanies(ground, set, setting)
      return { ...(await open(ground, kept, setting)), close }
    } catch (error) {
      await close()
      throw error
    }
  }
}

async function keptCompanies(
  ground: StoreEnvironment,
  set: DataSet<Streams>,
  setting: BenchmarkContext,
): Promise<ReadonlyMap<number, SpendingCompany>> {
  const kept = new Map<number, SpendingCompany>()
  for (const size of HISTORY_SIZES) {
    if (size < MIN_KEPT_SIZE || size > setting.maxSize) continue
    const company = await keptCompany(ground, set, { ...setting, size })
    await fillUp(ground, company, { ...setting, size })
    kept.set(size, company)
  }
  await ground.pool.query("analyze")
  return kept
}

type SizedContext = BenchmarkContext & { readonly size: number }

/** Returns an earlier run's company if its history is not too long, otherwise a new one. */
async function keptCompany(
  ground: StoreEnvironment,
  set: DataSet<Streams>,
  { size, report }: SizedContext,
): Promise<SpendingCompany> {
  const stream = set.contents()[size]
  if (stream !== undefined) {
    report(`ledgers: reading the one of ${size.toLocaleString("en-US")} charges`)
    const found = await reopenSpendingCompany(ground, stream, LEDGER_COMPANY_SIZE)
    if (found !== null && found.charges() <= size * MAX_EXCESS) return found
  }
  const made = await openSpendingCompany(ground, ground.newRunner(), LEDGER_COMPANY_SIZE)
  await set.save({ ...set.contents(), [size]: made.stream })
  return made
}

async function fillUp(
  ground: StoreEnvironment,
  company: SpendingCompany,
  { size, ...setting }: SizedContext,
) {
  const runner = ground.newRunner()
  const clock = timeLeft(Math.ceil((size - company.charges()) / CHUNK))
  while (company.charges() < size) {
    const written = `${company.charges().toLocaleString("en-US")} of ${size.toLocaleString("en-US")}`
    setting.report(`ledgers: ${written} charges are written${clock.words()}`)
    await company.fill(runner, Math.min(CHUNK, size - company.charges()), setting.signal)
    clock.done()
  }
}
