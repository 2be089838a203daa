/** Activity logs in PostgreSQL. */
import { beforeEach, describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import type { ActivityLog, ActivityLogKind } from "../../adapters/postgres/activity-log/port.ts"
import { openPostgresActivityLogs } from "../../adapters/postgres/activity-log/postgres.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const COMPANY = "co_aaaaaa"
const OTHER = "co_bbbbbb"
const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
const MAX_ENTRIES = 5
const KIND = { slice: "boxes", kind: "command", maxEntries: MAX_ENTRIES }

interface Command {
  readonly n: number
}

const database = await databaseUnderTest()
const pool = database.pool()

const open = (overrides: Partial<ActivityLogKind> = {}) =>
  openPostgresActivityLogs(pool).of<Command>({ ...KIND, ...overrides })
const entry = (n: number, at = NOW + n) => ({ at, content: { n } })
const newest = async (
  log: ActivityLog<Command> = open(),
  limit = 100,
  company: CompanyId = COMPANY,
) => (await log.newest(company, "box_1", limit)).map(({ content }) => content.n)
const rows = async () => (await pool.query("select from ledger.activity_log")).rowCount

beforeEach(async () => {
  await pool.query("truncate ledger.activity_log")
})

/** Adds entries one after the other. */
async function add(ns: readonly number[], subject = "box_1"): Promise<void> {
  for (const n of ns) await open().add(COMPANY, subject, entry(n))
}

describe("an activity log", () => {
  it("is empty for a subject without actions", async () => {
    expect(await newest()).toEqual([])
  })

  it("lists entries newest first, up to the limit", async () => {
    await add([2, 3, 1])
    expect(await open().newest(COMPANY, "box_1", 2)).toEqual([entry(3), entry(2)])
    expect(await newest()).toEqual([3, 2, 1])
    expect(await newest(open(), 0)).toEqual([])
  })

  it("lists entries of the same time in reverse order of addition", async () => {
    for (const n of [1, 3, 2]) await open().add(COMPANY, "box_1", entry(n, NOW))
    expect(await newest()).toEqual([2, 3, 1])
  })

  it("updates an entry without moving it, and ignores an update of an evicted one", async () => {
    const log = open()
    const entryId = await log.add(COMPANY, "box_1", entry(1))
    await add([2])
    await open({ kind: "file" }).update(COMPANY, entryId, { n: 8 })
    await log.update(OTHER, entryId, { n: 8 })
    expect(await newest()).toEqual([2, 1])
    await log.update(COMPANY, entryId, { n: 9 })
    expect(await log.newest(COMPANY, "box_1", 2)).toEqual([
      entry(2),
      { ...entry(1), content: { n: 9 } },
    ])
    await add([3, 4, 5, 6, 7, 8])
    await log.update(COMPANY, entryId, { n: 10 })
    expect(await newest()).toEqual([8, 7, 6, 5, 4])
  })

  it("is separate for each company, slice, kind and subject", async () => {
    await open().add(COMPANY, "box_1", entry(1))
    expect(await newest(open(), 100, OTHER)).toEqual([])
    expect(await newest(open({ kind: "file" }))).toEqual([])
    expect(await newest(open({ slice: "code" }))).toEqual([])
    expect(await open().newest(COMPANY, "box_2", 100)).toEqual([])
  })

  it("keeps the newest entries, and stores at most one more", async () => {
    await add([1], "box_2")
    for (let n = 1; n <= 3 * MAX_ENTRIES; n += 1) {
      await add([n])
      const last = Array.from({ length: Math.min(n, MAX_ENTRIES) }, (_, i) => n - i)
      expect(await newest()).toEqual(last)
      expect(await rows()).toBe(Math.min(n, MAX_ENTRIES + 1) + 1)
    }
    expect(await open().newest(COMPANY, "box_2", 100)).toEqual([entry(1)])
  })

  it("evicts no newer entry for a late one", async () => {
    await add([11, 12, 13, 14, 15, 9, 8, 7])
    expect(await newest()).toEqual([15, 14, 13, 12, 11])
    expect(await rows()).toBe(MAX_ENTRIES + 1)
    await add([16])
    expect(await newest()).toEqual([16, 15, 14, 13, 12])
  })

  it("rejects an entry that PostgreSQL's JSON cannot store, and accepts later ones", async () => {
    const texts = openPostgresActivityLogs(pool).of<{ readonly text: string }>(KIND)
    for (const text of ["\u0000", "\ud83d"]) {
      const adding = texts.add(COMPANY, "box_1", { at: NOW, content: { text } })
      await expect(adding).rejects.toThrow(/unicode|json/i)
    }
    const content = { text: "\u{1f4e6}\n\\u0000" }
    await texts.add(COMPANY, "box_1", { at: NOW, content })
    expect(await texts.newest(COMPANY, "box_1", 1)).toEqual([{ at: NOW, content }])
  })

  it("deletes a subject's entries", async () => {
    await add([1, 2])
    await add([3], "box_2")
    await open().clear(COMPANY, "box_1")
    expect(await newest()).toEqual([])
    expect(await rows()).toBe(1)
  })

  it("is deleted with its company", async () => {
    await add([1, 2])
    await open().add(OTHER, "box_1", entry(3))
    const forgetKeys = () => undefined
    await openPostgresErasure({
      pool,
      pacer: machinePacer,
      forgetKeys,
      readModels: [],
    }).deleteRows(COMPANY)
    expect(await newest()).toEqual([])
    expect(await newest(open(), 100, OTHER)).toEqual([3])
  })
})

describe("an activity log with concurrent additions", () => {
  it("stores all of them, and keeps the newest", async () => {
    const each = Array.from({ length: 200 }, (_, n) => n)
    const large = open({ maxEntries: each.length })
    await Promise.all(each.map((n) => large.add(COMPANY, "box_1", entry(n))))
    expect(await newest(large, each.length)).toEqual(each.toReversed())
    // All concurrent additions find entries beyond the maximum.
    await Promise.all(each.map((n) => open().add(COMPANY, "box_1", entry(1_000 + n))))
    expect(await newest()).toEqual([1_199, 1_198, 1_197, 1_196, 1_195])
    await add([2_000])
    expect(await rows()).toBe(MAX_ENTRIES + 1)
  })

  it("accepts additions while another one is not committed", async () => {
    await add([1, 2, 3, 4, 5, 6])
    const slow = await pool.connect()
    try {
      await slow.query("begin")
      await openPostgresActivityLogs(slow).of<Command>(KIND).add(COMPANY, "box_1", entry(7))
      const quick = database.pool(1)
      await quick.query("set lock_timeout = '5s'")
      await openPostgresActivityLogs(quick).of<Command>(KIND).add(COMPANY, "box_1", entry(8))
      expect(await newest()).toEqual([8, 6, 5, 4, 3])
    } finally {
      await slow.query("commit")
      slow.release()
    }
    expect(await newest()).toEqual([8, 7, 6, 5, 4])
    await add([9])
    expect(await rows()).toBe(MAX_ENTRIES + 1)
  })
})

it.for([
  { when: "before the table is analyzed", first: "select" },
  { when: "after the table is analyzed", first: "analyze ledger.activity_log" },
])("an activity log reads only the subject's entries $when", async ({ first }) => {
  await pool.query(`
    insert into ledger.activity_log (company_id, slice, kind, subject, at, content)
    select '${COMPANY}', 'boxes', 'command', 'box_' || i % 100, to_timestamp(i), '{}'
    from generate_series(1, 5000) i`)
  await pool.query(first)
  // A separate connection, because PostgreSQL counts reads per connection.
  const client = await database.pool(1).connect()
  try {
    // After some executions PostgreSQL uses a plan for all values.
    await client.query("set plan_cache_mode = force_generic_plan")
    await client.query("begin")
    const log = openPostgresActivityLogs(client).of<Command>(KIND)
    await log.add(COMPANY, "box_7", entry(1))
    await log.newest(COMPANY, "box_7", MAX_ENTRIES)
    const read = await client.query<{ scanned: number; fetched: number }>(`
      select seq_tup_read as scanned, idx_tup_fetch as fetched from pg_stat_xact_user_tables
      where schemaname = 'ledger' and relname = 'activity_log'`)
    expect(read.rows[0]?.scanned).toBe(0)
    // The subject has 50 entries, 45 of which exceed the maximum and are deleted.
    expect(read.rows[0]?.fetched).toBeLessThan(300)
  } finally {
    await client.query("rollback")
    client.release(true)
  }
})
