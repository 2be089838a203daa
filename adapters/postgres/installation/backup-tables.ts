/** Reads and writes the tables of a backup in PostgreSQL. */
import type { Pool, PoolClient } from "pg"
import { inTransaction } from "../projector/tables.ts"
import type { BackupRows, BackupTable } from "./postgres.ts"
import {
  readGeneration,
  writeStoreMigration,
  POSITIONS_TABLE,
  listBackupTables,
} from "./postgres.ts"
import type {
  BackupTableReader,
  SliceTable,
  RestoreTarget,
  BackupPhase,
  TableRowBatch,
} from "./port.ts"

/** Rows per fetch, unless their table sets another number. */
const FETCHED_ROWS = 200
/** Characters per batch, unless a single row is larger. */
const BATCH_CHARACTERS = 256 * 1024

/**
 * Opens a reader of a backup's tables.
 *
 * @param jobProjections the projections that are never rebuilt
 * @param sliceTables the tables of slices
 */
export function openBackupTableReader(
  pool: Pool,
  jobProjections: readonly string[],
  sliceTables: readonly SliceTable[] = [],
): BackupTableReader {
  const tables = listBackupTables(sliceTables)
  return {
    migrationNames: async () => {
      const { rows } = await pool.query<{ name: string }>(
        "select name from ledger.kysely_migration order by name",
      )
      return rows.map(({ name }) => name)
    },
    generation: () => readGeneration(pool),
    read: (phase) => readPart(pool, phase, jobProjections, tables),
  }
}

async function* readPart(
  pool: Pool,
  phase: BackupPhase,
  jobProjections: readonly string[],
  tables: readonly BackupTable[],
): AsyncGenerator<TableRowBatch> {
  const client = await pool.connect()
  let isDone = false
  try {
    await client.query("begin isolation level repeatable read read only")
    if (phase === "before") yield* readRows(client, positionRows(jobProjections))
    for (const rows of tables.flatMap((table) => table.rows)) {
      if (rows.phase === phase) yield* readRows(client, rows)
    }
    await client.query("commit")
    isDone = true
  } finally {
    // If it was not read to its end, closing the connection ends the transaction.
    client.release(!isDone)
  }
}

function positionRows(jobProjections: readonly string[]): BackupRows {
  const names = jobProjections.map((name) => `'${name.replaceAll("'", "''")}'`).join(",")
  const from = `(select * from ledger.${POSITIONS_TABLE} where name = any(array[${names}]))`
  return { name: POSITIONS_TABLE, phase: "before", from, orderBy: "name" }
}

async function* readRows(client: PoolClient, rows: BackupRows): AsyncGenerator<TableRowBatch> {
  const { name, from = `ledger.${name}`, orderBy, batchSize = FETCHED_ROWS } = rows
  await client.query(
    `declare rows no scroll cursor for
     select row_to_json(t)::text as row from ${from} t order by ${orderBy}`,
  )
  for (;;) {
    const fetched = await client.query<{ row: string }>(`fetch ${batchSize} from rows`)
    if (fetched.rows.length === 0) break
    for (const batch of splitIntoBatches(fetched.rows.map(({ row }) => row))) {
      yield { name, count: batch.length, json: `[${batch.join(",")}]` }
    }
  }
  await client.query("close rows")
}

function* splitIntoBatches(rows: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = []
  let characters = 0
  for (const row of rows) {
    if (batch.length > 0 && characters + row.length > BATCH_CHARACTERS) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(row)
    characters += row.length
  }
  yield batch
}

/**
 * Opens a writer of a backup's tables.
 *
 * @param jobProjections the projections that are never rebuilt
 * @param sliceTables the tables of slices
 */
export function openRestoreTarget(
  pool: Pool,
  jobProjections: readonly string[],
  sliceTables: readonly SliceTable[] = [],
): RestoreTarget {
  const tables = listBackupTables(sliceTables)
  return {
    isEmpty: async () => {
      const checks = [...tables.map(({ table }) => table), POSITIONS_TABLE, "event_store"].map(
        (table) => `exists (select 1 from ledger.${table})`,
      )
      const { rows } = await pool.query<{ filled: boolean }>(
        `select ${checks.join(" or ")} as filled`,
      )
      return rows[0]?.filled === false
    },
    beginRestore: async (backup) => {
      await pool.query(
        "insert into ledger.unfinished_restore (backup) values ($1) on conflict do nothing",
        [backup],
      )
    },
    finishRestore: (rows, move) =>
      inTransaction(pool, async (client) => {
        for await (const batch of rows) await writeRows(client, tables, batch)
        for (const { table, identityColumn } of tables) {
          if (identityColumn !== undefined) await advanceSequence(client, table, identityColumn)
        }
        // The processes that had claimed jobs no longer exist.
        await client.query("update ledger.jobs set process_id = null, leased_until = null")
        await writeStoreMigration(client, move, jobProjections)
        await client.query("delete from ledger.unfinished_restore")
      }),
  }
}

/**
 * Inserts rows into the columns they name; existing rows stay.
 *
 * @throws RangeError for an unknown table or column
 */
async function writeRows(
  client: PoolClient,
  tables: readonly BackupTable[],
  { name, json }: TableRowBatch,
): Promise<void> {
  const table = tableOf(tables, name)
  const [first] = JSON.parse(json) as readonly object[]
  if (first === undefined) return
  const columns = Object.keys(first)
  const unknownColumn = columns.find((column) => !/^[a-z_]+$/.test(column))
  if (unknownColumn !== undefined)
    throw new RangeError(`The backup has a column ${unknownColumn} that table ${table} lacks`)
  const list = columns.map((column) => `"${column}"`).join(", ")
  await client.query(
    `insert into ledger.${table} (${list}) overriding system value
     select ${list} from json_populate_recordset(null::ledger.${table}, $1::json)
     on conflict do nothing`,
    [json],
  )
}

/** @throws RangeError if no table has such rows */
function tableOf(tables: readonly BackupTable[], name: string): string {
  if (name === POSITIONS_TABLE) return POSITIONS_TABLE
  const found = tables.find(({ rows }) => rows.some((candidate) => candidate.name === name))
  if (found === undefined) throw new RangeError(`The backup has rows of an unknown table: ${name}`)
  return found.table
}

async function advanceSequence(client: PoolClient, table: string, column: string): Promise<void> {
  await client.query(
    `select setval(pg_get_serial_sequence('ledger.${table}', '${column}'), max(${column}))
     from ledger.${table} having max(${column}) is not null`,
  )
}
