import { Kysely, PostgresAdapter, PostgresDialect, PostgresIntrospector } from "kysely"
import { PostgresQueryCompiler } from "kysely"
import type { PoolClient } from "pg"

/**
 * Typed queries on one connection that is already in a transaction; it never ends or leaves it.
 *
 * PostgreSQL's text has no U+0000, facts and what people write may: it is written as U+FFFD, so that
 * no text somebody sends can stop a read model.
 */
export function kyselyOn(client: PoolClient): Kysely<unknown> {
  // The dialect asks for a pool: this one always gives the same connection and keeps it on release.
  const lent = { ...borrowed(client) }
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PostgresDialect({ pool: lent as never }).createDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

function borrowed(client: PoolClient) {
  const connection = {
    query: (text: string, values: readonly unknown[]) =>
      client.query(text, values.map(columnValue)),
    release: () => undefined,
  }
  return { connect: async () => connection, end: async () => undefined }
}

function columnValue(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\uFFFD")
  return Array.isArray(value) ? value.map(columnValue) : value
}
