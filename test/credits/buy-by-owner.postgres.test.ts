/** Funds that an owner buys in the console, without a key. */
import { describe, expect, it } from "vitest"
import { newIdempotencyKey } from "../api/interrupted-requests.ts"
import type { HttpBrowser } from "../console/http-browser.ts"
import { openPersonBrowser } from "../console/console-visitors.ts"
import { addPerson, makeCompany, sharedWorld } from "../support/world.ts"
import { CREDITS_PATH, expectSoundAudit, paymentCountOf } from "./buy-funds.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free" })
const company = await makeCompany(world, { funds: "1" })
const owner = await openPersonBrowser(world, company.ownerId)

const buy = (browser: HttpBrowser, amount: unknown, idempotencyKey = newIdempotencyKey()) =>
  browser.send(
    "POST",
    `/console/${company.companyId}${CREDITS_PATH}`,
    { amount },
    { headers: { "idempotency-key": idempotencyKey } },
  )

const personAs = async (role: string): Promise<HttpBrowser> => {
  const { personId } = await addPerson(world, company, { role })
  return openPersonBrowser(world, personId)
}

describe("an owner", () => {
  it("buys funds with the company's card, without a key or its terms", async () => {
    const before = await paymentCountOf(world, company)
    const { status, body } = await buy(owner, 500)
    expect([status, body.status, body.amount]).toEqual([200, "paid", 500])
    expect(await paymentCountOf(world, company)).toBe(before + 1)
    const stream = `ledger-${company.companyId}`
    const { events } = await world.operate("audit show", { stream })
    const types = ["PurchaseStarted", "PurchasePaid"]
    const facts = events.filter(({ type }: { type: string }) => types.includes(type))
    for (const { data, metadata } of facts) {
      expect(data.personId).toBe(company.ownerId)
      expect(data.keyId ?? null).toBeNull()
      expect(JSON.stringify(metadata)).toContain(company.ownerId)
    }
    expect(facts).toHaveLength(2)
  })

  it("buys once per Idempotency-Key, separately from other owners", async () => {
    const [key, payments] = [newIdempotencyKey(), await paymentCountOf(world, company)]
    const first = await buy(owner, 7, key)
    const again = await buy(await openPersonBrowser(world, company.ownerId), 7, key)
    expect([again.status, again.body.purchaseId]).toEqual([200, first.body.purchaseId])
    expect((await buy(owner, 8, key)).body.error).toBe("idempotency_conflict")
    const other = await buy(await personAs("owner"), 7, key)
    expect(other.status).toBe(200)
    expect(other.body.purchaseId).not.toBe(first.body.purchaseId)
    expect(await paymentCountOf(world, company)).toBe(payments + 2)
    const none = await owner.send("POST", `/console/${company.companyId}${CREDITS_PATH}`, {
      amount: 7,
    })
    expect(none.status).toBe(400)
  })

  it("is rejected like a key: for a bad amount, without a card, with a declined card", async () => {
    const refused = async (amount: unknown) => {
      const { status, body } = await buy(owner, amount)
      return [status, body.error]
    }
    for (const amount of [4.99, 5_000.01, 5.001, "5", null]) {
      expect(await refused(amount)).toEqual([400, "bad_amount"])
    }
    const card = { company: company.companyId }
    await world.operate("card set", { ...card, outcome: "declined" })
    expect(await refused(5)).toEqual([402, "declined"])
    await world.operate("card remove", card)
    expect(await refused(5)).toEqual([402, "no_card"])
    await world.operate("card set", { ...card, verified: true })
    await expectSoundAudit(world, company)
  })

  it("is named on the bill as the buyer", async () => {
    const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const { status, body } = await owner.send(
      ...(["POST", `/console/${company.companyId}/operations/export-billing`] as const),
      { input: { month, format: "csv" } },
    )
    expect(status).toBe(200)
    const lines = String(body).split("\n")
    const purchases = lines.filter((line) => line.includes("purchase"))
    expect(purchases.filter((line) => line.includes(company.ownerId))).toHaveLength(2)
    for (const line of purchases) expect(line).not.toContain(company.keyId)
  })
})

describe("a person of another role", () => {
  it.each(["admin", "developer", "manager", "user"])(
    "cannot buy without a key: %s",
    async (role) => {
      const payments = await paymentCountOf(world, company)
      const { status, body } = await buy(await personAs(role), 5)
      expect([status, body.error]).toEqual([403, "purchase_not_allowed"])
      expect(await paymentCountOf(world, company)).toBe(payments)
    },
  )
})
