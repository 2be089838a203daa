/** What is done for each call reads by an index, also in tables that were never analyzed. */
import { expect, it } from "vitest"
import { query } from "../support/embedded.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

/** Tables that have a row for each call, recipient or company. */
const GROWING = [
  "ledger.checkpoints",
  "ledger.claims",
  "ledger.company_keys",
  "ledger.simulated",
  "ledger.subject_keys",
  "ledger.work",
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
    await expect.poll(() => query(database.url, others)).toEqual([])
    const rows = await query<{ name: string; scanned: string }>(
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
