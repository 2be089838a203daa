/** Writing the rows of a whole batch in one statement: a column is an array (`unnest`). */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import { sql } from "kysely"

/** The PostgreSQL type of a column that can be an element of an array. */
type ColumnType = "text" | "bigint" | "integer" | "boolean" | "timestamptz"

/** Every column of a row, with its type. */
export type Columns<Row> = { readonly [K in keyof Row]-?: ColumnType }

/** The rows as a set that a statement can select from: one column each, in the order given. */
export function unnested<Row extends object>(
  columns: Columns<Row>,
  rows: readonly Row[],
): RawBuilder<unknown> {
  const arrays = Object.entries<ColumnType>(columns).map(
    ([name, type]) => sql`${rows.map((row) => row[name as keyof Row])}::${sql.raw(type)}[]`,
  )
  return sql`unnest(${sql.join(arrays)})`
}

/**
 * Inserts rows; `onConflict` says what becomes of those that are there already.
 *
 * Of one key there may be one row: PostgreSQL changes none twice in a statement.
 */
export async function insertRows<Row extends object>(
  tx: QueryExecutorProvider,
  table: string,
  columns: Columns<Row>,
  rows: readonly Row[],
  onConflict: RawBuilder<unknown> = sql``,
): Promise<void> {
  if (rows.length === 0) return
  const names = sql.join(Object.keys(columns).map((name) => sql.id(name)))
  await sql`
    insert into ${sql.table(table)} (${names})
    select * from ${unnested(columns, rows)} ${onConflict}`.execute(tx)
}
