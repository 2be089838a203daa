/** Purchases through several processes on one database, and what is kept of them. */
import { sql } from "kysely"
import { afterEach, expect, it } from "vitest"
import { newIdempotencyKey } from "../calls/begun.ts"
import { testDatabase } from "../support/postgres.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import { buy, credits, expectSound, makeBuyer, paymentsOf } from "./buying.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function openTwo(): Promise<readonly [World, World]> {
  const { url, drop } = await testDatabase()
  closing.push(drop)
  const one = await openWorld("start", { url, clock: "system" })
  closing.push(() => one.close())
  const other = await openWorld("start", { url, clock: "system" })
  closing.push(() => other.close())
  return [one, other]
}

it("one Idempotency-Key sent to two processes at once is one payment and one purchaseId", async () => {
  const [one, other] = await openTwo()
  const company = await makeBuyer(one)
  const name = newIdempotencyKey()
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) => buy(i % 2 === 0 ? one : other, company.key, 25, name)),
  )
  for (const { status, body } of answers) expect([200, 202], body.error).toContain(status)
  expect(new Set(answers.map(({ body }) => body.purchaseId)).size).toBe(1)
  const replayed = [await buy(one, company.key, 25, name), await buy(other, company.key, 25, name)]
  expect(new Set(replayed.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect((await buy(other, company.key, 26, name)).body.error).toBe("idempotency_conflict")
  expect(await paymentsOf(one, company)).toBe(1)
  await expectSound(one, company)
})

it("exactly one of two purchases of $60 through two processes passes a limit of $100", async () => {
  const [one, other] = await openTwo()
  const company = await makeBuyer(one)
  const answers = await Promise.all([buy(one, company.key, 60), buy(other, company.key, 60)])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403])
  expect((await credits(other, company.key)).boughtThisMonth).toBe(60)
  expect(await paymentsOf(other, company)).toBe(1)
})

it("a shared payment token is kept nowhere", async () => {
  const world = await openWorld("store")
  closing.push(() => world.close())
  const company = await makeBuyer(world)
  const sharedPaymentToken = "spt_1SecretOfAWallet"
  const bought = await buy(world, company.key, 25, newIdempotencyKey(), { sharedPaymentToken })
  expect(bought.status).toBe(200)
  await world.operate("wait")
  const { rows: tables } = await sql<{ place: string }>`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as place
    from information_schema.tables where table_schema in ('ledger', 'eventstore', 'read')
      and table_type = 'BASE TABLE'`.execute(world.ports.readAll)
  const holding: string[] = []
  for (const { place } of tables) {
    const { rows } = await sql<{ found: boolean }>`
      select exists (select 1 from ${sql.raw(place)} t
        where t::text like ${`%${sharedPaymentToken}%`}) as found`.execute(world.ports.readAll)
    if (rows[0]?.found === true) holding.push(place)
  }
  expect(tables.length).toBeGreaterThan(20)
  expect(holding).toEqual([])
  expect(world.warnings.filter((line) => line.includes(sharedPaymentToken))).toEqual([])
})
