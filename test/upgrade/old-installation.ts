/**
 * An installation as the version before the frame was rebuilt left it when it was killed, in
 * `test/data/upgrade/`: each table as the text of COPY, and what is known of it in `known.json`. The read
 * models are not in it: as after a restore they are made anew.
 */
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Migrator } from "kysely/migration"
import pg from "pg"
import { kyselyOf, openPool } from "../../adapters/postgres/database.ts"
import { MIGRATIONS } from "../../adapters/postgres/migrate.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Company } from "../support/world.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"

const FOLDER = join(import.meta.dirname, "..", "data", "upgrade")

/** The last migration that the installation had seen. */
const ITS_LAST_MIGRATION = "0012-no-temporary-tables"

/** A text message as its caller was answered. */
export interface AnsweredText {
  readonly id: string
  readonly to: string
  readonly body: string
}

/** What is known of it. Ids of text messages are of those that wait for something. */
export interface Known {
  readonly erased: string
  readonly company: Company
  readonly buyer: Company
  /** Sent with the `Idempotency-Key` `kept-answer`, and delivered. */
  readonly delivered: AnsweredText
  /** The carrier never said what became of it, until an operator was asked. */
  readonly parked: string
  /** The carrier has not said yet what became of it. */
  readonly silent: string
  /** The carrier could not be reached, and is tried again. */
  readonly retried: string
  /** Bought with the `Idempotency-Key` `buy-20`. */
  readonly purchase: { readonly purchaseId: PurchaseId; readonly amount: number }
  /** Sent with the `Idempotency-Key` `queued-answer`, and not handed to the carrier yet. */
  readonly queued: AnsweredText
  /** Bodies of requests that had begun: by a process that was killed, and left in doubt. */
  readonly running: { readonly to: string; readonly body: string }
  readonly doubt: { readonly to: string; readonly body: string }
  /** The company's funds, micros. */
  readonly funds: number
  /** The ledger's time when it ended. */
  readonly now: string
}

/** What is known of the installation. */
export const KNOWN = JSON.parse(readFileSync(join(FOLDER, "known.json"), "utf8")) as Known

/** Ids as they derived from these parts, in that version. */
export const DERIVED_IDS = JSON.parse(
  readFileSync(join(FOLDER, "derived-ids.json"), "utf8"),
) as readonly {
  readonly prefix: string
  readonly parts: readonly string[]
  readonly id: string
}[]

/** Makes a database of its own that holds the installation. */
export async function oldInstallation(): Promise<Awaited<ReturnType<typeof testDatabase>>> {
  const database = await testDatabase({ migrated: false })
  await migrate(database.url)
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    // As COPY does, whatever refers to what.
    await client.query("set session_replication_role = replica")
    for (const file of readdirSync(FOLDER)) {
      const [schema, table, kind] = file.split(".")
      if (kind === "copy" && !table?.startsWith("kysely_"))
        await fill(client, `${schema}.${table}`, file)
    }
    const sequences = JSON.parse(readFileSync(join(FOLDER, "sequences.json"), "utf8")) as {
      readonly schemaname: string
      readonly sequencename: string
      readonly last_value: number | null
    }[]
    for (const { schemaname, sequencename, last_value: last } of sequences) {
      if (last !== null)
        await client.query("select setval($1, $2)", [`${schemaname}.${sequencename}`, last])
    }
    await client.query("delete from ledger.projections where name <> 'work'")
  } finally {
    await client.end()
  }
  return database
}

/** What the program that left the installation says of its database, as it looked at a start. */
export async function faultOfFormerProgram(url: string): Promise<unknown> {
  const db = kyselyOf<unknown>(openPool(url, 2, () => undefined))
  const known = Object.entries(MIGRATIONS).filter(([name]) => name <= ITS_LAST_MIGRATION)
  const provider = { getMigrations: async () => Object.fromEntries(known) }
  const migrator = new Migrator({ db, provider, migrationTableSchema: "ledger" })
  const { error } = await migrator.migrateToLatest()
  await db.destroy()
  return error
}

async function migrate(url: string): Promise<void> {
  const db = kyselyOf<unknown>(openPool(url, 2, () => undefined))
  const provider = { getMigrations: async () => ({ ...MIGRATIONS }) }
  const migrator = new Migrator({ db, provider, migrationTableSchema: "ledger" })
  const { error } = await migrator.migrateTo(ITS_LAST_MIGRATION)
  await db.destroy()
  if (error !== undefined) throw error
}

/** Fills a table from the text of COPY: a line a row, tabs between fields, `\N` for null. */
async function fill(client: pg.Client, table: string, file: string): Promise<void> {
  await client.query(`delete from ${table}`)
  const lines = readFileSync(join(FOLDER, file), "utf8").split("\n").slice(0, -1)
  for (const line of lines) {
    const values = line.split("\t").map((field) => (field === "\\N" ? null : unescaped(field)))
    const places = values.map((_, index) => `$${index + 1}`)
    await client.query(
      `insert into ${table} overriding system value values (${places.join(", ")})`,
      values,
    )
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
}

function unescaped(field: string): string {
  return field.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter)
}
