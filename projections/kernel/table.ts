/**
 * A table of a read model, said once: from its columns come the statement that makes it, the type of its
 * rows, and the writer of a whole batch.
 */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import type { Columns } from "./columns.ts"
import { insertRows } from "./columns.ts"

declare const isValue: unique symbol

/** A column whose values are `T` in a row. */
export interface Column<T> {
  /** As PostgreSQL says it, `not null` included. */
  readonly type: string
  readonly [isValue]?: T
}

const column = <T>(type: string): Column<T> => ({ type: `${type} not null` })

/** A text. */
export const text = <T extends string = string>(): Column<T> => column("text")
/** A whole number within 2^53: a count, a revision, micros. */
export const bigint = <T extends number = number>(): Column<T> => column("bigint")
/** A small whole number. */
export const integer = (): Column<number> => column("integer")
/** True or false. */
export const flag = (): Column<boolean> => column("boolean")
/** An instant. */
export const instant = (): Column<Date> => column("timestamptz")
/** Whatever JSON can hold. */
export const json = <T>(): Column<T> => column("jsonb")
/** Texts in an array. */
export const texts = <T extends string = string>(): Column<readonly T[]> => column("text[]")
/** Whole numbers in an array; the driver gives them as texts. */
export const bigints = (): Column<readonly string[]> => column("bigint[]")

/** The same or null. */
export function orNull<T>({ type }: Column<T>): Column<T | null> {
  return { type: type.replace(/ not null$/, "") }
}

/** The same, of this value where a row does not say it. */
export function orElse<T>({ type }: Column<T>, value: string): Column<T> {
  return { type: `${type} default ${value}` }
}

type Described = Readonly<Record<string, Column<unknown>>>

/** What a row of some columns is. */
type RowIn<C> = { readonly [N in keyof C]: C[N] extends Column<infer T> ? T : never }

/** A table of these columns. */
export interface Table<Row> {
  readonly name: string
  /** Makes it, with its indexes. */
  readonly create: string
  /** Inserts rows; `onConflict` says what becomes of those that are there already. */
  readonly insert: (
    tx: QueryExecutorProvider,
    rows: readonly Row[],
    onConflict?: RawBuilder<unknown>,
  ) => Promise<void>
}

/** What a row of a table is. */
export type RowOf<T> = T extends Table<infer Row> ? Row : never

/**
 * Describes a table.
 *
 * @param key the columns of its primary key
 * @param indexes each as `create index on …` goes on behind the table's name; `unique (…)` where it is one
 */
export function table<const C extends Described>(
  name: string,
  columns: C,
  key: readonly (keyof C & string)[],
  ...indexes: readonly string[]
): Table<RowIn<C>> {
  const lines = Object.entries(columns).map(([column_, { type }]) => `${column_} ${type}`)
  const made = [...lines, `primary key (${key.join(", ")})`].join(",\n  ")
  const create = [`create table ${name} (\n  ${made}\n)`]
  const types = Object.entries(columns).map(([column_, { type }]) => [
    column_,
    type.split(" ", 1)[0],
  ])
  // Those that no array can hold are written by read models of their own.
  const elements = Object.fromEntries(types) as Columns<RowIn<C>>
  return {
    name,
    create: [...create, ...indexes.map((rest) => indexOf(name, rest))].join(";\n"),
    insert: (tx, rows, onConflict) => insertRows(tx, name, elements, rows, onConflict),
  }
}

function indexOf(table_: string, rest: string): string {
  const columns = rest.replace(/^unique /, "")
  return `create ${columns === rest ? "" : "unique "}index on ${table_} ${columns}`
}
