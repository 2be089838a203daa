/** Databases of tests: copies of a migrated template. */
import { randomBytes } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { counters } from "./costs.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The superuser's address of the test run's PostgreSQL. */
    postgresUrl: string
  }
}

/** The database that `testDatabase` copies: migrated, empty, and closed to connections. */
const TEMPLATE = "ledger_template"

export interface TestDatabase {
  /** Its connection string as the superuser. */
  readonly url: string
  /** Ends its connections and drops it. */
  readonly drop: () => Promise<void>
}

/** Makes the template in a PostgreSQL, given the superuser's connection string. */
export async function makeTemplate(admin: string): Promise<void> {
  await executeSql(admin, `create database ${TEMPLATE} template template0`)
  await migrateToLatest(urlOfDatabase(admin, TEMPLATE))
  await close(admin, TEMPLATE)
}

/**
 * Makes another template from the first one, once, even if several test files request it concurrently.
 *
 * @param furnish fills the template, given its connection string
 */
export async function makeDerivedTemplateOnce(
  admin: string,
  name: string,
  furnish: (url: string) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  try {
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [name])
    const { rowCount } = await client.query(
      "select from pg_database where datname = $1 and datistemplate",
      [name],
    )
    if (rowCount !== 0) return
    await client.query(`drop database if exists ${name} with (force)`)
    await client.query(`create database ${name} template ${TEMPLATE}`)
    await furnish(urlOfDatabase(admin, name))
    await close(admin, name)
  } finally {
    await client.end()
  }
}

/** Closes a template to connections, because PostgreSQL copies it only without any. */
async function close(admin: string, name: string): Promise<void> {
  await executeSql(admin, `alter database ${name} with is_template true allow_connections false`)
}

/**
 * Makes a database in the test run's PostgreSQL, or in that of `server` (the superuser's connection string): a copy of
 * the migrated template or of the named one, or an empty one with `migrated: false`. All databases of a server share
 * its roles.
 */
export async function testDatabase(options?: {
  migrated?: boolean
  server?: string | undefined
  template?: string
}): Promise<TestDatabase> {
  const admin = options?.server ?? inject("postgresUrl")
  const name = `test_${randomBytes(8).toString("hex")}`
  const { migrated = true, template = migrated ? TEMPLATE : "template0" } = options ?? {}
  await executeSql(admin, `create database ${name} template ${template} strategy file_copy`)
  counters.databases += 1
  return {
    url: urlOfDatabase(admin, name),
    drop: () => executeSql(admin, `drop database if exists ${name} with (force)`),
  }
}

/** The connection string with another database. */
function urlOfDatabase(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

/** Runs statements over a new connection. */
export async function executeSql(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
