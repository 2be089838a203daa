/** What is done for each call reads by an index, also in tables that were never analyzed. */
import { expect, it } from "vitest"
import type { Projection } from "../../projections/kernel/projection.ts"
import {
  bigintColumn,
  listIndex,
  tablesOf,
  defineTable,
  textColumn,
} from "../../projections/kernel/table.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { testDatabase } from "../support/test-database.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import {
  ProjectorUnderTest,
  readModelDatabase,
  sumReadModel,
  verifyReadModel,
} from "./projector-fixture.ts"

/** Tables that have a row for each call, recipient or company. */
const GROWING = [
  "ledger.checkpoints",
  "ledger.idempotent_requests",
  "ledger.company_keys",
  "ledger.simulated_records",
  "ledger.subject_keys",
  "ledger.jobs",
  "read.accounts",
  "read.charges",
  "read.limits",
  "read.charge_days",
  "read.key_uses",
  "read.messages",
  "read.refusals",
  "read.spending",
  "eventstore.events",
]
const CALLS = 40
/** A start looks at what is left to do in tables that are nearly empty. */
const SEEN_AT_START = 20

it("scans no table that grows with the calls", async () => {
  const database = await testDatabase()
  try {
    const world = await openWorld("start", { url: database.url, rateLimits: "off" })
    const companies = await Promise.all(Array.from({ length: 4 }, () => makeCompany(world)))
    await Promise.all(
      Array.from({ length: CALLS }, async (_, i) => {
        const { key } = companies[i % companies.length] as (typeof companies)[number]
        const body = { to: `+1415555${String(1000 + i)}`, body: "Hi" }
        const headers = { "idempotency-key": `text ${i}` }
        const sent = { body, headers }
        const answer = await world.call(key, "POST", "/api/v1/phone/messages", sent)
        expect(answer.status).toBe(200)
        await world.call(key, "GET", "/api/v1/phone/messages")
      }),
    )
    await world.operate("wait")
    // A connection tells what it read when it has ended.
    await world.close()
    const others = `select pid from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()`
    await expect.poll(() => queryRows(database.url, others)).toEqual([])
    const rows = await queryRows<{ name: string; scanned: string }>(
      database.url,
      `select schemaname || '.' || relname as name, seq_tup_read as scanned
       from pg_stat_user_tables`,
    )
    const read = new Map(rows.map(({ name, scanned }) => [name, Number(scanned)]))
    expect(GROWING.filter((name) => !read.has(name))).toEqual([])
    const scanned = GROWING.filter((name) => (read.get(name) ?? 0) > SEEN_AT_START)
    expect(scanned.map((name) => [name, read.get(name)])).toEqual([])
  } finally {
    await database.drop()
  }
})

const { pool } = await readModelDatabase()

const COLUMNS = { company_id: textColumn(), sum: bigintColumn(), facts: bigintColumn() }
const SPENT: Projection = {
  ...sumReadModel({ name: "spent", category: "spending" }),
  ...tablesOf(
    defineTable("spent", COLUMNS, ["company_id"], "(facts)", listIndex("(sum) where sum > 0")),
  ),
}
const AT_ONCE = ["spent_facts_idx", "spent_pkey"]
const ALL = [...AT_ONCE, "spent_sum"]

async function indexes(schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ indexname: string }>(
    "select indexname from pg_indexes where schemaname = $1 order by indexname",
    [schema],
  )
  return rows.map(({ indexname }) => indexname)
}

/** A read model that says which indexes there are whenever it folds. */
function seeing(schema: string) {
  const seen: (readonly string[])[] = []
  const projection: Projection = {
    ...SPENT,
    apply: async (tx, facts, opener) => {
      await SPENT.apply(tx, facts, opener)
      seen.push(await indexes(schema))
    },
  }
  return { seen, projection }
}

it("are there once a read model has caught up, and not before", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1, 2)
  const { seen, projection } = seeing("read")
  const projector = await test.start([projection])
  expect(await test.waitUntilApplied(projector)).toBe(true)
  expect(seen[0]).toEqual(AT_ONCE)
  expect(await indexes("read")).toEqual(ALL)
  await test.appendAmounts("spending-co_a", 3)
  expect(await test.waitUntilApplied(projector)).toBe(true)
  expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 6, facts: 3 }])
})

it("are made by the next process where one died before them", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1)
  const first = await test.start([SPENT])
  await test.waitUntilApplied(first)
  await first.close()
  await pool.query("drop index read.spent_sum")
  const next = await test.start([SPENT])
  expect(await test.waitUntilApplied(next)).toBe(true)
  expect(await indexes("read")).toEqual(ALL)
})

it("come with a table that was built anew beside, made behind its rows", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1, 2)
  const { seen, projection } = seeing("shadow_spent")
  const projector = await test.start([projection])
  await test.waitUntilApplied(projector)
  seen.length = 0
  await projector.rebuild("spent", () => undefined)
  expect(seen[0]).toEqual(AT_ONCE)
  expect(await indexes("read")).toEqual(ALL)
  expect((await verifyReadModel(projector))?.same).toBe(true)
  expect(await indexes("read")).toEqual(ALL)
})
