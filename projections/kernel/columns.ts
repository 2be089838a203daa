/** Writing the rows of a whole batch in one statement: a column is an array (`unnest`). */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import { sql } from "kysely"
import { formatInstant } from "../../domain/kernel/instant.ts"

/** The PostgreSQL type of a column that can be an element of an array. */
type ColumnType = "text" | "bigint" | "integer" | "boolean" | "timestamptz"

/** Every column of a row, with its type. */
export type ColumnTypes<Row> = { readonly [K in keyof Row]-?: ColumnType }

/** The rows as a set of this name that a statement can select from: one column each. */
export function unnestRows<Row extends object>(
  columns: ColumnTypes<Row>,
  rows: readonly Row[],
  alias: string,
): RawBuilder<unknown> {
  const arrays = Object.entries<ColumnType>(columns).map(([name, type]) =>
    sqlArray(
      type,
      rows.map((row) => row[name as keyof Row]),
    ),
  )
  return sql`unnest(${sql.join(arrays)}) as ${sql.id(alias)} (${columnList(Object.keys(columns))})`
}

/** The names of columns, as a statement lists them. */
export function columnList(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.id(name)))
}

/** Values as one array. */
export function sqlArray(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  return sql`${arrayText(values)}::${sql.raw(type)}[]`
}

/**
 * PostgreSQL's text of an array. The driver would write it as well, in several times the time: it
 * asks of each element anew what it is, and reads every instant in the machine's own time zone.
 */
function arrayText(values: readonly unknown[]): string {
  return `{${values.map(elementText).join(",")}}`
}

function elementText(value: unknown): string {
  if (value === null) return "NULL"
  if (typeof value === "number") return String(value)
  if (typeof value === "boolean") return value ? "t" : "f"
  if (value instanceof Date) return formatInstant(value.getTime())
  if (typeof value !== "string") throw new TypeError(`no column has a value of ${typeof value}`)
  // Nearly every text is written as it is: to look for the two is far quicker than to replace nothing.
  if (!value.includes('"') && !value.includes("\\")) return `"${value}"`
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/**
 * Inserts rows; `onConflict` says what becomes of those that are there already.
 *
 * Of one key there may be one row: PostgreSQL changes none twice in a statement.
 */
export async function insertRows<Row extends object>(
  tx: QueryExecutorProvider,
  table: string,
  columns: ColumnTypes<Row>,
  rows: readonly Row[],
  onConflict: RawBuilder<unknown> = sql``,
): Promise<void> {
  if (rows.length === 0) return
  await sql`
    insert into ${sql.table(table)} (${columnList(Object.keys(columns))})
    select * from ${unnestRows(columns, rows, "given")} ${onConflict}`.execute(tx)
}
