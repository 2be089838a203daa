/** Migrates a database to the tables that this version needs. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { Migration } from "kysely/migration"
import { Migrator } from "kysely/migration"
import type { Migrations } from "./installation/port.ts"
import { kyselyOf, openPool } from "./database.ts"
import { firstMigration } from "./first-migration.ts"

/** The program's own migrations, in the order of their names. */
export const MIGRATIONS: Migrations = { "0001-first-form": firstMigration }

/** The first migration of prereleases, whose installations and backups are not supported. */
export const PRERELEASE_MIGRATION = "0001-role-and-schemas"

/** The database was created by a prerelease. */
export class OlderDatabase extends Error {
  override readonly name = "OlderDatabase"
}

/** The database was created by a newer version of this program. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase"
}

/** The database cannot store every text. */
export class WrongEncoding extends Error {
  override readonly name = "WrongEncoding"
}

/** Without UTF-8, one unsupported character would stop a read model for every company. @throws WrongEncoding */
async function requireUtf8(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db)
  const encoding = rows[0]?.server_encoding
  if (encoding === "UTF8") return
  throw new WrongEncoding(
    `The database in DATABASE_URL uses the encoding ${encoding}, which cannot store every text. Use one created with ` +
      "\"create database … encoding 'UTF8' template template0\".",
  )
}

/**
 * Migrates the database at `url` to the latest version in one transaction.
 *
 * @param sliceMigrations the migrations of slices, whose names begin with the slice's name
 * @throws OlderDatabase or NewerDatabase for a database that this version does not support;
 * WrongEncoding; the signal's reason
 */
export async function migrateToLatest(
  url: string,
  sliceMigrations: Migrations = {},
  signal?: AbortSignal,
): Promise<void> {
  const pool = openPool(url, 2, () => undefined)
  const db = kyselyOf<unknown>(pool)
  try {
    await requireUtf8(db)
    const migrator = new Migrator({
      db,
      provider: {
        getMigrations: async () =>
          abortableMigrations({ ...MIGRATIONS, ...sliceMigrations }, signal),
      },
      // A later migration of the program runs after those of slices, though its name sorts before.
      allowUnorderedMigrations: true,
      migrationTableSchema: "ledger",
    })
    const migrations = await migrator.getMigrations()
    const isDone = migrations.every((migration) => migration.executedAt !== undefined)
    // The migrator also detects unknown executed migrations, so it runs even if nothing is pending.
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw translateMigrationError(error)
    if (isDone) return
    // Without statistics the planner chooses wrong indexes on new tables; later starts do not analyze.
    await pool.query("analyze")
  } finally {
    await db.destroy()
  }
}

/** Whether the database at `url` contains an installation. @throws the driver's errors */
export async function hasInstallation(url: string): Promise<boolean> {
  const pool = openPool(url, 1, () => undefined)
  try {
    const { rows } = await pool.query<{ there: boolean }>(
      "select to_regclass('ledger.installation') is not null as there",
    )
    return rows[0]?.there === true
  } finally {
    await pool.end()
  }
}

/** Makes migrations stop when the signal aborts; all run in one transaction. */
function abortableMigrations(
  migrations: Migrations,
  signal: AbortSignal | undefined,
): Record<string, Migration> {
  const guarded = (migration: Migration): Migration => ({
    up: async (db) => {
      signal?.throwIfAborted()
      await migration.up(db)
    },
  })
  return Object.fromEntries(
    Object.entries(migrations).map(([name, migration]) => [name, guarded(migration)]),
  )
}

function translateMigrationError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (!/corrupted migrations|previously executed migration .* is missing/i.test(message)) {
    return error
  }
  if (message.includes(PRERELEASE_MIGRATION)) {
    return new OlderDatabase(
      "This database was created before the first release of company-ledger and cannot be read. Start with an " +
        "empty data folder or database, or use the version that created it.",
      { cause: error },
    )
  }
  return new NewerDatabase(
    "This database was created by a newer version of company-ledger. Start that version, or " +
      "restore a backup that this version created.",
    { cause: error },
  )
}
