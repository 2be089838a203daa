/** What it costs to load a company's ledger, and to charge one that is in memory, through the real writer. */
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { honest } from "../benchmark.ts"
import type { SpendingCompany } from "../ground/company.ts"
import { openCompany } from "../ground/company.ts"
import { elapsed } from "../ground/elapsed.ts"
import type { Ground } from "../ground/ground.ts"
import { summarise } from "../statistics.ts"
import type { Spent } from "./spent.ts"
import { spentBy } from "./spent.ts"

/** What was measured, microseconds. */
export interface LedgerCosts {
  /** A charge by one caller: of a company in memory, and the first of one that has to be loaded. */
  readonly warmAlone: number
  readonly coldAlone: number
  /** CPU of loading one, and of each fact behind its checkpoint. */
  readonly load: Spent
  readonly fact: Spent
}

/** Ledgers of short and of longer histories. */
export interface Ledgers {
  readonly streams: readonly string[]
  readonly measure: () => Promise<LedgerCosts>
  readonly check: () => Promise<void>
}

const SIZE = { people: 1, keys: 1 }
const COMPANIES = 200
const TOGETHER = 20
const ALONE = 30
/** Each round charges this often twice. */
const PASSES = 3
/** About as many as are ever behind a checkpoint, which is kept after 200. */
const FACTS_MORE = 170
const DRAWN = 200

/** Opens them. Checkpoints stay as they are, so that every round has about as much to fold. */
export async function openLedgers(ground: Ground, signal: AbortSignal): Promise<Ledgers> {
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
      const opening = Array.from({ length: TOGETHER }, () =>
        openCompany(ground, runner, SIZE, DRAWN),
      )
      own.push(...(await Promise.all(opening)))
    }
    await Promise.all(own.map((company) => company.fill(runner, facts, signal)))
  }
  await ground.pool.query("analyze")
  /** Each charges once; answers how many did. */
  const charge = async (own: readonly SpendingCompany[], by: Runner): Promise<number> => {
    for (const company of own) company.draw()
    for (let i = 0; i < own.length; i += TOGETHER) {
      signal.throwIfAborted()
      const charged = own.slice(i, i + TOGETHER).map((company) => company.charge(by))
      honest(!(await Promise.all(charged)).includes(false), "a charge was refused")
    }
    return own.length
  }
  /** What the first charges cost more than the second ones. */
  const loading = async (own: readonly SpendingCompany[]): Promise<Spent> => {
    const [cold, warm]: [Spent[], Spent[]] = [[], []]
    for (let i = 0; i < PASSES; i += 1) {
      const by = ground.newRunner(frozen)
      cold.push(await spentBy(ground.pool, () => charge(own, by)))
      warm.push(await spentBy(ground.pool, () => charge(own, by)))
    }
    return difference(middleOf(cold), middleOf(warm), 1)
  }
  const alone = async (): Promise<readonly [cold: number, warm: number]> => {
    const by = ground.newRunner(frozen)
    const own = many.slice(0, ALONE)
    const medianOf = async () => {
      const took: number[] = []
      for (const company of own) took.push(await elapsed(() => company.charge(by)))
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

function middleOf(all: readonly Spent[]): Spent {
  const of = (name: keyof Spent) => summarise(all.map((one) => one[name])).median
  return { cpu: of("cpu"), databaseCpu: of("databaseCpu") }
}

/** How much more one cost, for each of so many; what noise makes negative is nothing. */
function difference(more: Spent, less: Spent, count: number): Spent {
  return {
    cpu: Math.max(0, more.cpu - less.cpu) / count,
    databaseCpu: Math.max(0, more.databaseCpu - less.databaseCpu) / count,
  }
}
