import { sql } from "kysely"
import { describe, expect, it, afterEach } from "vitest"
import { crashAtStep, newIdempotencyKey } from "../api/interrupted-requests.ts"
import { testDatabase } from "../support/test-database.ts"
import { makeCallsFree, openWorld, ownWorld, callWithPorts } from "../support/world.ts"
import type { World } from "../support/world.ts"
import {
  CREDITS_PATH,
  buyFunds,
  getCredits,
  expectSoundAudit,
  makeBuyer,
  paymentCountOf,
} from "./buy-funds.ts"

const world = await ownWorld("time")
// No month ends during the tests.
await world.operate("clock set", { to: "2040-03-10T12:00:00Z" })
await makeCallsFree(world)

describe("one Idempotency-Key", () => {
  it("sent fifty times concurrently makes one payment with one purchaseId", async () => {
    const company = await makeBuyer(world)
    const name = newIdempotencyKey()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => buyFunds(world, company.key, 25, name)),
    )
    expect(new Set(answers.map(({ body }) => body.purchaseId)).size).toBe(1)
    const paid = answers.filter(({ status }) => status === 200)
    expect(paid.filter((one) => one.headers["idempotency-replayed"] === undefined)).toHaveLength(1)
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect([status, body.status, body.amount]).toEqual([202, "in_progress", 25])
    }
    expect(await paymentCountOf(world, company)).toBe(1)
    expect(await getCredits(world, company.key)).toMatchObject({ balance: 25, boughtThisMonth: 25 })
    expect((await buyFunds(world, company.key, 25, name)).body).toEqual(paid[0]?.body)
  })

  it("shows the current balance, even for an earlier purchase", async () => {
    const company = await makeBuyer(world)
    const { companyId, key } = company
    const name = newIdempotencyKey()
    const first = await buyFunds(world, key, 25, name)
    expect([first.body.status, first.body.balance]).toEqual(["paid", 25])
    await buyFunds(world, key, 30)
    await world.operate("funds add", { company: companyId, dollars: "0.25" })
    const again = await buyFunds(world, key, 25, name)
    expect([again.status, again.body]).toEqual([200, { ...first.body, balance: 55.25 }])
    expect((await getCredits(world, key)).balance).toBe(again.body.balance)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(again.headers["ledger-position"]).toBe(first.headers["ledger-position"])
  })

  it("answers 409 with another body", async () => {
    const { key } = await makeBuyer(world)
    const name = newIdempotencyKey()
    const first = await buyFunds(world, key, 25, name)
    for (const [amount, more] of [
      [26, {}],
      [25, { sharedPaymentToken: "spt_x" }],
      [25, { more: 1 }],
    ] as const) {
      const { status, body } = await buyFunds(world, key, amount, name, more)
      expect([status, body.error]).toEqual([409, "idempotency_conflict"])
    }
    expect((await buyFunds(world, key, 25, name)).body).toEqual(first.body)
  })

  it("gets the same answer after a restart, in the next month and in the next year", async () => {
    let here = await openWorld("time")
    try {
      await makeCallsFree(here)
      const company = await makeBuyer(here)
      const name = newIdempotencyKey()
      const first = await buyFunds(here, company.key, 25, name)
      here = await here.restart()
      for (const duration of ["1s", "32d", "400d"]) {
        await here.operate("clock advance", { duration })
        const again = await buyFunds(here, company.key, 25, name)
        expect([again.status, again.body]).toEqual([200, first.body])
        expect(again.headers["idempotency-replayed"]).toBe("true")
      }
      const other = await buyFunds(here, company.key, 26, name)
      expect(other.body.error).toBe("idempotency_conflict")
      expect(await paymentCountOf(here, company)).toBe(1)
      expect((await getCredits(here, company.key)).balance).toBe(25)
      await expectSoundAudit(here, company)
    } finally {
      await here.close()
    }
  })

  it("buys once even if its claim is lost", async () => {
    const company = await makeBuyer(world)
    const name = newIdempotencyKey()
    const first = await buyFunds(world, company.key, 25, name)
    await sql`delete from ledger.idempotent_requests where idempotency_key = ${name}`.execute(
      world.ports.readAll,
    )
    expect((await buyFunds(world, company.key, 25, name)).body).toEqual(first.body)
    await sql`delete from ledger.idempotent_requests where idempotency_key = ${name}`.execute(
      world.ports.readAll,
    )
    expect((await buyFunds(world, company.key, 26, name)).body.error).toBe("idempotency_conflict")
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it("answers 503 if its claim is lost and the read model is behind", async () => {
    const company = await makeBuyer(world)
    const name = newIdempotencyKey()
    const first = await buyFunds(world, company.key, 25, name)
    await sql`delete from ledger.idempotent_requests where idempotency_key = ${name}`.execute(
      world.ports.readAll,
    )
    const projector = { ...world.ports.projector, waitUntilWritten: async () => false }
    const sent = { body: { amount: 25 }, headers: { "idempotency-key": name } }
    const behind = await callWithPorts(
      { ...world.ports, projector },
      company.key,
      "POST",
      CREDITS_PATH,
      sent,
    )
    const { purchaseId } = first.body
    expect([behind.status, behind.body]).toMatchObject([503, { purchaseId }])
    expect((await buyFunds(world, company.key, 25, name)).body).toEqual(first.body)
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it("makes another purchase if another API key sends it", async () => {
    const one = await makeBuyer(world)
    const other = await makeBuyer(world)
    const name = newIdempotencyKey()
    const ids = [
      await buyFunds(world, one.key, 25, name),
      await buyFunds(world, other.key, 25, name),
    ]
    expect(new Set(ids.map(({ body }) => body.purchaseId)).size).toBe(2)
  })

  it("is deleted after a rejection released it, so that rejected requests do not pile up", async () => {
    const company = await makeBuyer(world)
    const [freed, bought] = [newIdempotencyKey(), newIdempotencyKey()]
    await world.operate("card set", { company: company.companyId, outcome: "needs_owner" })
    await buyFunds(world, company.key, 25, freed)
    await world.operate("card set", { company: company.companyId })
    await buyFunds(world, company.key, 25, bought)
    await world.operate("clock advance", { duration: "31d" })
    const { rows } = await sql`
      select idempotency_key from ledger.idempotent_requests where key_id = ${company.keyId}`.execute(
      world.ports.readAll,
    )
    expect(rows).toEqual([{ idempotency_key: bought }])
    // Its first attempt has ended in the ledger, so the request begins the next one.
    expect((await buyFunds(world, company.key, 25, freed)).body.balance).toBe(50)
  })
})

describe("a process that is killed during a purchase", () => {
  it.for([
    ["before it begins", { step: "StartPurchase", when: "before" }],
    ["after it has begun", { step: "StartPurchase", when: "after" }],
    ["after the payment, before it is recorded", { step: "PayPurchase", when: "before" }],
    ["after the payment is recorded", { step: "PayPurchase", when: "after" }],
  ] as const)("%s: the same request buys once", async ([, death]) => {
    const company = await makeBuyer(world)
    const idempotencyKey = newIdempotencyKey()
    const { key } = company
    await crashAtStep(world, death, {
      key,
      url: CREDITS_PATH,
      body: { amount: 25 },
      idempotencyKey,
    })
    const taken = await buyFunds(world, key, 25, idempotencyKey)
    expect([taken.status, taken.body.status, taken.body.balance]).toEqual([200, "paid", 25])
    expect((await buyFunds(world, key, 25, idempotencyKey)).body).toEqual(taken.body)
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it("after it has begun, without a retry: it fails if the processor does not know the payment", async () => {
    const company = await makeBuyer(world)
    const { key } = company
    const idempotencyKey = newIdempotencyKey()
    const death = { step: "StartPurchase", when: "after" } as const
    await crashAtStep(world, death, {
      key,
      url: CREDITS_PATH,
      body: { amount: 25 },
      idempotencyKey,
    })
    expect((await getCredits(world, key)).pending).toBe(25)
    await world.operate("clock advance", { duration: "9m" })
    expect((await getCredits(world, key)).pending).toBe(25)
    await world.operate("clock advance", { duration: "1m" })
    expect(await getCredits(world, key)).toMatchObject({ pending: 0, remainingThisMonth: 100 })
    expect((await buyFunds(world, key, 25, idempotencyKey)).body.error).toBe("payment_failed")
    expect(await paymentCountOf(world, company)).toBe(0)
  })

  it("after the payment, without a retry: the payment is found", async () => {
    const company = await makeBuyer(world)
    const { key } = company
    const idempotencyKey = newIdempotencyKey()
    const death = { step: "PayPurchase", when: "before" } as const
    await crashAtStep(world, death, {
      key,
      url: CREDITS_PATH,
      body: { amount: 25 },
      idempotencyKey,
    })
    await world.operate("clock advance", { duration: "1m" })
    expect(await getCredits(world, key)).toMatchObject({ balance: 25, pending: 0 })
    expect((await buyFunds(world, key, 25, idempotencyKey)).body).toMatchObject({ status: "paid" })
  })
})

describe("a fault after a purchase has begun", () => {
  it("answers 503 with the purchaseId, and the same request completes the purchase", async () => {
    const company = await makeBuyer(world)
    const cards = { ...world.ports.cards, pay: () => Promise.reject(new TypeError("a fault")) }
    const name = newIdempotencyKey()
    const sent = { body: { amount: 25 }, headers: { "idempotency-key": name } }
    const failed = await callWithPorts(
      { ...world.ports, cards },
      company.key,
      "POST",
      CREDITS_PATH,
      sent,
    )
    expect(failed.status).toBe(503)
    expect(failed.body).toEqual({
      error: "unavailable",
      message: expect.stringContaining("same Idempotency-Key"),
      requestId: failed.headers["x-request-id"],
      purchaseId: expect.stringMatching(/^pur_/),
    })
    const again = await buyFunds(world, company.key, 25, name)
    expect(again.body).toMatchObject({ status: "paid", purchaseId: failed.body.purchaseId })
  })
})

describe("the audit of all purchases", () => {
  it("finds no faults", () => expectSoundAudit(world))
})

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

it("one Idempotency-Key sent to two processes concurrently makes one payment with one purchaseId", async () => {
  const [one, other] = await openTwo()
  const company = await makeBuyer(one)
  const name = newIdempotencyKey()
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      buyFunds(i % 2 === 0 ? one : other, company.key, 25, name),
    ),
  )
  for (const { status, body } of answers) expect([200, 202], body.error).toContain(status)
  expect(new Set(answers.map(({ body }) => body.purchaseId)).size).toBe(1)
  const replayed = [
    await buyFunds(one, company.key, 25, name),
    await buyFunds(other, company.key, 25, name),
  ]
  expect(new Set(replayed.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect((await buyFunds(other, company.key, 26, name)).body.error).toBe("idempotency_conflict")
  expect(await paymentCountOf(one, company)).toBe(1)
  await expectSoundAudit(one, company)
})

it("exactly one of two purchases of $60 through two processes fits a limit of $100", async () => {
  const [one, other] = await openTwo()
  const company = await makeBuyer(one)
  const answers = await Promise.all([
    buyFunds(one, company.key, 60),
    buyFunds(other, company.key, 60),
  ])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403])
  expect((await getCredits(other, company.key)).boughtThisMonth).toBe(60)
  expect(await paymentCountOf(other, company)).toBe(1)
})

it("a shared payment token is not stored", async () => {
  const freshWorld = await openWorld("store")
  closing.push(() => freshWorld.close())
  const company = await makeBuyer(freshWorld)
  const sharedPaymentToken = "spt_1SecretOfAWallet"
  const bought = await buyFunds(freshWorld, company.key, 25, newIdempotencyKey(), {
    sharedPaymentToken,
  })
  expect(bought.status).toBe(200)
  await freshWorld.operate("wait")
  const { rows: tables } = await sql<{ table: string }>`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as "table"
    from information_schema.tables where table_schema in ('ledger', 'eventstore', 'read')
      and table_type = 'BASE TABLE'`.execute(freshWorld.ports.readAll)
  const holding: string[] = []
  for (const { table } of tables) {
    const { rows } = await sql<{ found: boolean }>`
      select exists (select 1 from ${sql.raw(table)} t
        where t::text like ${`%${sharedPaymentToken}%`}) as found`.execute(freshWorld.ports.readAll)
    if (rows[0]?.found === true) holding.push(table)
  }
  expect(tables.length).toBeGreaterThan(20)
  expect(holding).toEqual([])
  expect(freshWorld.warnings.filter((line) => line.includes(sharedPaymentToken))).toEqual([])
})
