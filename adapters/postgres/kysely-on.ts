import { Kysely, PostgresAdapter, PostgresDialect, PostgresIntrospector } from "kysely"
import { PostgresQueryCompiler } from "kysely"
import type { PoolClient } from "pg"

/** Typed queries on one connection that is already in a transaction; it never ends or leaves it. */
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
    query: client.query.bind(client),
    release: () => undefined,
  }
  return { connect: async () => connection, end: async () => undefined }
}
