/** Memory by number of companies: a process with 10 to 10,000 of them, and a limit that holds. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { openStoreEnvironment } from "../fixtures/store-environment.ts"
import { timeLeft } from "../time-left.ts"
import { openDataSet } from "./data-set.ts"
import { staysBelow } from "./findings.ts"
import type { SizedLine } from "./points.ts"
import { CURVE_DEFAULTS, FLUSH_FIGURE, curveFigures, curveLines, measureAtSizes } from "./points.ts"

const SIZE = { people: 3, keys: 5 }
const SIZES = [10, 100, 1_000, 10_000]
const OPENED_TOGETHER = 100
/** Memory limit in bytes of the limited process: less than the largest number of companies takes. */
const MEMORY_BOUND = 16_000_000
/** The counted memory of a state is approximate, and the runner needs memory of its own. */
const BOUND_TOLERANCE = 2
const FREE: SizedLine = {
  name: "free",
  title: "with the bound of every process, 256 MB",
  sizes: SIZES,
  of: "companies",
  unit: "bytes",
}
const BOUNDED: SizedLine = { ...FREE, name: "bounded", title: "with a bound of 16 MB" }

export const companiesGrowthBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "growth-companies",
  title: "memory that the ledgers of companies take which were all used",
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...curveFigures([FREE, BOUNDED])],
  curves: [
    {
      title: "Memory against companies",
      across: { title: "companies that were used", scale: "log" },
      up: { title: "bytes", scale: "linear" },
      lines: curveLines([FREE, BOUNDED]),
      find: (lines) => {
        const bounded = lines.filter(({ title }) => title === BOUNDED.title)
        return bounded.map((line) => staysBelow(line, MEMORY_BOUND * BOUND_TOLERANCE, "bytes"))
      },
    },
  ],
  open,
}

async function open(setting: BenchmarkContext): Promise<OpenBenchmark> {
  const which = { name: "companies", formatVersion: 1, empty: {} }
  const set = await openDataSet<object>(which, setting)
  const closers = [set.release]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const ground = await openStoreEnvironment(setting, set.databaseDir)
    closers.push(ground.close)
    await openCompanies(ground, setting)
    return {
      measure: {
        flush: () => flushMicroseconds(ground.pool),
        ...measureAtSizes(FREE, (count) => bytesOf(ground, count, null, setting.signal)),
        ...measureAtSizes(BOUNDED, (count) => bytesOf(ground, count, MEMORY_BOUND, setting.signal)),
      },
      check: async () => undefined,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the missing companies; a table lists those that are complete. */
async function openCompanies(
  ground: StoreEnvironment,
  { signal, report, maxSize }: BenchmarkContext,
): Promise<void> {
  const { pool } = ground
  await pool.query(`create table if not exists public.grown
    (place bigint generated always as identity primary key, stream text not null)`)
  const wanted = Math.max(0, ...SIZES.filter((size) => size <= maxSize))
  const count = async () => {
    const { rows } = await pool.query<{ count: string }>("select count(*) from public.grown")
    return Number(rows[0]?.count)
  }
  let there = await count()
  const clock = timeLeft(Math.ceil((wanted - there) / OPENED_TOGETHER))
  const runner = ground.newRunner()
  while (there < wanted) {
    signal.throwIfAborted()
    report(`growth-companies: ${there} of ${wanted} companies are opened${clock.words()}`)
    const opening = Array.from({ length: Math.min(OPENED_TOGETHER, wanted - there) }, () =>
      openSpendingCompany(ground, runner, SIZE, 1),
    )
    const opened = await Promise.all(opening)
    const streams = opened.map(({ stream }) => stream)
    await pool.query("insert into public.grown (stream) select unnest($1::text[])", [streams])
    there += streams.length
    clock.done()
  }
  await pool.query("analyze")
}

/** Memory of a process of its own with so many companies. */
async function bytesOf(
  { databaseUrl }: StoreEnvironment,
  count: number,
  bound: number | null,
  signal: AbortSignal,
): Promise<number> {
  const script = fileURLToPath(new URL("measure-company-memory.ts", import.meta.url))
  const scriptEnv = { LOOKED_URL: databaseUrl, LOOKED_COUNT: String(count) }
  const env = { ...process.env, ...scriptEnv, LOOKED_BOUND: bound === null ? "" : String(bound) }
  const args = ["--expose-gc", script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal, env })
  const { looked, bytes } = JSON.parse(stdout) as { looked: number; bytes: number }
  assertMeasurement(looked === count, `${looked} of ${count} companies were there`)
  return bytes
}
