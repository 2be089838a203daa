/** Installations of older versions are brought forward, those of newer ones are left alone. */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Migration, Migrator } from "kysely/migration"
import { afterEach, describe, expect, it } from "vitest"
import { kyselyOf, openPool } from "../../adapters/postgres/database.ts"
import { roleAndSchemas } from "../../adapters/postgres/migrations/0001-role-and-schemas.ts"
import { eventStore } from "../../adapters/postgres/migrations/0002-event-store.ts"
import { ledgerTables } from "../../adapters/postgres/migrations/0003-ledger-tables.ts"
import { query } from "../support/embedded.ts"
import { execute, testDatabase } from "../support/postgres.ts"
import { makePlace } from "../support/server-process.ts"
import { openWorld } from "../support/world.ts"
import { faultsOf } from "../moving/looking.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** What the oldest version made of a database. */
const OLDEST: Readonly<Record<string, Migration>> = {
  "0001-role-and-schemas": roleAndSchemas,
  "0002-event-store": eventStore,
  "0003-ledger-tables": ledgerTables,
}

/** An installation as it was stored, by table, and what is known of its company. */
type Stored = Readonly<Record<string, readonly object[]>> & {
  readonly "eventstore.events": readonly { readonly id: string }[]
  readonly company: { readonly companyId: CompanyId; readonly key: string }
}

const FIXTURE = join(import.meta.dirname, "oldest-installation.json")

/** A database as the oldest version left it: one company, a text and a charge. */
async function oldestDatabase(): Promise<{ readonly url: string; readonly stored: Stored }> {
  const database = await testDatabase({ migrated: false })
  closing.push(() => database.drop())
  const { url } = database
  const pool = openPool(url, 2, () => undefined)
  const db = kyselyOf<unknown>(pool)
  const provider = { getMigrations: async () => ({ ...OLDEST }) }
  await new Migrator({ db, provider, migrationTableSchema: "ledger" }).migrateToLatest()
  const stored = JSON.parse(await readFile(FIXTURE, "utf8")) as Stored
  for (const [table, rows] of Object.entries(stored)) {
    if (!Array.isArray(rows)) continue
    await pool.query(
      `insert into ${table} overriding system value
       select * from json_populate_recordset(null::${table}, $1::json)`,
      [JSON.stringify(rows)],
    )
  }
  await pool.query("select setval(pg_get_serial_sequence('ledger.work', 'work_id'), 100)")
  // A read model of an older version: its table is of another shape.
  await pool.query("create table read.companies (company_id text primary key, motto text)")
  await pool.query("update ledger.projections set version = 0 where name = 'companies'")
  await db.destroy()
  return { url, stored }
}

describe("an installation of the oldest version", () => {
  it("is brought forward with everything that it holds", async () => {
    const { url, stored } = await oldestDatabase()
    const { companyId, key } = stored.company
    const world = await openWorld("start", { url })
    closing.push(() => world.close())
    const names = await query<{ name: string }>(
      url,
      "select name from ledger.kysely_migration order by name",
    )
    expect(names.length).toBeGreaterThan(3)
    expect(await query(url, "select first_event::text from ledger.event_store")).toEqual([
      { first_event: stored["eventstore.events"][0]?.id },
    ])
    await world.operate("wait")
    const balanceMicros = 50_000_000 - 420_000 - 9_000
    const shown = await world.operate("company show", { company: companyId })
    expect(shown).toMatchObject({ companyId, balanceMicros })
    // What was sealed opens; what was answered is answered again, and charges nothing.
    const options = {
      body: { to: "+14155550101", body: "hello" },
      headers: { "idempotency-key": "one" },
    }
    const answer = await world.call(key, "POST", "/api/v1/phone/messages", options)
    expect(answer).toMatchObject({ status: 200, body: { to: "+14155550101" } })
    expect(await world.operate("company show", { company: companyId })).toMatchObject({
      balanceMicros,
    })
    const remembered = "select name, content, at from ledger.simulated"
    expect(await query(url, remembered)).toEqual([
      {
        name: "msg_0xAej5EGwW2YZgVnGnB0Pb",
        content: { status: "accepted", errorCode: null },
        at: new Date("2026-11-21T16:50:17.272Z"),
      },
    ])
    await world.operate("funds add", { company: companyId, dollars: "1" })
    expect(await faultsOf(world)).toEqual([])
    expect(world.warnings).toEqual([])
  })

  it("is not opened beside a server of EventStoreDB, where its events are not", async () => {
    const { url } = await oldestDatabase()
    const eventStoreUrl = "esdb://127.0.0.1:1?tls=false"
    await expect(openWorld("store", { url, eventStoreUrl })).rejects.toThrow(/store copy --to URL/)
    expect(await query(url, "select kind from ledger.event_store")).toEqual([{ kind: "postgres" }])
  })
})

describe("an installation of a newer version", () => {
  it("is refused by its database, with the fix, and left as it is", async () => {
    const { url } = await oldestDatabase()
    await execute(url, "insert into ledger.kysely_migration values ('9999-of-tomorrow', now())")
    const before = await query(url, "select * from ledger.kysely_migration order by name")
    await expect(openWorld("start", { url })).rejects.toThrow(
      /made by a newer version of company-ledger: start it with that version/,
    )
    expect(await query(url, "select * from ledger.kysely_migration order by name")).toEqual(before)
  })

  it("is refused by its data folder, with the fix, before anything of it is opened", async () => {
    const place = await makePlace()
    closing.push(() => place.clear())
    await mkdir(place.dataDir, { recursive: true })
    const identity = join(place.dataDir, "folder.json")
    const later = JSON.stringify({ form: 2, folderId: "abc" })
    await writeFile(identity, later)
    const ran = await place.attempt("company", "list", "--json")
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toEqual({
      error: "startup",
      message: expect.stringMatching(
        /was made by a newer version of company-ledger: start it with that version, or set LEDGER_DATA_DIR/,
      ) as string,
    })
    expect(await readFile(identity, "utf8")).toBe(later)
    await writeFile(identity, "{")
    const damaged = await place.attempt("company", "list")
    expect(damaged).toMatchObject({ code: 1 })
    expect(damaged.stderr).toMatch(/is damaged or was made by another version/)
  })
})
