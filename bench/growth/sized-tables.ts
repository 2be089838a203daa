/** The table of texts in several sizes, stored in another schema and swapped with the live table. */
import type { Pool, PoolClient } from "pg"
import {
  LIVE_SCHEMA,
  createTables,
  inTransaction,
} from "../../adapters/postgres/projector/tables.ts"
import { messagesReadModel } from "../../projections/phone/messages.ts"
import type { BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { timeLeft } from "../time-left.ts"

/** Number of rows written by one statement. */
const CHUNK = 250_000
/** The share of each table that belongs to the calling companies. */
const OWN_PART = 0.5
const MAX_OWN_ROWS = 1_000
const ROWS_OF_OTHERS = 1_000
/** The schema of the live table while another one replaces it. */
const SWAPPED_OUT_SCHEMA = "grown_aside"

export interface SizedTables {
  /** Replaces the live table by the one of this size. */
  readonly swapIn: (size: number) => Promise<void>
  /** Restores the live table. */
  readonly restore: () => Promise<void>
  /** @throws InvalidMeasurement if a table has another number of rows */
  readonly check: () => Promise<void>
}

/** Opens the tables; missing ones are written first, with rows for these companies. */
export async function openSizedTables(
  pool: Pool,
  companies: readonly string[],
  sizes: readonly number[],
  { signal, report }: BenchmarkContext,
): Promise<SizedTables> {
  const restore = () => inTransaction(pool, (client) => restoreTable(client, sizes))
  await pool.query(`create schema if not exists ${SWAPPED_OUT_SCHEMA}`)
  await restore()
  const wanted = sizes.reduce((sum, size) => sum + size, 0)
  let there = 0
  const clock = timeLeft(sizes.reduce((sum, size) => sum + Math.ceil(size / CHUNK), 0))
  for (const size of sizes) {
    await inTransaction(pool, (client) => createTable(client, size))
    for (let rows = await countOf(pool, size); rows < size;) {
      signal.throwIfAborted()
      const progress = `${(there + rows).toLocaleString("en-US")} of ${wanted.toLocaleString("en-US")}`
      report(`growth-lists: ${progress} rows are written${clock.words()}`)
      const upTo = Math.min(size, rows + CHUNK)
      await insertRows(pool, { size, from: rows, upTo, companies })
      rows = upTo
      clock.done()
    }
    there += size
    await pool.query(`vacuum analyze ${schemaOf(size)}.messages`)
  }
  return {
    restore,
    swapIn: (size) =>
      inTransaction(pool, async (client) => {
        await restoreTable(client, sizes)
        await client.query(`alter table ${LIVE_SCHEMA}.messages set schema ${SWAPPED_OUT_SCHEMA}`)
        await client.query(`alter table ${schemaOf(size)}.messages set schema ${LIVE_SCHEMA}`)
      }),
    check: async () => {
      for (const size of sizes) {
        const rows = await countOf(pool, size)
        assertMeasurement(rows === size, `the table of ${size} rows has ${rows}`)
      }
    },
  }
}

function schemaOf(size: number): string {
  return `grown_${size}`
}

async function countOf(pool: Pool, size: number): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    `select count(*) from ${schemaOf(size)}.messages`,
  )
  return Number(rows[0]?.count)
}

async function createTable(client: PoolClient, size: number): Promise<void> {
  const isThere = await exists(client, schemaOf(size))
  if (isThere) return
  await client.query(`create schema if not exists ${schemaOf(size)}`)
  await createTables(client, messagesReadModel, schemaOf(size))
}

async function exists(client: PoolClient, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ found: string | null }>("select to_regclass($1) as found", [
    `${schema}.messages`,
  ])
  return (rows[0]?.found ?? null) !== null
}

/** Restores the live table after a run that was killed. */
async function restoreTable(client: PoolClient, sizes: readonly number[]): Promise<void> {
  if (!(await exists(client, SWAPPED_OUT_SCHEMA))) return
  const { rows } = await client.query<{ schema: string }>(
    `select nspname as schema from pg_namespace
     where nspname like 'grown\\_%' and nspname <> $1
       and to_regclass(nspname || '.messages') is null`,
    [SWAPPED_OUT_SCHEMA],
  )
  const lent = rows[0]?.schema
  assertMeasurement(
    lent !== undefined,
    `none of ${sizes.length} tables is lent, and the live one is aside`,
  )
  await client.query(`alter table ${LIVE_SCHEMA}.messages set schema ${lent}`)
  await client.query(`alter table ${SWAPPED_OUT_SCHEMA}.messages set schema ${LIVE_SCHEMA}`)
}

interface RowRange {
  readonly size: number
  /** The range of rows, `upTo` excluded, counted from 0. */
  readonly from: number
  readonly upTo: number
  readonly companies: readonly string[]
}

/** Inserts rows. The first ones belong to the calling companies in turn, the rest to others. */
async function insertRows(pool: Pool, { size, from, upTo, companies }: RowRange): Promise<void> {
  const own = Math.min(size * OWN_PART, companies.length * MAX_OWN_ROWS)
  await pool.query(
    `insert into ${schemaOf(size)}.messages
     select case when i < $1 then ($2::text[])[1 + i % cardinality($2::text[])]
         else 'co_other' || (i / ${ROWS_OF_OTHERS}) end,
       'msg_' || lpad(i::text, 22, '0'), 'num_1', 'out', '+14155550100',
       '+1415' || (2000000 + i % 8000000), repeat('t', 80), 0, 'sent', null, 'key_1', 'chg_1',
       timestamptz '2026-01-01' + i * interval '1 second'
     from generate_series($3::bigint, $4::bigint - 1) as i`,
    [own, companies, from, upTo],
  )
}
