/** Brings a database to the form this version needs, one migration after the other. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { Migration } from "kysely/migration"
import { Migrator } from "kysely/migration"
import type { Migrations } from "./installation/port.ts"
import { kyselyOf, openPool } from "./database.ts"
import { firstMigration } from "./first-migration.ts"

/** Every migration of the program itself, in the order of their names. */
export const MIGRATIONS: Migrations = { "0001-first-form": firstMigration }

/** The first migration of before the first form; installations and backups that it made are not read any more. */
export const PRERELEASE_MIGRATION = "0001-role-and-schemas"

/** The database was made before the first form that is read. */
export class OlderDatabase extends Error {
  override readonly name = "OlderDatabase"
}

/** The database was made by a newer version of this program. */
export class NewerDatabase extends Error {
  override readonly name = "NewerDatabase"
}

/** The database cannot hold every text. */
export class WrongEncoding extends Error {
  override readonly name = "WrongEncoding"
}

/** One character that a database does not have would stop a read model for every company. @throws WrongEncoding */
async function requireUtf8(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db)
  const encoding = rows[0]?.server_encoding
  if (encoding === "UTF8") return
  throw new WrongEncoding(
    `The database of DATABASE_URL is in ${encoding}, which does not hold every text: name one that was made by ` +
      "\"create database … encoding 'UTF8' template template0\".",
  )
}

/**
 * Migrates the database at `url` to the newest form, or not at all.
 *
 * @param own the migrations of slices, whose names begin with theirs
 * @throws OlderDatabase or NewerDatabase when it has a form that this version does not read; WrongEncoding; the
 * signal's reason
 */
export async function migrateToLatest(
  url: string,
  own: Migrations = {},
  signal?: AbortSignal,
): Promise<void> {
  const pool = openPool(url, 2, () => undefined)
  const db = kyselyOf<unknown>(pool)
  try {
    await requireUtf8(db)
    const migrator = new Migrator({
      db,
      provider: {
        getMigrations: async () => abortableMigrations({ ...MIGRATIONS, ...own }, signal),
      },
      // A later one of the program is done behind those of slices, though its name comes before.
      allowUnorderedMigrations: true,
      migrationTableSchema: "ledger",
    })
    const done = await migrator.getMigrations()
    const isDone = done.every((migration) => migration.executedAt !== undefined)
    // The migrator compares what was done before with what it knows, also where nothing is to do.
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw translateMigrationError(error)
    if (isDone) return
    // Without statistics the planner takes the wrong index on fresh tables; no later start makes them.
    await pool.query("analyze")
  } finally {
    await db.destroy()
  }
}

/** Whether an installation was made in the database at `url`. @throws what the database throws */
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

/** The migrations, none of which begins once the signal is aborted: all of them are one transaction. */
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
      "This database was made before the first release of company-ledger, which does not read it: start with an " +
        "empty data folder (or database), or go on with the version that made it.",
      { cause: error },
    )
  }
  return new NewerDatabase(
    "This database was made by a newer version of company-ledger: start it with that version, or " +
      "restore a backup that this version made.",
    { cause: error },
  )
}
