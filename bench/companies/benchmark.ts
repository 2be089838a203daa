/** Ratio 11: a thousand companies that each wait for their answer, compared with inserted rows. */
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"

const SIZE = { people: 1, keys: 1 }
const COMPANIES = 1_000
const OPEN_BATCH = 100
/** Prepared calls of each company; more would only fill the memory. */
const PREPARED_CALLS = 50
const INSERTERS = 32
/** The additional time of each flush on a slower disk. */
const ADDED_FLUSH_MICROSECONDS = 1_000

export const companiesBenchmark: Benchmark = {
  name: "companies",
  title: `${COMPANIES.toLocaleString("en-US")} companies with one caller each`,
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "rows", title: "one-row inserts + commits by 32 connections", unit: "per second" },
    { name: "charges", title: "charges by 1,000 companies", unit: "per second" },
    { name: "slowFlush", title: "one-row commit with 1 ms more flush", unit: "µs" },
    { name: "slowRows", title: "one-row inserts with 1 ms more flush", unit: "per second" },
    { name: "slowCharges", title: "charges with 1 ms more flush", unit: "per second" },
  ],
  ratios: [
    {
      id: "11",
      title: "charges by 1,000 companies ÷ one-row inserts + commits by 32 connections",
      of: "charges",
      per: "rows",
      better: "more",
      target: 2,
      floor: 1.4,
    },
    {
      id: "11 slow",
      title: "the same with 1 ms more flush",
      of: "slowCharges",
      per: "slowRows",
      better: "more",
      target: 1.7,
      floor: 1.2,
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { pool } = ground
  const runner = ground.newRunner()
  const all: SpendingCompany[] = []
  report(`companies: opening ${COMPANIES} companies`)
  while (all.length < COMPANIES) {
    signal.throwIfAborted()
    const opening = Array.from({ length: OPEN_BATCH }, () =>
      openSpendingCompany(ground, runner, SIZE, PREPARED_CALLS),
    )
    all.push(...(await Promise.all(opening)))
  }
  await pool.query("create table public.inserted (id bigserial primary key, text text not null)")
  const text = "t".repeat(600)

  const charges = async (): Promise<number> => {
    const charge = (own: number) => (all[own] as SpendingCompany).charge(runner)
    return (await runConcurrentCallers(COMPANIES, charge, signal)).perSecond
  }
  const rows = async (): Promise<number> => {
    const insert = async () => {
      const statement = "insert into public.inserted (text) values ($1)"
      await pool.query({ name: "insert", text: statement, values: [text] })
      return true
    }
    return (await runConcurrentCallers(INSERTERS, insert, signal)).perSecond
  }
  return {
    measure: {
      flush: async () => {
        await setFlushDelay(ground, 0)
        return flushMicroseconds(pool)
      },
      rows,
      charges,
      slowFlush: async () => {
        await setFlushDelay(ground, ADDED_FLUSH_MICROSECONDS)
        return flushMicroseconds(pool)
      },
      slowRows: rows,
      slowCharges: charges,
    },
    check: async () => {
      for (const company of all) await company.check(runner)
    },
  }
}

/** Delays each flush, also when no other process commits. */
async function setFlushDelay({ pool }: StoreEnvironment, microseconds: number): Promise<void> {
  await pool.query(`alter system set commit_delay = ${microseconds}`)
  await pool.query("alter system set commit_siblings = 0")
  await pool.query("select pg_reload_conf()")
}
