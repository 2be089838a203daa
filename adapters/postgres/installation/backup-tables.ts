/** The tables of a backup in PostgreSQL. */
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

/** So many rows are held at once, where their table does not say otherwise. */
const FETCHED_ROWS = 200
/** What is handed over at once, unless a single row is larger; in characters. */
const BATCH_CHARACTERS = 256 * 1024

/**
 * Reads the tables of a backup.
 *
 * @param hints the projections that are never folded anew
 * @param own the tables of slices
 */
export function openBackupTableReader(
  pool: Pool,
  hints: readonly string[],
  own: readonly SliceTable[] = [],
): BackupTableReader {
  const tables = listBackupTables(own)
  return {
    migrationNames: async () => {
      const { rows } = await pool.query<{ name: string }>(
        "select name from ledger.kysely_migration order by name",
      )
      return rows.map(({ name }) => name)
    },
    generation: () => readGeneration(pool),
    read: (part) => readPart(pool, part, hints, tables),
  }
}

async function* readPart(
  pool: Pool,
  part: BackupPhase,
  hints: readonly string[],
  tables: readonly BackupTable[],
): AsyncGenerator<TableRowBatch> {
  const client = await pool.connect()
  let isDone = false
  try {
    await client.query("begin isolation level repeatable read read only")
    if (part === "before") yield* readRows(client, positionRows(hints))
    for (const rows of tables.flatMap((table) => table.rows)) {
      if (rows.phase === part) yield* readRows(client, rows)
    }
    await client.query("commit")
    isDone = true
  } finally {
    // Where it was not read to its end, the transaction ends with its connection.
    client.release(!isDone)
  }
}

/** The positions of the hints. */
function positionRows(hints: readonly string[]): BackupRows {
  const names = hints.map((hint) => `'${hint.replaceAll("'", "''")}'`).join(",")
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
    for (const some of splitIntoBatches(fetched.rows.map(({ row }) => row))) {
      yield { name, count: some.length, json: `[${some.join(",")}]` }
    }
  }
  await client.query("close rows")
}

function* splitIntoBatches(rows: readonly string[]): Generator<readonly string[]> {
  let some: string[] = []
  let characters = 0
  for (const row of rows) {
    if (some.length > 0 && characters + row.length > BATCH_CHARACTERS) {
      yield some
      some = []
      characters = 0
    }
    some.push(row)
    characters += row.length
  }
  yield some
}

/**
 * Writes the tables of a backup.
 *
 * @param hints the projections that are never folded anew
 * @param own the tables of slices
 */
export function openRestoreTarget(
  pool: Pool,
  hints: readonly string[],
  own: readonly SliceTable[] = [],
): RestoreTarget {
  const tables = listBackupTables(own)
  return {
    isEmpty: async () => {
      const looks = [...tables.map(({ table }) => table), POSITIONS_TABLE, "event_store"].map(
        (table) => `exists (select 1 from ledger.${table})`,
      )
      const { rows } = await pool.query<{ filled: boolean }>(
        `select ${looks.join(" or ")} as filled`,
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
        for await (const some of rows) await writeRows(client, tables, some)
        for (const { table, identityColumn } of tables) {
          if (identityColumn !== undefined) await advanceSequence(client, table, identityColumn)
        }
        // Whoever had work in hand is gone.
        await client.query("update ledger.jobs set process_id = null, leased_until = null")
        await writeStoreMigration(client, move, hints)
        await client.query("delete from ledger.unfinished_restore")
      }),
  }
}

/**
 * Writes rows into the columns that they name; one that is there stays.
 *
 * @throws RangeError where there are no such
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
  const foreign = columns.find((column) => !/^[a-z_]+$/.test(column))
  if (foreign !== undefined) throw new RangeError(`there is no column ${foreign} in ${table}`)
  const list = columns.map((column) => `"${column}"`).join(", ")
  await client.query(
    `insert into ledger.${table} (${list}) overriding system value
     select ${list} from json_populate_recordset(null::ledger.${table}, $1::json)
     on conflict do nothing`,
    [json],
  )
}

/** @throws RangeError where no table has such rows */
function tableOf(tables: readonly BackupTable[], name: string): string {
  if (name === POSITIONS_TABLE) return POSITIONS_TABLE
  const found = tables.find(({ rows }) => rows.some((one) => one.name === name))
  if (found === undefined) throw new RangeError(`there is no table for ${name}`)
  return found.table
}

/** Lets PostgreSQL count on behind what was written. */
async function advanceSequence(client: PoolClient, table: string, column: string): Promise<void> {
  await client.query(
    `select setval(pg_get_serial_sequence('ledger.${table}', '${column}'), max(${column}))
     from ledger.${table} having max(${column}) is not null`,
  )
}
