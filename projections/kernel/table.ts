/**
 * A table of a read model, said once: from its columns come the statement that makes it, the type of its
 * rows, a row made of what a fact says, and the writers of a whole batch.
 */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import { sql } from "kysely"
import type { ColumnTypes } from "./columns.ts"
import { insertRows, columnList, unnestRows } from "./columns.ts"

declare const isValue: unique symbol

/** A column whose values are `T` in a row. */
export interface ColumnDefinition<T> {
  /** As PostgreSQL says it, `not null` included. */
  readonly type: string
  readonly [isValue]?: T
}

const column = <T>(type: string): ColumnDefinition<T> => ({ type: `${type} not null` })

/** A text. */
export const textColumn = <T extends string = string>(): ColumnDefinition<T> => column("text")
/** A whole number within 2^53: a count, a revision, micros. */
export const bigintColumn = <T extends number = number>(): ColumnDefinition<T> => column("bigint")
/** A small whole number. */
export const integerColumn = (): ColumnDefinition<number> => column("integer")
/** True or false. */
export const booleanColumn = (): ColumnDefinition<boolean> => column("boolean")
/** An instant. */
export const instantColumn = (): ColumnDefinition<Date> => column("timestamptz")
/** Whatever JSON can hold. */
export const jsonColumn = <T>(): ColumnDefinition<T> => column("jsonb")
/** Texts in an array. */
export const textArrayColumn = <T extends string = string>(): ColumnDefinition<readonly T[]> =>
  column("text[]")
/** Whole numbers in an array; the driver gives them as texts. */
export const bigintArrayColumn = (): ColumnDefinition<readonly string[]> => column("bigint[]")

/** The same or null. */
export function nullableColumn<T>({ type }: ColumnDefinition<T>): ColumnDefinition<T | null> {
  return { type: type.replace(/ not null$/, "") }
}

/** The same, of this value where a row does not say it. */
export function columnWithDefault<T>(
  { type }: ColumnDefinition<T>,
  value: string,
): ColumnDefinition<T> {
  return { type: `${type} default ${value}` }
}

/** An index that folding does not look at, but lists do. */
interface ListIndex {
  readonly columns: string
}

/**
 * The same index, made once all was folded where a table is built anew: to make it then takes far less
 * than to tell it of each row. Nothing that `apply` looks rows up by may be one.
 *
 * @param columns as `create index on …` goes on behind the table's name
 */
export const listIndex = (columns: string): ListIndex => ({ columns: columns })

type ColumnDefinitions = Readonly<Record<string, ColumnDefinition<unknown>>>

/** What a row of some columns is. */
type RowOfColumns<C> = {
  readonly [N in keyof C]: C[N] extends ColumnDefinition<infer T> ? T : never
}

/** A column's name as a fact says it: `charge_id` is `chargeId`. */
type FieldOf<N> = N extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<FieldOf<Rest>>}`
  : N

/** A column's value as a fact says it: an instant in UTC milliseconds. */
type FactValue<T> = T extends Date ? number : T

/** A row as facts say it; what it leaves out is null. */
export type RowFields<Row> = {
  readonly [N in keyof Row as null extends Row[N] ? never : FieldOf<N>]: FactValue<Row[N]>
} & {
  readonly [N in keyof Row as null extends Row[N] ? FieldOf<N> : never]?:
    FactValue<Row[N]> | undefined
}

/** A table of these columns. */
export interface Table<Name extends string, Row extends object, Key extends keyof Row> {
  readonly name: Name
  /** Makes it, with the indexes that folding looks at. */
  readonly create: string
  /** Makes those of its indexes that are missing. */
  readonly createIndexes: string
  /** What each of its columns is as an element of an array. */
  readonly columns: ColumnTypes<Row>
  /** A row of what a fact says. What is no column is left out. */
  readonly rowOf: (fields: RowFields<Row>) => Row
  /** Inserts rows; `onConflict` says what becomes of those that are there already. */
  readonly insert: (
    tx: QueryExecutorProvider,
    rows: readonly Row[],
    onConflict?: RawBuilder<unknown>,
  ) => Promise<void>
  /** Inserts rows; one that is there already becomes the given one. */
  readonly upsert: (tx: QueryExecutorProvider, rows: readonly Row[]) => Promise<void>
  /** Changes some columns of rows, found by their key. Of one key there may be one change. */
  readonly update: <C extends keyof Row & string>(
    tx: QueryExecutorProvider,
    changed: readonly C[],
    rows: readonly Pick<Row, Key | C>[],
  ) => Promise<void>
}

/** What a row of a table is. */
export type RowOf<T> = T extends Table<string, infer Row, never> ? Row : never

/** Rows by the names of tables, as queries are typed. */
export type RowsOf<T extends { readonly name: string }> = {
  [N in T["name"]]: RowOf<Extract<T, { readonly name: N }>>
}

/** The tables of all read models, with their rows. Each read model adds its own by declaration merging. */
// Read models add to it.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ReadModelTables {}

/** How a table is made. */
interface TableStatements {
  readonly name: string
  readonly create: string
  readonly createIndexes: string
}

/** What a read model says of its tables. */
export function tablesOf(
  ...tables: readonly TableStatements[]
): Omit<TableStatements, "name"> & { readonly tables: readonly string[] } {
  const listOf = (statements: readonly string[]) => statements.filter(Boolean).join(";\n")
  return {
    tables: tables.map(({ name }) => name),
    create: listOf(tables.map(({ create }) => create)),
    createIndexes: listOf(tables.map(({ createIndexes }) => createIndexes)),
  }
}

/**
 * Describes a table.
 *
 * @param key the columns of its primary key
 * @param indexes each as `create index on …` goes on behind the table's name; `unique (…)` where it is one
 */
export function defineTable<
  const Name extends string,
  const C extends ColumnDefinitions,
  const Key extends keyof C & string,
>(
  name: Name,
  described: C,
  key: readonly Key[],
  ...indexes: readonly (string | ListIndex)[]
): Table<Name, RowOfColumns<C>, Key> {
  type Row = RowOfColumns<C>
  const all = Object.entries(described)
  const lines = all.map(([column_, { type }]) => `${column_} ${type}`)
  const made = [...lines, `primary key (${key.join(", ")})`].join(",\n  ")
  const atOnce = indexes.filter((index) => typeof index === "string")
  const later = indexes.filter((index) => typeof index !== "string")
  const create = [`create table ${name} (\n  ${made}\n)`]
  // Those that no array can hold are written by read models of their own.
  const columns = Object.fromEntries(
    all.map(([column_, { type }]) => [column_, type.split(" ", 1)[0]]),
  ) as ColumnTypes<Row>
  const insert: Table<Name, Row, Key>["insert"] = (tx, rows, onConflict) =>
    insertRows(tx, name, columns, rows, onConflict)
  const others = Object.keys(described).filter((one) => !key.some((part) => part === one))
  return {
    name,
    create: [...create, ...atOnce.map((rest) => createIndex(name, rest))].join(";\n"),
    createIndexes: later.map(({ columns: rest }) => createListIndex(name, rest)).join(";\n"),
    columns,
    rowOf: rowBuilderOf(described),
    insert,
    upsert: (tx, rows) =>
      insert(
        tx,
        rows,
        sql`on conflict (${columnList(key)}) do update set ${assignments(others, "excluded")}`,
      ),
    update: async (tx, changed, rows) => {
      if (rows.length === 0) return
      const given = Object.fromEntries([...key, ...changed].map((one) => [one, columns[one]]))
      const isSame = key.map(
        (one) => sql`${sql.ref(`${name}.${one}`)} = ${sql.ref(`given.${one}`)}`,
      )
      await sql`
        update ${sql.table(name)} set ${assignments(changed, "given")}
        from ${unnestRows(given as ColumnTypes<(typeof rows)[number]>, rows, "given")}
        where ${sql.join(isSame, sql` and `)}`.execute(tx)
    },
  }
}

/** Each column with its value in a set of rows. */
function assignments(names: readonly string[], from: string): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`${sql.id(name)} = ${sql.ref(`${from}.${name}`)}`))
}

function rowBuilderOf<C extends ColumnDefinitions>(
  described: C,
): (fields: RowFields<RowOfColumns<C>>) => RowOfColumns<C> {
  const fields = Object.entries(described).map(([column_, { type }]) => ({
    column: column_,
    field: column_.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    isInstant: type.startsWith("timestamptz"),
  }))
  return (said) => {
    const row: Record<string, unknown> = {}
    for (const { column: column_, field, isInstant } of fields) {
      const value = (said as Readonly<Record<string, unknown>>)[field] ?? null
      row[column_] = isInstant && value !== null ? new Date(value as number) : value
    }
    return row as RowOfColumns<C>
  }
}

/** It has a name, so that one that is there already is known. */
function createListIndex(table_: string, rest: string): string {
  const [columns = ""] = rest.split(" where ")
  const words = columns.match(/\w+/g) ?? []
  return `create index if not exists ${[table_, ...words].join("_")} on ${table_} ${rest}`
}

function createIndex(table_: string, rest: string): string {
  const columns = rest.replace(/^unique /, "")
  return `create ${columns === rest ? "" : "unique "}index on ${table_} ${columns}`
}
