/** The resources of this process and PostgreSQL for one unit of work. */
import type { Pool } from "pg"
import { assertMeasurement } from "../benchmark.ts"
import { startDatabaseCpuMeter } from "./database-cpu.ts"

/** The CPU time of one unit of work. */
export interface CpuUsage {
  /** CPU of this process and of PostgreSQL, microseconds. */
  readonly cpu: number
  readonly databaseCpu: number
}

/** Measures work that returns its number of units. */
export async function measureCpuUsage(
  pool: Pick<Pool, "query">,
  work: () => Promise<number>,
): Promise<CpuUsage> {
  const databaseWork = await startDatabaseCpuMeter(pool)
  const before = process.cpuUsage()
  const count = await work()
  const { user, system } = process.cpuUsage(before)
  const databaseCpu = (await databaseWork()) / count
  assertMeasurement(count > 0, "nothing was done")
  return { cpu: (user + system) / count, databaseCpu }
}

/** The storage of one unit of work. */
export interface StorageGrowth {
  readonly events: number
  /** Rows of all tables, events included. */
  readonly rows: number
  /** Bytes of the database's files, and of its log. */
  readonly bytes: number
  readonly logBytes: number
}

const TABLES = `
  select format('select count(*) as count from %I.%I', schemaname, relname) as text
  from pg_stat_user_tables`
const SIZES = `
  select coalesce((select max(position) from eventstore.events), -1) as events,
    pg_database_size(current_database()) as bytes,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as log`

/** Measures both. */
export async function measureResources(
  pool: Pick<Pool, "query">,
  work: () => Promise<number>,
): Promise<CpuUsage & StorageGrowth> {
  const before = await storageNow(pool)
  let count = 0
  const spent = await measureCpuUsage(pool, async () => {
    count = await work()
    return count
  })
  const after = await storageNow(pool)
  const each = (name: keyof StorageGrowth) => (after[name] - before[name]) / count
  return {
    ...spent,
    events: each("events"),
    rows: each("rows"),
    bytes: each("bytes"),
    logBytes: each("logBytes"),
  }
}

async function storageNow(pool: Pick<Pool, "query">): Promise<StorageGrowth> {
  const sizes = await pool.query<{ events: string; bytes: string; log: string }>(SIZES)
  const { events, bytes, log } = sizes.rows[0] as (typeof sizes.rows)[number]
  const { rows: tables } = await pool.query<{ text: string }>(TABLES)
  let rows = 0
  for (const { text } of tables) {
    const counted = await pool.query<{ count: string }>(text)
    rows += Number(counted.rows[0]?.count)
  }
  return { events: Number(events), rows, bytes: Number(bytes), logBytes: Number(log) }
}
