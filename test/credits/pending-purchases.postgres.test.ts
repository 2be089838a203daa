import { sql } from "kysely"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import { crashAtStep, newIdempotencyKey } from "../api/interrupted-requests.ts"
import { pendingJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCallsFree, ownWorld } from "../support/world.ts"
import {
  CREDITS_PATH,
  buyFunds,
  getCredits,
  expectSoundAudit,
  makeBuyer,
  paymentCountOf,
} from "./buy-funds.ts"

const world = await ownWorld("time")
let company: Company
// No month ends during the tests.
await world.operate("clock set", { to: "2040-03-10T12:00:00Z" })
await makeCallsFree(world)
beforeEach(async () => {
  company = await makeBuyer(world)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const cardIs = (outcome: string) =>
  world.operate("card set", { company: company.companyId, outcome })
const advance = (duration: string) => world.operate("clock advance", { duration })
const statusChecks = async () =>
  (await pendingJobsOf(world, company.companyId)).filter(({ kind }) => kind === "pay-purchase")

/** Makes the processor's status checks fail without an answer, and counts them. */
function failStatusChecks(): { readonly times: () => number } {
  const spy = vi
    .spyOn(world.ports.cards, "checkPaymentStatus")
    .mockImplementation(() => Promise.reject(new ProviderOutcomeUnknown("no answer")))
  return { times: () => spy.mock.calls.length }
}

describe("202 processing", () => {
  it("becomes paid within a minute, as the same request then shows", async () => {
    await cardIs("processing")
    const name = newIdempotencyKey()
    const first = await buyFunds(world, company.key, 40, name)
    expect([first.status, first.body]).toEqual([
      202,
      {
        status: "processing",
        amount: 40,
        purchaseId: expect.stringMatching(/^pur_/),
        paymentId: `builtin-${first.body.purchaseId}`,
        balance: 0,
      },
    ])
    const again = await buyFunds(world, company.key, 40, name)
    expect([again.status, again.body]).toEqual([202, first.body])
    expect(again.headers["idempotency-replayed"]).toBe("true")
    expect(await getCredits(world, company.key)).toMatchObject({
      balance: 0,
      boughtThisMonth: 0,
      pending: 40,
      remainingThisMonth: 60,
    })
    await expectSoundAudit(world, company)
    await advance("1m")
    const later = await buyFunds(world, company.key, 40, name)
    expect([later.status, later.body]).toEqual([
      200,
      { ...first.body, status: "paid", balance: 40 },
    ])
    expect(await getCredits(world, company.key)).toMatchObject({ boughtThisMonth: 40, pending: 0 })
    expect(await statusChecks()).toEqual([])
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it.for(["declined", "payment_failed"] as const)(
    "becomes %s and restores its allowance, as the same request then shows",
    async (outcome) => {
      await cardIs("processing")
      const name = newIdempotencyKey()
      expect((await buyFunds(world, company.key, 40, name)).status).toBe(202)
      await cardIs(outcome)
      await advance("1m")
      const { status, body } = await buyFunds(world, company.key, 40, name)
      expect([status, body.error]).toEqual([402, outcome])
      expect(await getCredits(world, company.key)).toMatchObject({ remainingThisMonth: 100 })
    },
  )

  it("counts against the allowance of the month in which it began", async () => {
    await cardIs("processing")
    const month = new Date(world.ports.clock.now())
    const next = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)
    await world.operate("clock set", { to: new Date(next - 30_000).toISOString() })
    await buyFunds(world, company.key, 60)
    await world.operate("clock set", { to: new Date(next + 60_000).toISOString() })
    expect(await getCredits(world, company.key)).toMatchObject({
      balance: 60,
      boughtThisMonth: 0,
      remainingThisMonth: 100,
    })
  })
})

describe("a processor that rejects every order", () => {
  const processorIs = async (outcome: string): Promise<void> => {
    await world.operate("simulator set", { name: "cards", outcome })
  }
  const cardIsGone = () =>
    vi.spyOn(world.ports.cards, "pay").mockResolvedValue({ answer: "no_card", paymentId: null })
  afterEach(() => processorIs("ok"))

  it("answers 503 without locking the account, and the same Idempotency-Key pays afterwards", async () => {
    const { companyId, key } = company
    await processorIs("misconfigured")
    const name = newIdempotencyKey()
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await buyFunds(world, key, 40, name)
      expect([status, body.error]).toEqual([503, "unavailable"])
    }
    expect(await getCredits(world, key)).toMatchObject({ pending: 0, remainingThisMonth: 100 })
    expect((await world.operate("company show", { company: companyId })).locked).toBe(false)
    expect((await world.app.inject("/readyz")).body).toMatch(/^warn cards ProviderMisconfigured$/m)
    await processorIs("ok")
    const { status, body } = await buyFunds(world, key, 40, name)
    expect([status, body.status, body.balance]).toEqual([200, "paid", 40])
    expect(await failureCodes()).toEqual(["unavailable", "unavailable"])
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it.for([
    ["rejects the repeated order", "misconfigured"],
    ["cannot be reached", "unavailable"],
    ["no longer has a card", "no_card"],
  ] as const)("does not undo an earlier payment if it %s", async ([, outcome]) => {
    const { key } = company
    const idempotencyKey = newIdempotencyKey()
    const request = { key, url: CREDITS_PATH, body: { amount: 40 }, idempotencyKey }
    await crashAtStep(world, { step: "PayPurchase", when: "before" }, request)
    expect(await paymentCountOf(world, company)).toBe(1)
    if (outcome === "no_card") cardIsGone()
    else await processorIs(outcome)
    const again = await buyFunds(world, key, 40, idempotencyKey)
    expect([again.status, again.body.status]).toEqual([202, "unconfirmed"])
    await processorIs("ok")
    await advance("1m")
    const { status, body } = await buyFunds(world, key, 40, idempotencyKey)
    expect([status, body.purchaseId]).toEqual([200, again.body.purchaseId])
    expect([await paymentCountOf(world, company), await failureCodes()]).toEqual([1, []])
  })
})

/** The codes of the company's failed purchases, in order. */
async function failureCodes(): Promise<readonly string[]> {
  const { events } = await world.operate("audit show", { stream: `ledger-${company.companyId}` })
  return events
    .filter(({ type }: { type: string }) => type === "PurchaseFailed")
    .map(({ data }: { data: { code: string } }) => data.code)
}

describe("202 unconfirmed", () => {
  it.for([
    ["does not know", () => cardIs("unconfirmed")],
    [
      "is silent",
      () => world.operate("simulator set", { name: "cards", outcome: "silent", times: 1 }),
    ],
  ] as const)(
    "if the processor %s: the payment is found and never repeated",
    async ([, arrange]) => {
      await arrange()
      const name = newIdempotencyKey()
      const first = await buyFunds(world, company.key, 40, name)
      expect([first.status, first.body.status, first.body.balance]).toEqual([202, "unconfirmed", 0])
      expect(first.headers["ledger-position"]).toMatch(/^[0-9a-z]+$/)
      const again = await buyFunds(world, company.key, 40, name)
      expect([again.status, again.body]).toEqual([202, first.body])
      await advance("1m")
      const later = await buyFunds(world, company.key, 40, name)
      const { status, body } = later
      expect([status, body.status, body.purchaseId]).toEqual([200, "paid", first.body.purchaseId])
      expect(await paymentCountOf(world, company)).toBe(1)
      expect((await getCredits(world, company.key)).balance).toBe(40)
    },
  )

  it("is checked after 1, 5 and 30 minutes, then hourly, and stuck after 72 hours", async () => {
    const { times } = failStatusChecks()
    await world.operate("simulator set", { name: "cards", outcome: "silent", times: 1 })
    await buyFunds(world, company.key, 40)
    const counts: number[] = []
    for (const minutes of [1, 4, 25, 60, 60]) {
      await advance(`${minutes}m`)
      counts.push(times())
    }
    expect(counts).toEqual([1, 2, 3, 4, 5])
    expect((await statusChecks()).map(({ stuck }) => stuck)).toEqual([null])
    await advance("72h")
    const [row] = await statusChecks()
    expect(row?.stuck).toContain("72 hours")
    expect((await getCredits(world, company.key)).pending).toBe(40)
    vi.restoreAllMocks()
    await world.operate("job retry", { jobId: row?.jobId })
    expect(await getCredits(world, company.key)).toMatchObject({ balance: 40, pending: 0 })
  })

  it("fails if an operator discards its job", async () => {
    failStatusChecks()
    await world.operate("simulator set", { name: "cards", outcome: "silent", times: 1 })
    const name = newIdempotencyKey()
    await buyFunds(world, company.key, 40, name)
    await advance("73h")
    const [row] = await statusChecks()
    await world.operate("job discard", { jobId: row?.jobId })
    expect((await buyFunds(world, company.key, 40, name)).body.error).toBe("payment_failed")
    expect(await getCredits(world, company.key)).toMatchObject({ balance: 0, pending: 0 })
    expect(await statusChecks()).toEqual([])
  })
})

describe("the audit of all purchases", () => {
  it("finds no faults", () => expectSoundAudit(world))
})

describe("a pending purchase", () => {
  it("without a job is found by the audit", async () => {
    await cardIs("processing")
    await buyFunds(world, company.key, 40)
    await world.operate("wait")
    await sql`delete from ledger.jobs where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    const { checks } = await world.operate("audit verify", { company: company.companyId })
    const found = checks.filter((check: { ok: boolean }) => !check.ok)
    expect(found).toEqual([
      {
        name: "every pending purchase has a job that checks it",
        ok: false,
        detail: expect.stringMatching(/^pur_\w+$/),
      },
    ])
  })

  it("is not checked before a minute has passed, even if an operator retries the job", async () => {
    const { times } = failStatusChecks()
    await cardIs("processing")
    await buyFunds(world, company.key, 40)
    const [row] = await statusChecks()
    await world.operate("job retry", { jobId: row?.jobId })
    await world.operate("wait")
    expect(times()).toBe(0)
    expect(await statusChecks()).toHaveLength(1)
  })
})
