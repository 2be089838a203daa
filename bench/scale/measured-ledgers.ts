/** The cost of loading a company's ledger, and of a charge in memory, through the real runner. */
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { measureMs } from "../fixtures/elapsed.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { summarise } from "../statistics.ts"
import type { CpuUsage } from "./resource-usage.ts"
import { measureCpuUsage } from "./resource-usage.ts"

/** Measured costs, microseconds. */
export interface LedgerCosts {
  /** A charge by one caller: of a company in memory, and the first one of a company to load. */
  readonly warmAlone: number
  readonly coldAlone: number
  /** CPU of loading a ledger, and of each fact after its checkpoint. */
  readonly load: CpuUsage
  readonly fact: CpuUsage
}

/** Ledgers with short and longer histories. */
export interface MeasuredLedgers {
  readonly streams: readonly string[]
  readonly measure: () => Promise<LedgerCosts>
  readonly check: () => Promise<void>
}

const SIZE = { people: 1, keys: 1 }
const COMPANIES = 200
const CONCURRENCY = 20
const ALONE = 30
/** Number of double charges in each round. */
const PASSES = 3
/** About the maximum number of facts after a checkpoint, which is saved after 200. */
const FACTS_MORE = 170
const DRAWN = 200

/** Opens the ledgers. Checkpoints are not updated, so that every round folds about the same. */
export async function openMeasuredLedgers(
  ground: StoreEnvironment,
  signal: AbortSignal,
): Promise<MeasuredLedgers> {
  const frozen: Checkpoints = { load: ground.checkpoints.load, save: async () => undefined }
  const runner = ground.newRunner(frozen)
  const few: SpendingCompany[] = []
  const many: SpendingCompany[] = []
  for (const [own, facts] of [
    [few, 0],
    [many, FACTS_MORE],
  ] as const) {
    while (own.length < COMPANIES) {
      signal.throwIfAborted()
      const opening = Array.from({ length: CONCURRENCY }, () =>
        openSpendingCompany(ground, runner, SIZE, DRAWN),
      )
      own.push(...(await Promise.all(opening)))
    }
    await Promise.all(own.map((company) => company.fill(runner, facts, signal)))
  }
  await ground.pool.query("analyze")
  /** Charges each once; returns the number of accepted charges. */
  const charge = async (own: readonly SpendingCompany[], by: Runner): Promise<number> => {
    for (const company of own) company.prepareCalls()
    for (let i = 0; i < own.length; i += CONCURRENCY) {
      signal.throwIfAborted()
      const charged = own.slice(i, i + CONCURRENCY).map((company) => company.charge(by))
      assertMeasurement(!(await Promise.all(charged)).includes(false), "a charge was refused")
    }
    return own.length
  }
  /** The additional cost of the first charges compared with the second ones. */
  const loading = async (own: readonly SpendingCompany[]): Promise<CpuUsage> => {
    const [cold, warm]: [CpuUsage[], CpuUsage[]] = [[], []]
    for (let i = 0; i < PASSES; i += 1) {
      const by = ground.newRunner(frozen)
      cold.push(await measureCpuUsage(ground.pool, () => charge(own, by)))
      warm.push(await measureCpuUsage(ground.pool, () => charge(own, by)))
    }
    return difference(medianUsage(cold), medianUsage(warm), 1)
  }
  const alone = async (): Promise<readonly [cold: number, warm: number]> => {
    const by = ground.newRunner(frozen)
    const own = many.slice(0, ALONE)
    const medianOf = async () => {
      const took: number[] = []
      for (const company of own) took.push(await measureMs(() => company.charge(by)))
      return summarise(took).median * 1_000
    }
    return [await medianOf(), await medianOf()]
  }
  return {
    streams: many.map(({ stream }) => stream),
    measure: async () => {
      const [load, longer] = [await loading(few), await loading(many)]
      const [coldAlone, warmAlone] = await alone()
      return { coldAlone, warmAlone, load, fact: difference(longer, load, FACTS_MORE) }
    },
    check: async () => {
      for (const company of [...few, ...many]) await company.check(runner)
    },
  }
}

function medianUsage(all: readonly CpuUsage[]): CpuUsage {
  const of = (name: keyof CpuUsage) => summarise(all.map((one) => one[name])).median
  return { cpu: of("cpu"), databaseCpu: of("databaseCpu") }
}

/** The additional cost per unit; a negative difference is noise and counts as 0. */
function difference(more: CpuUsage, less: CpuUsage, count: number): CpuUsage {
  return {
    cpu: Math.max(0, more.cpu - less.cpu) / count,
    databaseCpu: Math.max(0, more.databaseCpu - less.databaseCpu) / count,
  }
}
