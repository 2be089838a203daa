/** Calls read by index, also in tables that were never analyzed; indexes of read models. */
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
const GROWING_TABLES = [
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
/** A start scans nearly empty tables for pending work. */
const MAX_SCANNED_AT_START = 20

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
    // PostgreSQL publishes a connection's statistics when it ends.
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
    expect(GROWING_TABLES.filter((name) => !read.has(name))).toEqual([])
    const scanned = GROWING_TABLES.filter((name) => (read.get(name) ?? 0) > MAX_SCANNED_AT_START)
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
const FIRST_INDEXES = ["spent_facts_idx", "spent_pkey"]
const ALL_INDEXES = [...FIRST_INDEXES, "spent_sum"]

async function indexes(schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ indexname: string }>(
    "select indexname from pg_indexes where schemaname = $1 order by indexname",
    [schema],
  )
  return rows.map(({ indexname }) => indexname)
}

/** A read model that records the existing indexes at each batch. */
function recordingIndexes(schema: string) {
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

it("creates list indexes once a read model has caught up", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1, 2)
  const { seen, projection } = recordingIndexes("read")
  const projector = await test.start([projection])
  expect(await test.waitUntilApplied(projector)).toBe(true)
  expect(seen[0]).toEqual(FIRST_INDEXES)
  expect(await indexes("read")).toEqual(ALL_INDEXES)
  await test.appendAmounts("spending-co_a", 3)
  expect(await test.waitUntilApplied(projector)).toBe(true)
  expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 6, facts: 3 }])
})

it("creates missing list indexes at the next start", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1)
  const first = await test.start([SPENT])
  await test.waitUntilApplied(first)
  await first.close()
  await pool.query("drop index read.spent_sum")
  const next = await test.start([SPENT])
  expect(await test.waitUntilApplied(next)).toBe(true)
  expect(await indexes("read")).toEqual(ALL_INDEXES)
})

it("creates list indexes of a rebuilt table after its rows", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.appendAmounts("spending-co_a", 1, 2)
  const { seen, projection } = recordingIndexes("shadow_spent")
  const projector = await test.start([projection])
  await test.waitUntilApplied(projector)
  seen.length = 0
  await projector.rebuild("spent", () => undefined)
  expect(seen[0]).toEqual(FIRST_INDEXES)
  expect(await indexes("read")).toEqual(ALL_INDEXES)
  expect((await verifyReadModel(projector))?.same).toBe(true)
  expect(await indexes("read")).toEqual(ALL_INDEXES)
})
