/** Brings a database to the form this version needs, one migration after the other. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { Migration } from "kysely/migration"
import { Migrator } from "kysely/migration"
import type { Migrations } from "../installation/port.ts"
import { kyselyOf, openPool } from "./database.ts"
import { roleAndSchemas } from "./migrations/0001-role-and-schemas.ts"
import { eventStore } from "./migrations/0002-event-store.ts"
import { ledgerTables } from "./migrations/0003-ledger-tables.ts"
import { mails } from "./migrations/0004-mails.ts"
import { severalProcesses } from "./migrations/0005-several-processes.ts"
import { movingHouse } from "./migrations/0006-moving-house.ts"
import { cards } from "./migrations/0007-cards.ts"
import { presenceAndConnectCodes } from "./migrations/0008-presence-and-connect-codes.ts"
import { erasedKeys } from "./migrations/0009-erased-keys.ts"
import { storeGenerations } from "./migrations/0010-store-generations.ts"
import { treeHeads } from "./migrations/0011-tree-heads.ts"
import { noTemporaryTables } from "./migrations/0012-no-temporary-tables.ts"
import { simulated } from "./migrations/0013-simulated.ts"
import { blobs } from "./migrations/0014-blobs.ts"
import { handedOver } from "./migrations/0015-handed-over.ts"
import { machines } from "./migrations/0016-machines.ts"
import { parkedWork } from "./migrations/0017-parked-work.ts"
import { kept } from "./migrations/0018-kept.ts"
import { journal } from "./migrations/0019-journal.ts"
import { tracedWork } from "./migrations/0020-traced-work.ts"
import { roomForWork } from "./migrations/0021-room-for-work.ts"
import { lateWork } from "./migrations/0022-late-work.ts"
import { corruptStreams } from "./migrations/0023-corrupt-streams.ts"
import { lastEvents } from "./migrations/0024-last-events.ts"

/** Every migration of the program itself, in the order of their names. */
export const MIGRATIONS: Migrations = {
  "0001-role-and-schemas": roleAndSchemas,
  "0002-event-store": eventStore,
  "0003-ledger-tables": ledgerTables,
  "0004-mails": mails,
  "0005-several-processes": severalProcesses,
  "0006-moving-house": movingHouse,
  "0007-cards": cards,
  "0008-presence-and-connect-codes": presenceAndConnectCodes,
  "0009-erased-keys": erasedKeys,
  "0010-store-generations": storeGenerations,
  "0011-tree-heads": treeHeads,
  "0012-no-temporary-tables": noTemporaryTables,
  "0013-simulated": simulated,
  "0014-blobs": blobs,
  "0015-handed-over": handedOver,
  "0016-machines": machines,
  "0017-parked-work": parkedWork,
  "0018-kept": kept,
  "0019-journal": journal,
  "0020-traced-work": tracedWork,
  "0021-room-for-work": roomForWork,
  "0022-late-work": lateWork,
  "0023-corrupt-streams": corruptStreams,
  "0024-last-events": lastEvents,
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
async function refuseOtherEncodings(db: Kysely<unknown>): Promise<void> {
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
 * @throws NewerDatabase when it already has a form this version does not know; WrongEncoding; the signal's
 * reason
 */
export async function migrateToLatest(
  url: string,
  own: Migrations = {},
  signal?: AbortSignal,
): Promise<void> {
  const pool = openPool(url, 2, () => undefined)
  const db = kyselyOf<unknown>(pool)
  try {
    await refuseOtherEncodings(db)
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => unlessAborted({ ...MIGRATIONS, ...own }, signal) },
      // A later one of the program is done behind those of slices, though its name comes before.
      allowUnorderedMigrations: true,
      migrationTableSchema: "ledger",
    })
    const done = await migrator.getMigrations()
    const isDone = done.every((migration) => migration.executedAt !== undefined)
    // The migrator compares what was done before with what it knows, also where nothing is to do.
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw newerOr(error)
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
function unlessAborted(
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

function newerOr(error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (!/corrupted migrations|previously executed migration .* is missing/i.test(message)) {
    return error
  }
  return new NewerDatabase(
    "This database was made by a newer version of company-ledger: start it with that version, or " +
      "restore a backup that this version made.",
    { cause: error },
  )
}
