/** Putting a card on file at the payment processor's own page. */
import { sql } from "kysely"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { processorCustomerOf } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { pendingJobsOf } from "../effects/texts.ts"
import { postText } from "../phone/text-requests.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, openWorld, ownWorld, sharedWorld } from "../support/world.ts"
import { startStripeServer } from "./stripe-server.ts"

describe("the card page", async () => {
  const server = await startStripeServer()
  afterAll(server.close)
  const settings = { CARDS_STRIPE_KEY: "sk_test_of_a_simulator", CARDS_STRIPE_URL: server.url }
  const world = await ownWorld("settings", { settings })
  server.now = () => world.ports.clock.now()
  let company: Company
  beforeEach(async () => {
    server.nextBehavior = "paid"
    company = await makeCompany(world)
    await world.operate("card remove", { company: company.companyId })
  })

  const page = () => world.operate("card page", { company: company.companyId })
  const look = () => world.operate("card refresh", { company: company.companyId })
  const customer = () =>
    world.ports.runner.readLatest(accessStreamOf(company.companyId), processorCustomerOf)
  const customersCreated = () => server.requests.filter(({ call }) => call === "POST /v1/customers")

  it("is Stripe's page for the company's customer, with a link back to the console", async () => {
    const { companyId } = company
    const back = encodeURIComponent(`http://ledger.test/console/${companyId}/billing`)
    const url = `https://billing.stripe.test/cus_${companyId}?back=${back}`
    expect(await page()).toEqual({ companyId, url })
    const request = server.requests.at(-1)
    expect(request?.form.get("flow_data[type]")).toBe("payment_method_update")
    // Stripe gets only our id of the company.
    const form = Object.fromEntries(customersCreated().at(-1)?.form ?? [])
    expect(form).toEqual({ description: companyId, "metadata[company]": companyId })
    const before = customersCreated().length
    expect(await page()).toEqual({ companyId, url })
    expect(customersCreated()).toHaveLength(before)
    const idempotencyKey = customersCreated().at(-1)?.headers["idempotency-key"]
    expect(idempotencyKey).toBe(`customer-${companyId}`)
    expect(await customer()).toBe(`cus_${companyId}`)
  })

  it("creates the customer again after Stripe has deleted it", async () => {
    const { companyId } = company
    await page()
    server.customers.delete(companyId)
    await page()
    const idempotencyKey = customersCreated().at(-1)?.headers["idempotency-key"]
    expect(idempotencyKey).toBe(`customer-${companyId}-after-cus_${companyId}`)
    expect(server.requests.filter(({ call }) => call.includes("search"))).toEqual([])
  })

  it("does not ask Stripe about a card before the company is its customer", async () => {
    const before = server.requests.length
    expect(await look()).toEqual({ companyId: company.companyId, card: null })
    expect(server.requests).toHaveLength(before)
  })

  it("does not change or verify a card on file if no customer is recorded", async () => {
    const { companyId } = company
    const card = { verified: false, failing: false }
    await world.operate("card set", { company: companyId })
    const before = server.requests.length
    const verify = () => world.operate("card verify", { company: companyId })
    for (const act of [look, verify]) {
      await expect(act()).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringMatching(/customer.*`card page`.*`card refresh`/),
      })
    }
    expect(server.requests).toHaveLength(before)
    expect((await world.operate("company show", { company: companyId })).card).toEqual(card)
    await page()
    server.customers.set(companyId, "pm_one")
    expect(await look()).toEqual({ companyId, card })
    expect(await verify()).toMatchObject({ status: "verified" })
  })

  it("adds the card from which a month's debt is collected", async () => {
    const { companyId } = company
    await world.operate("card set", { company: companyId })
    await world.operate("company change", { company: companyId, pays: "card", creditLine: "100" })
    const shown = () => world.operate("company show", { company: companyId })
    const { balanceMicros } = await shown()
    const amountMicros = balanceMicros + 12_000_000
    const charge = { chargeId: companyId, amountMicros, unitPriceMicros: amountMicros }
    await executeCommands(world, company, chargeCommandFor(charge))
    const now = new Date(world.ports.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) + 600_000
    await world.operate("clock set", { to: new Date(next).toISOString() })
    const row = (await pendingJobsOf(world, companyId)).find(
      ({ kind }) => kind === "collect-credit",
    )
    expect(row?.stuck).toMatch(/customer.*`card page`.*`card refresh`.*`job retry`/)
    expect(await shown()).toMatchObject({ locked: false, balanceMicros: -12_000_000 })
    await page()
    server.customers.set(companyId, "pm_one")
    await look()
    await world.operate("job retry", { jobId: row?.jobId })
    await world.operate("wait")
    expect(await shown()).toMatchObject({ locked: false, balanceMicros: 0 })
  })

  it("changes the account's card after a refresh", async () => {
    const { companyId } = company
    await page()
    expect(await look()).toEqual({ companyId, card: null })
    server.customers.set(companyId, "pm_one")
    const unverified = { companyId, card: { verified: false, failing: false } }
    expect(await look()).toEqual(unverified)
    expect(await world.operate("card verify", { company: companyId })).toMatchObject({
      status: "verified",
    })
    expect(await look()).toMatchObject({ card: { verified: true } })
    // A card that was added after the last verification is not verified.
    server.cardsAddedAt.set(companyId, world.ports.clock.now() / 1_000 + 60)
    expect(await look()).toEqual(unverified)
    server.customers.set(companyId, null)
    expect(await look()).toEqual({ companyId, card: null })
  })

  it("is rejected with Stripe's reason, and changes nothing while Stripe is unavailable", async () => {
    server.nextBehavior = "declined"
    await expect(page()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^Stripe rejects the request: No\. Try again/),
    })
    server.nextBehavior = "paid"
    await page()
    server.customers.set(company.companyId, "pm_one")
    await look()
    server.nextBehavior = "unavailable"
    for (const act of [page, look])
      await expect(act()).rejects.toMatchObject({ code: "unavailable" })
    const { card } = await world.operate("company show", { company: company.companyId })
    expect(card).toEqual({ verified: false, failing: false })
  })
})

it("the simulated processor has no card page, and names card set", async () => {
  const world = await openWorld("time")
  try {
    const { companyId } = await makeCompany(world)
    for (const name of ["card page", "card refresh"] as const) {
      await expect(world.operate(name, { company: companyId })).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringMatching(/^The simulated payment processor has no page/),
      })
    }
  } finally {
    await world.close()
  }
})

const world = await sharedWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const set = (card: object = {}) =>
  world.operate("card set", { company: company.companyId, ...card })
const outcomes = async () => {
  const { rows } = await sql<{ outcome: string }>`
    select content ->> 'outcome' as outcome from ledger.simulated_records
    where company_id = ${company.companyId} and kind = 'card'`.execute(world.ports.readAll)
  return rows.map(({ outcome }) => outcome)
}

describe("card set", () => {
  it("replaces every field of the card", async () => {
    const { companyId } = company
    expect(await set({ verified: true, outcome: "declined" })).toEqual({
      companyId,
      card: { verified: true, failing: false },
      outcome: "declined",
    })
    expect(await set({ failing: true })).toEqual({
      companyId,
      card: { verified: false, failing: true },
      outcome: "payment_failed",
    })
    expect(await set()).toMatchObject({
      card: { verified: false, failing: false },
      outcome: "paid",
    })
    expect(await outcomes()).toEqual(["paid"])
  })

  it("allows and blocks requests that need a working card", async () => {
    const { key, companyId } = company
    const send = async () => (await postText(world, key)).body.error ?? "sent"
    const seen = [await send()]
    await set({ failing: true })
    seen.push(await send())
    await set()
    seen.push(await send())
    await world.operate("card remove", { company: companyId })
    seen.push(await send())
    expect(seen).toEqual(["sent", "needs_managed_plan", "sent", "needs_managed_plan"])
  })

  it("rejects an unknown outcome", async () => {
    await expect(set({ outcome: "stolen" })).rejects.toThrow("Invalid")
  })
})

describe("card remove", () => {
  it("removes the card and its outcome", async () => {
    const { companyId } = company
    await set({ outcome: "declined" })
    for (let i = 0; i < 2; i += 1) {
      const removed = await world.operate("card remove", { company: companyId })
      expect(removed).toEqual({ companyId, card: null })
    }
    expect(await outcomes()).toEqual([])
  })
})

describe("simulator set cards", () => {
  it("has these outcomes", async () => {
    const { simulators } = await world.operate("simulator list")
    const cards = simulators.find(({ name }: { name: string }) => name === "cards")
    expect(cards.outcomes).toEqual([
      "ok",
      "unavailable",
      "silent",
      "slow",
      "declined",
      "payment_failed",
      "needs_owner",
      "processing",
      "unconfirmed",
      "misconfigured",
    ])
  })
})
