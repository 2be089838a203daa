/**
 * Defines a table of a read model. From its columns derive the `create` statement, the row type, the conversion of
 * events to rows, and the batch writers.
 */
import type { QueryExecutorProvider, RawBuilder } from "kysely"
import { sql } from "kysely"
import type { ColumnTypes } from "./columns.ts"
import { insertRows, columnList, unnestRows } from "./columns.ts"

declare const isValue: unique symbol

/** A column whose values have type `T`. */
export interface ColumnDefinition<T> {
  readonly type: string
  readonly [isValue]?: T
}

const column = <T>(type: string): ColumnDefinition<T> => ({ type: `${type} not null` })

/** Defines a text column. */
export const textColumn = <T extends string = string>(): ColumnDefinition<T> => column("text")
/** Defines a column of integers within 2^53, such as counts, revisions or micro-dollars. */
export const bigintColumn = <T extends number = number>(): ColumnDefinition<T> => column("bigint")
/** Defines a column of small integers. */
export const integerColumn = (): ColumnDefinition<number> => column("integer")
/** Defines a boolean column. */
export const booleanColumn = (): ColumnDefinition<boolean> => column("boolean")
/** Defines a column of instants. */
export const instantColumn = (): ColumnDefinition<Date> => column("timestamptz")
/** Defines a JSON column. */
export const jsonColumn = <T>(): ColumnDefinition<T> => column("jsonb")
/** Defines a column of text arrays. */
export const textArrayColumn = <T extends string = string>(): ColumnDefinition<readonly T[]> =>
  column("text[]")
/** Defines a column of integer arrays; the driver returns the elements as text. */
export const bigintArrayColumn = (): ColumnDefinition<readonly string[]> => column("bigint[]")

/** Makes a column nullable. */
export function nullableColumn<T>({ type }: ColumnDefinition<T>): ColumnDefinition<T | null> {
  return { type: type.replace(/ not null$/, "") }
}

/** Gives a column a default value for rows that omit it. */
export function columnWithDefault<T>(
  { type }: ColumnDefinition<T>,
  value: string,
): ColumnDefinition<T> {
  return { type: `${type} default ${value}` }
}

interface ListIndex {
  readonly columns: string
}

/**
 * Defines an index that is created after a rebuild, which is much faster than updating it for each row. It must not
 * be one that `apply` uses to find rows.
 *
 * @param columns as in `create index on …`, after the table's name
 */
export const listIndex = (columns: string): ListIndex => ({ columns })

type ColumnDefinitions = Readonly<Record<string, ColumnDefinition<unknown>>>

type RowOfColumns<C> = {
  readonly [N in keyof C]: C[N] extends ColumnDefinition<infer T> ? T : never
}

/** The event field of a column: `charge_id` is `chargeId`. */
type FieldOf<N> = N extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<FieldOf<Rest>>}`
  : N

/** The event's value of a column: an instant is UTC milliseconds. */
type FactValue<T> = T extends Date ? number : T

/** A row as event fields; omitted fields are null. */
export type RowFields<Row> = {
  readonly [N in keyof Row as null extends Row[N] ? never : FieldOf<N>]: FactValue<Row[N]>
} & {
  readonly [N in keyof Row as null extends Row[N] ? FieldOf<N> : never]?:
    FactValue<Row[N]> | undefined
}

export interface Table<Name extends string, Row extends object, Key extends keyof Row> {
  readonly name: Name
  /** Creates the table and the indexes that `apply` uses. */
  readonly create: string
  readonly createIndexes: string
  /** The types of its columns as array elements. */
  readonly columns: ColumnTypes<Row>
  /** Builds a row from event fields. Fields without a column are ignored. */
  readonly rowOf: (fields: RowFields<Row>) => Row
  /** Inserts rows; `onConflict` says what happens to existing ones. */
  readonly insert: (
    tx: QueryExecutorProvider,
    rows: readonly Row[],
    onConflict?: RawBuilder<unknown>,
  ) => Promise<void>
  /** Inserts rows or replaces existing ones. */
  readonly upsert: (tx: QueryExecutorProvider, rows: readonly Row[]) => Promise<void>
  /** Updates columns of rows, which are found by key. Each key may occur once. */
  readonly update: <C extends keyof Row & string>(
    tx: QueryExecutorProvider,
    changed: readonly C[],
    rows: readonly Pick<Row, Key | C>[],
  ) => Promise<void>
}

export type RowOf<T> = T extends Table<string, infer Row, never> ? Row : never

/** Rows by table name, for typed queries. */
export type RowsOf<T extends { readonly name: string }> = {
  [N in T["name"]]: RowOf<Extract<T, { readonly name: N }>>
}

/** The tables of all read models with their rows. Each read model adds its own by declaration merging. */
// Read models add to it.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ReadModelTables {}

interface TableStatements {
  readonly name: string
  readonly create: string
  readonly createIndexes: string
}

/** Combines the tables of a read model. */
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
 * Defines a table.
 *
 * @param key the columns of its primary key
 * @param indexes each as in `create index on …`, after the table's name; `unique (…)` for a unique one
 */
export function defineTable<
  const Name extends string,
  const C extends ColumnDefinitions,
  const Key extends keyof C & string,
>(
  name: Name,
  definitions: C,
  key: readonly Key[],
  ...indexes: readonly (string | ListIndex)[]
): Table<Name, RowOfColumns<C>, Key> {
  type Row = RowOfColumns<C>
  const all = Object.entries(definitions)
  const lines = all.map(([column_, { type }]) => `${column_} ${type}`)
  const body = [...lines, `primary key (${key.join(", ")})`].join(",\n  ")
  const immediate = indexes.filter((index) => typeof index === "string")
  const listIndexes = indexes.filter((index) => typeof index !== "string")
  const create = [`create table ${name} (\n  ${body}\n)`]
  // Array columns cannot be array elements; read models with such columns write them by themselves.
  const columns = Object.fromEntries(
    all.map(([column_, { type }]) => [column_, type.split(" ", 1)[0]]),
  ) as ColumnTypes<Row>
  const insert: Table<Name, Row, Key>["insert"] = (tx, rows, onConflict) =>
    insertRows(tx, name, columns, rows, onConflict)
  const others = Object.keys(definitions).filter((one) => !key.some((part) => part === one))
  return {
    name,
    create: [...create, ...immediate.map((rest) => createIndex(name, rest))].join(";\n"),
    createIndexes: listIndexes.map(({ columns: rest }) => createListIndex(name, rest)).join(";\n"),
    columns,
    rowOf: rowBuilderOf(definitions),
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

function assignments(names: readonly string[], from: string): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`${sql.id(name)} = ${sql.ref(`${from}.${name}`)}`))
}

function rowBuilderOf<C extends ColumnDefinitions>(
  definitions: C,
): (fields: RowFields<RowOfColumns<C>>) => RowOfColumns<C> {
  const fields = Object.entries(definitions).map(([column_, { type }]) => ({
    column: column_,
    field: column_.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    isInstant: type.startsWith("timestamptz"),
  }))
  return (eventFields) => {
    const row: Record<string, unknown> = {}
    for (const { column: column_, field, isInstant } of fields) {
      const value = (eventFields as Readonly<Record<string, unknown>>)[field] ?? null
      row[column_] = isInstant && value !== null ? new Date(value as number) : value
    }
    return row as RowOfColumns<C>
  }
}

/** The name makes an existing index recognizable. */
function createListIndex(table_: string, rest: string): string {
  const [columns = ""] = rest.split(" where ")
  const words = columns.match(/\w+/g) ?? []
  return `create index if not exists ${[table_, ...words].join("_")} on ${table_} ${rest}`
}

function createIndex(table_: string, rest: string): string {
  const columns = rest.replace(/^unique /, "")
  return `create ${columns === rest ? "" : "unique "}index on ${table_} ${columns}`
}
