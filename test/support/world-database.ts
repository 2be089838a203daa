/** Databases as the program leaves them at its first start: with the tables of all slices. */
import { afterAll, inject } from "vitest"
import { openWriteBehindPool } from "../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { createMissingTables } from "../../adapters/postgres/projector/projector.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { TestDatabase } from "./test-database.ts"
import { makeDerivedTemplateOnce, testDatabase } from "./test-database.ts"

/** The migrations of the slices, and the tables of all read models, empty: nobody has started on it. */
const TEMPLATE = "ledger_world_template"

/** The servers that have the template, by the superuser's address. */
const furnished = new Map<string, Promise<void>>()

/**
 * Makes a database in the test run's PostgreSQL, or in another one, in which a start of the program
 * finds no table missing: making them takes longer than most tests. The start is a first one still.
 */
export async function worldDatabase(server?: string): Promise<TestDatabase> {
  const admin = server ?? inject("postgresUrl")
  const made = furnished.get(admin) ?? makeDerivedTemplateOnce(admin, TEMPLATE, furnish)
  furnished.set(admin, made)
  await made
  return testDatabase({ server, template: TEMPLATE })
}

/** Makes one for the calling test file and drops it after the file; answers its address. Call it at the top level. */
export async function ownDatabase(): Promise<string> {
  const { drop, url } = await worldDatabase()
  afterAll(drop)
  return url
}

async function furnish(url: string): Promise<void> {
  await migrateToLatest(url, PROGRAM.migrations)
  const pool = openWriteBehindPool(url, 1, () => undefined)
  try {
    await createMissingTables(pool, PROGRAM.readModels, PROGRAM.jobProjections)
  } finally {
    await pool.end()
  }
}
