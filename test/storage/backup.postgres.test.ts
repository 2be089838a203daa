/** Backups of whole installations, and the installations restored from them. */
import { readFile, rm, writeFile } from "node:fs/promises"
import { expect, it } from "vitest"
import {
  TABLES_NOT_IN_BACKUP,
  listBackupTables,
} from "../../adapters/postgres/installation/postgres.ts"
import { PROGRAM } from "../../src/slices.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { executeSql } from "../support/test-database.ts"
import { openWorld } from "../support/world.ts"
import type { RestoreLocation } from "./used-installation.ts"
import { MESSAGES_PATH, makeUsedInstallation, openBackups } from "./used-installation.ts"
import { storedEventsOf, auditFaultsOf } from "./store-contents.ts"

const { closing, database, file, backUp, restore } = openBackups()

async function startServer(): Promise<EventStoreDbServer> {
  const server = await EventStoreDbServer.start()
  closing.push(() => server.stop())
  return server
}

const BACKUP_TABLES = listBackupTables(PROGRAM.tables)

/** All rows of all tables in a backup, without the columns that say which process has a lease. */
async function backedUpRows(url: string): Promise<Record<string, unknown>> {
  const tables = BACKUP_TABLES.map(async ({ table, rows: [first] }) => {
    const select = `select to_jsonb(t) - 'leased_until' - 'process_id' as row
      from ledger.${table} t order by ${first?.orderBy}`
    return [table, await queryRows(url, select)] as const
  })
  return Object.fromEntries(await Promise.all(tables))
}

it("contains every table, or excludes it explicitly", async () => {
  // Opening an installation creates the slices' tables.
  const world = await openWorld("store")
  closing.push(() => world.close())
  const tables =
    "select table_name as name from information_schema.tables where table_schema = 'ledger'"
  const rows = await queryRows<{ name: string }>(world.databaseUrl, tables)
  const decided = [...BACKUP_TABLES, ...PROGRAM.tables].map(({ table }) => table)
  expect(new Set(rows.map(({ name }) => name))).toEqual(
    new Set([...decided, ...TABLES_NOT_IN_BACKUP]),
  )
})

it.each([
  ["PostgreSQL", "PostgreSQL"],
  ["PostgreSQL", "EventStoreDB"],
  ["EventStoreDB", "PostgreSQL"],
])(
  "contains an installation in %s, and restores the same one in %s",
  async (from, to) => {
    const locationIn = async (kind: string): Promise<RestoreLocation> => {
      const url = await database()
      return kind === "PostgreSQL" ? { url } : { url, eventStoreUrl: (await startServer()).url }
    }
    const home = await locationIn(from)
    const { world, companyId, key } = await makeUsedInstallation(home)
    const written = await backUp(world)
    const facts = await storedEventsOf(world.ports.store)
    const shown = await world.operate("company show", { company: companyId })
    await world.close()
    const rowsBefore = await backedUpRows(home.url)
    for (const name of ["idempotent_requests", "jobs", "simulated_records", "subject_keys"]) {
      expect(rowsBefore[name], name).not.toEqual([])
    }

    const location = await locationIn(to)
    const restored = await restore(location)
    expect(restored).toMatchObject({
      ok: true,
      events: facts.length,
      rows: written.rows,
      alreadyThere: 0,
      checksum: written.checksum,
    })
    expect(await backedUpRows(location.url)).toEqual(rowsBefore)
    const again = await openWorld("store", location)
    closing.push(() => again.close())
    expect(await storedEventsOf(again.ports.store)).toEqual(facts)
    expect(await again.operate("company show", { company: companyId })).toEqual(shown)
    expect(await again.operate("mail list")).toMatchObject({ mails: [{ to: "owner@example.com" }] })
    const options = {
      body: { to: "+14155550101", body: "hello" },
      headers: { "idempotency-key": "one" },
    }
    const answer = await again.call(key, "POST", MESSAGES_PATH, options)
    expect(answer.status).toBe(200)
    await again.operate("funds add", { company: companyId, dollars: "1" })
    expect(await auditFaultsOf(again)).toEqual([])
    const texts = await again.operate("audit show", {
      stream: `ledger-${companyId}`,
      type: "Charged",
    })
    expect(texts.events).toHaveLength(2)
  },
  180_000,
)

it("contains which jobs were dispatched, and dispatches none of them again", async () => {
  const { world, key } = await makeUsedInstallation({ url: await database() })
  const headers = { "idempotency-key": "hangs" }
  // The carrier gives no outcome once, so the status check is due a minute later.
  await world.call(key, "POST", MESSAGES_PATH, {
    body: { to: "+14155550102", body: "hello" },
    headers,
  })
  await world.operate("wait")
  const { jobs } = await world.operate("job list")
  expect(jobs).toContainEqual(expect.objectContaining({ kind: "ask-text", attempts: 0 }))
  await backUp(world)
  await world.close()
  const url = await database()
  await restore({ url })
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  expect((await again.operate("job list")).jobs).toEqual(jobs)
  expect(await auditFaultsOf(again)).toEqual([])
})

it("is consistent while others write: it has all keys of its facts, and a charge for every answer", async () => {
  const home = await database()
  const { world, companyId, key } = await makeUsedInstallation({ url: home })
  let sent = 0
  const send = async (): Promise<void> => {
    sent += 1
    const options = {
      body: { to: `+1415555${String(1_000 + sent)}`, body: "hello" },
      headers: { "idempotency-key": `text-${sent}` },
    }
    expect(await world.call(key, "POST", MESSAGES_PATH, options)).toMatchObject({
      status: 200,
    })
  }
  const written = await backUp(world, { onPiece: send })
  expect(sent).toBeGreaterThan(10)
  const all = (await storedEventsOf(world.ports.store)).length
  expect(written.events).toBeLessThan(all)
  await world.close()

  const url = await database()
  expect(await restore({ url })).toMatchObject({ ok: true, events: written.events })
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  const shown = await again.operate("audit show", { stream: "companies", unseal: true })
  expect(JSON.stringify(shown)).not.toContain("(erased)")
  // A retry gets its stored answer or is charged now, but never gets an answer without a charge.
  for (let text = 1; text <= sent; text += 1) {
    const options = {
      body: { to: `+1415555${String(1_000 + text)}`, body: "hello" },
      headers: { "idempotency-key": `text-${text}` },
    }
    expect((await again.call(key, "POST", MESSAGES_PATH, options)).status).toBe(200)
  }
  await again.operate("wait")
  const charged = await again.operate("audit show", {
    stream: `ledger-${companyId}`,
    type: "Charged",
  })
  expect(charged.events).toHaveLength(2 + sent)
  expect(await auditFaultsOf(again)).toEqual([])
})

it("continues an interrupted restore, and nothing starts before that", async () => {
  const { world } = await makeUsedInstallation({ url: await database() })
  const written = await backUp(world)
  await world.close()
  const server = await startServer()
  const location = { url: await database(), eventStoreUrl: server.url }
  const stopping = new AbortController()
  const reason = new Error("interrupted")
  let appends = 0
  server.faultOf = () => {
    appends += 1
    if (appends === 4) stopping.abort(reason)
    return "none"
  }
  await expect(restore(location, stopping.signal)).rejects.toBe(reason)
  await expect(openWorld("store", location)).rejects.toThrow(
    /was interrupted\. Run .*restore FILE. again/,
  )
  const again = await restore(location)
  expect(again).toMatchObject({ ok: true, events: written.events })
  expect(again.alreadyThere).toBeGreaterThan(0)
  const opened = await openWorld("store", location)
  closing.push(() => opened.close())
  expect(await auditFaultsOf(opened)).toEqual([])
})

it("rejects another backup after a restore began", async () => {
  const { world } = await makeUsedInstallation({ url: await database() })
  await backUp(world)
  await world.close()
  const url = await database()
  await executeSql(url, "insert into ledger.unfinished_restore (backup) values ('another')")
  await expect(restore({ url })).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringMatching(/unfinished restore of another backup/) as string,
  })
})

it("rejects an installation that is not empty and a changed file, and writes nothing", async () => {
  const { world } = await makeUsedInstallation({ url: await database() })
  await backUp(world)
  await world.close()
  const filled = await database()
  const fresh = await openWorld("start", { url: filled })
  await fresh.close()
  await expect(restore({ url: filled })).rejects.toMatchObject({
    code: "not_empty",
    message: expect.stringMatching(/Set LEDGER_DATA_DIR to another folder/) as string,
  })
  const url = await database()
  const text = await readFile(file(), "utf8")
  await writeFile(file(), text.replace("run-1", "run-2"))
  await expect(restore({ url })).rejects.toMatchObject({
    code: "bad_backup",
    message: expect.stringMatching(/restored: line \d+ \(byte \d+\) was changed/) as string,
  })
  await writeFile(file(), text.slice(0, text.length / 2))
  await expect(restore({ url })).rejects.toThrow(/is truncated/)
  await rm(file())
  await expect(restore({ url })).rejects.toThrow(/cannot be read \(ENOENT\)/)
  expect(await queryRows(url, "select 1 from eventstore.events")).toEqual([])
  const usable = await openWorld("start", { url })
  await usable.close()
})

it("rejects a backup of a newer version, and one with an external master key that is wrong", async () => {
  const { world } = await makeUsedInstallation({ url: await database() })
  await executeSql(
    world.databaseUrl,
    "insert into ledger.kysely_migration values ('9999-later', now())",
  )
  await backUp(world)
  const url = await database()
  await expect(restore({ url })).rejects.toThrow(
    /newer version .* \(9999-later\)\. Restore it with that version/,
  )
  await executeSql(
    world.databaseUrl,
    "delete from ledger.kysely_migration where name = '9999-later'",
  )
  await backUp(world)
  await world.close()
  await expect(restore({ url, masterKey: "ab".repeat(32) })).rejects.toMatchObject({
    code: "wrong_master_key",
  })
})
