/** Writes the rows of a whole batch in one statement, with one array per column (`unnest`). */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import { sql } from "kysely"
import { formatInstant } from "../../domain/kernel/instant.ts"

/** The PostgreSQL type of a column that can be an array element. */
type ColumnType = "text" | "bigint" | "integer" | "boolean" | "timestamptz"

export type ColumnTypes<Row> = { readonly [K in keyof Row]-?: ColumnType }

/** Builds a row set with this alias that a statement can select from. */
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

/** Builds a list of column names. */
export function columnList(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.id(name)))
}

/** Builds an array of values. */
export function sqlArray(type: ColumnType, values: readonly unknown[]): RawBuilder<unknown> {
  return sql`${arrayText(values)}::${sql.raw(type)}[]`
}

/**
 * PostgreSQL's text of an array. The driver's own conversion takes several times as long, because it checks the
 * type of each element and formats instants in the machine's time zone.
 */
function arrayText(values: readonly unknown[]): string {
  return `{${values.map(elementText).join(",")}}`
}

function elementText(value: unknown): string {
  if (value === null) return "NULL"
  if (typeof value === "number") return String(value)
  if (typeof value === "boolean") return value ? "t" : "f"
  if (value instanceof Date) return formatInstant(value.getTime())
  if (typeof value !== "string")
    throw new TypeError(`a column cannot have a value of type ${typeof value}`)
  // Fast path: most texts need no escaping.
  if (!value.includes('"') && !value.includes("\\")) return `"${value}"`
  return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/**
 * Inserts rows; `onConflict` says what happens to existing ones.
 *
 * Each key may occur once, because PostgreSQL cannot change a row twice in one statement.
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
