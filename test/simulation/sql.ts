/** A database whose statements a function answers: it records what read models write. */
import type { CompiledQuery, DatabaseConnection, Driver } from "kysely"
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from "kysely"
import pg from "pg"

/** Answers a statement with rows. */
export type StatementHandler = (query: CompiledQuery) => Promise<readonly object[]>

/** A Kysely whose statements a function answers; it ignores transactions. */
// Callers name the tables, as with a real database.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function kyselyWith(answer: StatementHandler): Kysely<any> {
  const connection: DatabaseConnection = {
    executeQuery: async <R>(query: CompiledQuery) => ({ rows: (await answer(query)) as R[] }),
    streamQuery: () => {
      throw new Error("nothing here is streamed")
    },
  }
  const nothing = async (): Promise<void> => undefined
  const driver: Driver = {
    init: nothing,
    acquireConnection: async () => connection,
    beginTransaction: nothing,
    commitTransaction: nothing,
    rollbackTransaction: nothing,
    releaseConnection: nothing,
    destroy: nothing,
  }
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

/** A statement in one line. */
export function statementLineOf({ sql }: CompiledQuery): string {
  return sql.replaceAll(/\s+/g, " ").trim()
}

const TEXT_ARRAY = 1009
const parseArray = pg.types.getTypeParser(
  TEXT_ARRAY as Parameters<typeof pg.types.getTypeParser>[0],
)

/** The elements of a parameter that is a PostgreSQL array literal. */
export function arrayElementsOf(parameter: unknown): readonly (string | null)[] {
  return parseArray(String(parameter)) as readonly (string | null)[]
}

/** Whether a statement selects charges of the company that is its first parameter. */
export const isChargesQuery = (query: CompiledQuery): boolean =>
  /^select .+ from "charges" where "company_id" = \$1/.test(statementLineOf(query))
