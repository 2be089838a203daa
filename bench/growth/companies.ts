/** Memory against companies: what a process keeps of 10 to 10,000 of them, and that a bound holds. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { openCompany } from "../ground/company.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { openGround } from "../ground/ground.ts"
import { timeLeft } from "../time-left.ts"
import { openDataSet } from "./data-set.ts"
import { staysBelow } from "./findings.ts"
import type { Sized } from "./points.ts"
import { CURVE, FLUSH_FIGURE, figuresOf, linesOf, measuredAt } from "./points.ts"

const SIZE = { people: 3, keys: 5 }
const SIZES = [10, 100, 1_000, 10_000]
const OPENED_TOGETHER = 100
/** Bytes that a process may keep of them where it is told so: fewer than the largest number takes. */
const BOUND = 16_000_000
/** What is counted of a state is about what it takes, and the runner's own things come to it. */
const BOUND_TIMES = 2
const FREE: Sized = {
  name: "free",
  title: "with the bound of every process, 256 MB",
  sizes: SIZES,
  of: "companies",
  unit: "bytes",
}
const BOUNDED: Sized = { ...FREE, name: "bounded", title: "with a bound of 16 MB" }

/** The curve. */
export const growthCompanies: Benchmark = {
  ...CURVE,
  name: "growth-companies",
  title: "memory that the ledgers of companies take which were all used",
  stores: ["postgres"],
  figures: [FLUSH_FIGURE, ...figuresOf([FREE, BOUNDED])],
  curves: [
    {
      title: "Memory against companies",
      across: { title: "companies that were used", scale: "log" },
      up: { title: "bytes", scale: "linear" },
      lines: linesOf([FREE, BOUNDED]),
      find: (lines) => {
        const bounded = lines.filter(({ title }) => title === BOUNDED.title)
        return bounded.map((line) => staysBelow(line, BOUND * BOUND_TIMES, "bytes"))
      },
    },
  ],
  open,
}

async function open(setting: Setting): Promise<Opened> {
  const which = { name: "companies", form: 1, empty: {} }
  const set = await openDataSet<object>(which, setting)
  const closers = [set.release]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const ground = await openGround(setting, set.databaseDir)
    closers.push(ground.close)
    await openCompanies(ground, setting)
    return {
      measure: {
        flush: () => flushMicroseconds(ground.pool),
        ...measuredAt(FREE, (count) => bytesOf(ground, count, null, setting.signal)),
        ...measuredAt(BOUNDED, (count) => bytesOf(ground, count, BOUND, setting.signal)),
      },
      check: async () => undefined,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the companies that are missing; a table says which are there to the end. */
async function openCompanies(ground: Ground, { signal, report, most }: Setting): Promise<void> {
  const { pool } = ground
  await pool.query(`create table if not exists public.grown
    (place bigint generated always as identity primary key, stream text not null)`)
  const wanted = Math.max(0, ...SIZES.filter((size) => size <= most))
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
      openCompany(ground, runner, SIZE, 1),
    )
    const opened = await Promise.all(opening)
    const streams = opened.map(({ stream }) => stream)
    await pool.query("insert into public.grown (stream) select unnest($1::text[])", [streams])
    there += streams.length
    clock.done()
  }
  await pool.query("analyze")
}

/** What a process of its own keeps of so many companies. */
async function bytesOf(
  { databaseUrl }: Ground,
  count: number,
  bound: number | null,
  signal: AbortSignal,
): Promise<number> {
  const script = fileURLToPath(new URL("look-at-companies.ts", import.meta.url))
  const told = { LOOKED_URL: databaseUrl, LOOKED_COUNT: String(count) }
  const env = { ...process.env, ...told, LOOKED_BOUND: bound === null ? "" : String(bound) }
  const args = ["--expose-gc", script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal, env })
  const { looked, bytes } = JSON.parse(stdout) as { looked: number; bytes: number }
  honest(looked === count, `${looked} of ${count} companies were there`)
  return bytes
}
