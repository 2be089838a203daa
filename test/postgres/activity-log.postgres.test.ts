/** What was done, in PostgreSQL. */
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
const MOST = 5
const KIND = { slice: "boxes", kind: "command", maxEntries: MOST }

interface Command {
  readonly n: number
}

const database = await databaseUnderTest()
const pool = database.pool()

const open = (differing: Partial<ActivityLogKind> = {}) =>
  openPostgresActivityLogs(pool).of<Command>({ ...KIND, ...differing })
const entry = (n: number, at = NOW + n) => ({ at, content: { n } })
const newest = async (
  journal: ActivityLog<Command> = open(),
  limit = 100,
  company: CompanyId = COMPANY,
) => (await journal.newest(company, "box_1", limit)).map(({ content }) => content.n)
const rows = async () => (await pool.query("select from ledger.activity_log")).rowCount

beforeEach(async () => {
  await pool.query("truncate ledger.activity_log")
})

/** Adds entries one behind the other. */
async function add(ns: readonly number[], subject = "box_1"): Promise<void> {
  for (const n of ns) await open().add(COMPANY, subject, entry(n))
}

describe("a journal", () => {
  it("has nothing of a subject that nothing was done to", async () => {
    expect(await newest()).toEqual([])
  })

  it("gives entries as they were added, the newest first, and so many as are asked for", async () => {
    await add([2, 3, 1])
    expect(await open().newest(COMPANY, "box_1", 2)).toEqual([entry(3), entry(2)])
    expect(await newest()).toEqual([3, 2, 1])
    expect(await newest(open(), 0)).toEqual([])
  })

  it("gives of the same instant the one first that was added last", async () => {
    for (const n of [1, 3, 2]) await open().add(COMPANY, "box_1", entry(n, NOW))
    expect(await newest()).toEqual([2, 3, 1])
  })

  it("says anew what an entry says where it stands, and nothing of one that made room", async () => {
    const journal = open()
    const place = await journal.add(COMPANY, "box_1", entry(1))
    await add([2])
    await open({ kind: "file" }).update(COMPANY, place, { n: 8 })
    await journal.update(OTHER, place, { n: 8 })
    expect(await newest()).toEqual([2, 1])
    await journal.update(COMPANY, place, { n: 9 })
    expect(await journal.newest(COMPANY, "box_1", 2)).toEqual([
      entry(2),
      { ...entry(1), content: { n: 9 } },
    ])
    await add([3, 4, 5, 6, 7, 8])
    await journal.update(COMPANY, place, { n: 10 })
    expect(await newest()).toEqual([8, 7, 6, 5, 4])
  })

  it("is the company's, the slice's, the kind's and the subject's own", async () => {
    await open().add(COMPANY, "box_1", entry(1))
    expect(await newest(open(), 100, OTHER)).toEqual([])
    expect(await newest(open({ kind: "file" }))).toEqual([])
    expect(await newest(open({ slice: "code" }))).toEqual([])
    expect(await open().newest(COMPANY, "box_2", 100)).toEqual([])
  })

  it("keeps the newest, and stores one more at most", async () => {
    await add([1], "box_2")
    for (let n = 1; n <= 3 * MOST; n += 1) {
      await add([n])
      const last = Array.from({ length: Math.min(n, MOST) }, (_, i) => n - i)
      expect(await newest()).toEqual(last)
      expect(await rows()).toBe(Math.min(n, MOST + 1) + 1)
    }
    expect(await open().newest(COMPANY, "box_2", 100)).toEqual([entry(1)])
  })

  it("loses nothing newer to an entry that comes late", async () => {
    await add([11, 12, 13, 14, 15, 9, 8, 7])
    expect(await newest()).toEqual([15, 14, 13, 12, 11])
    expect(await rows()).toBe(MOST + 1)
    await add([16])
    expect(await newest()).toEqual([16, 15, 14, 13, 12])
  })

  it("takes no entry that PostgreSQL's JSON cannot hold, and goes on", async () => {
    const texts = openPostgresActivityLogs(pool).of<{ readonly text: string }>(KIND)
    for (const text of ["\u0000", "\ud83d"]) {
      const adding = texts.add(COMPANY, "box_1", { at: NOW, content: { text } })
      await expect(adding).rejects.toThrow(/unicode|json/i)
    }
    const content = { text: "\u{1f4e6}\n\\u0000" }
    await texts.add(COMPANY, "box_1", { at: NOW, content })
    expect(await texts.newest(COMPANY, "box_1", 1)).toEqual([{ at: NOW, content }])
  })

  it("forgets a subject", async () => {
    await add([1, 2])
    await add([3], "box_2")
    await open().clear(COMPANY, "box_1")
    expect(await newest()).toEqual([])
    expect(await rows()).toBe(1)
  })

  it("goes with its company", async () => {
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

describe("a journal that many add to at once", () => {
  it("has each of them, and keeps the newest of all", async () => {
    const each = Array.from({ length: 200 }, (_, n) => n)
    const large = open({ maxEntries: each.length })
    await Promise.all(each.map((n) => large.add(COMPANY, "box_1", entry(n))))
    expect(await newest(large, each.length)).toEqual(each.toReversed())
    // Much is one too many by now, and all of them find it.
    await Promise.all(each.map((n) => open().add(COMPANY, "box_1", entry(1_000 + n))))
    expect(await newest()).toEqual([1_199, 1_198, 1_197, 1_196, 1_195])
    await add([2_000])
    expect(await rows()).toBe(MOST + 1)
  })

  it("keeps nobody back while another's addition is not done", async () => {
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
    expect(await rows()).toBe(MOST + 1)
  })
})

it.for([
  { when: "before any was analyzed", first: "select" },
  { when: "once they were", first: "analyze ledger.activity_log" },
])("reads a subject's entries alone, however many there are, $when", async ({ first }) => {
  await pool.query(`
    insert into ledger.activity_log (company_id, slice, kind, subject, at, content)
    select '${COMPANY}', 'boxes', 'command', 'box_' || i % 100, to_timestamp(i), '{}'
    from generate_series(1, 5000) i`)
  await pool.query(first)
  // A connection of its own: PostgreSQL counts what one has read.
  const client = await database.pool(1).connect()
  try {
    // As it is planned for every value from some executions on.
    await client.query("set plan_cache_mode = force_generic_plan")
    await client.query("begin")
    const journal = openPostgresActivityLogs(client).of<Command>(KIND)
    await journal.add(COMPANY, "box_7", entry(1))
    await journal.newest(COMPANY, "box_7", MOST)
    const read = await client.query<{ whole: number; fetched: number }>(`
      select seq_tup_read as whole, idx_tup_fetch as fetched from pg_stat_xact_user_tables
      where schemaname = 'ledger' and relname = 'activity_log'`)
    expect(read.rows[0]?.whole).toBe(0)
    // 50 of the subject, 45 of which are one too many and deleted.
    expect(read.rows[0]?.fetched).toBeLessThan(300)
  } finally {
    await client.query("rollback")
    client.release(true)
  }
})
