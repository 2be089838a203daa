import { Kysely, PostgresAdapter, PostgresDialect, PostgresIntrospector } from "kysely"
import { PostgresQueryCompiler } from "kysely"
import type { PostgresCursor, PostgresPool, PostgresQueryResult } from "kysely"
import type { PoolClient } from "pg"

/** So many statements at most are kept prepared on a connection: as many as read models have, several times over. */
const MOST_NAMED = 200
const names = new Map<string, string>()

/** What a statement is called, so that PostgreSQL parses and plans it once; undefined where there are too many. */
function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= MOST_NAMED) return known
  const name = `kept-${names.size}`
  names.set(text, name)
  return name
}

/**
 * Typed queries on one connection that is already in a transaction; it never ends or leaves it.
 *
 * PostgreSQL's text has no U+0000, facts and what people write may: it is written as U+FFFD, so that
 * no text somebody sends can stop a read model.
 *
 * @param again whether its statements come again and again, so that they are worth being prepared
 */
export function kyselyOn(client: PoolClient, again: "" | "again" = ""): Kysely<unknown> {
  // The dialect asks for a pool: this one always gives the same connection and keeps it on release.
  const pool = borrowed(client, again === "again")
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PostgresDialect({ pool }).createDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

function borrowed(client: PoolClient, isNamed: boolean): PostgresPool {
  function query<R>(text: string, given: readonly unknown[]): Promise<PostgresQueryResult<R>>
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  function query(text: string | object, given: readonly unknown[] = []): unknown {
    if (typeof text !== "string") throw new TypeError("a lent connection has no cursors")
    const [values, name] = [given.map(columnValue), isNamed ? nameOf(text) : undefined]
    return name === undefined ? client.query(text, values) : client.query({ name, text, values })
  }
  const connection = { query, release: () => undefined }
  return { connect: async () => connection, end: async () => undefined, options: {} }
}

function columnValue(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD")
  return Array.isArray(value) ? value.map(columnValue) : value
}
