/** Databases with the tables of all slices, as the program's first start creates them. */
import { afterAll, inject } from "vitest"
import { openWriteBehindPool } from "../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { createMissingTables } from "../../adapters/postgres/projector/projector.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { TestDatabase } from "./test-database.ts"
import { makeDerivedTemplateOnce, testDatabase } from "./test-database.ts"

/** A template with the slices' migrations and empty read models; no program has started on it. */
const TEMPLATE = "ledger_world_template"

/** The servers that have the template, by the superuser's connection string. */
const furnished = new Map<string, Promise<void>>()

/**
 * Makes a database with all tables, in the test run's PostgreSQL or in another one, because creating the tables takes
 * longer than most tests. The program's start on it still counts as the first.
 */
export async function worldDatabase(server?: string): Promise<TestDatabase> {
  const admin = server ?? inject("postgresUrl")
  const made = furnished.get(admin) ?? makeDerivedTemplateOnce(admin, TEMPLATE, furnish)
  furnished.set(admin, made)
  await made
  return testDatabase({ server, template: TEMPLATE })
}

/** Makes a database for the calling test file, and drops it after the file; returns its connection string. */
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
