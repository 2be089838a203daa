/** Ledgers with long histories, kept from run to run. */
import type { Opened, Setting } from "../benchmark.ts"
import type { SpendingCompany } from "../ground/company.ts"
import { openCompany, reopenCompany } from "../ground/company.ts"
import type { Ground } from "../ground/ground.ts"
import { openGround } from "../ground/ground.ts"
import { timeLeft } from "../time-left.ts"
import type { DataSet } from "./data-set.ts"
import { openDataSet } from "./data-set.ts"

/** How many people and keys these companies have. */
export const SIZE = { people: 3, keys: 5 }
/** How many charges the companies have behind them. */
export const HISTORIES: readonly number[] = [100, 1_000, 10_000, 100_000, 1_000_000]
/** Shorter ones are quickly written. */
const KEPT_FROM = 100_000
/** So many charges are written before it is looked whether to go on. */
const CHUNK = 10_000
/** Each run adds charges: with so many more it is another history. */
const MOST_TIMES = 1.1

/** The stream of each company by its size. */
type Streams = Readonly<Record<string, string>>

/** What is measured on them. */
export type OpenOnLedgers = (
  ground: Ground,
  kept: ReadonlyMap<number, SpendingCompany>,
  setting: Setting,
) => Promise<Omit<Opened, "close">>

/** Opens a benchmark on the kept ledgers; what of them is missing is written first. */
export function onLedgers(open: OpenOnLedgers): (setting: Setting) => Promise<Opened> {
  return async (setting) => {
    const which = { name: "ledgers", form: 1, empty: {} }
    const set = await openDataSet<Streams>(which, setting)
    const closers = [set.release]
    const close = async (): Promise<void> => {
      for (const closer of closers.splice(0).toReversed()) await closer()
    }
    try {
      const ground = await openGround(setting, set.databaseDir)
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
  ground: Ground,
  set: DataSet<Streams>,
  setting: Setting,
): Promise<ReadonlyMap<number, SpendingCompany>> {
  const kept = new Map<number, SpendingCompany>()
  for (const size of HISTORIES) {
    if (size < KEPT_FROM || size > setting.most) continue
    const company = await keptCompany(ground, set, { ...setting, size })
    await fillUp(ground, company, { ...setting, size })
    kept.set(size, company)
  }
  await ground.pool.query("analyze")
  return kept
}

type Sized = Setting & { readonly size: number }

/** The company of a run before where it has not grown too long, else a new one. */
async function keptCompany(
  ground: Ground,
  set: DataSet<Streams>,
  { size, report }: Sized,
): Promise<SpendingCompany> {
  const stream = set.there()[size]
  if (stream !== undefined) {
    report(`ledgers: reading the one of ${size.toLocaleString("en-US")} charges`)
    const found = await reopenCompany(ground, stream, SIZE)
    if (found !== null && found.charges() <= size * MOST_TIMES) return found
  }
  const made = await openCompany(ground, ground.newRunner(), SIZE)
  await set.note({ ...set.there(), [size]: made.stream })
  return made
}

async function fillUp(ground: Ground, company: SpendingCompany, { size, ...setting }: Sized) {
  const runner = ground.newRunner()
  const clock = timeLeft(Math.ceil((size - company.charges()) / CHUNK))
  while (company.charges() < size) {
    const written = `${company.charges().toLocaleString("en-US")} of ${size.toLocaleString("en-US")}`
    setting.report(`ledgers: ${written} charges are written${clock.words()}`)
    await company.fill(runner, Math.min(CHUNK, size - company.charges()), setting.signal)
    clock.done()
  }
}
