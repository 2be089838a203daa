import { describe, expect, it } from "vitest"
import { newIdempotencyKey } from "../api/interrupted-requests.ts"
import { makeCallsFree, makeCompany, makeKey, ownWorld } from "../support/world.ts"
import {
  CREDITS_PATH,
  buyFunds,
  getCredits,
  expectSoundAudit,
  makeBuyer,
  paymentCountOf,
} from "./buy-funds.ts"

const world = await ownWorld("settings")
await makeCallsFree(world)

describe("POST /credits 200", () => {
  it("adds funds immediately, and counts against the key's monthly allowance", async () => {
    const company = await makeBuyer(world, "1.5")
    const { status, body, headers } = await buyFunds(world, company.key, 19.99)
    expect([status, body]).toEqual([
      200,
      {
        status: "paid",
        amount: 19.99,
        purchaseId: expect.stringMatching(/^pur_[0-9A-Za-z]{22}$/),
        paymentId: `builtin-${body.purchaseId}`,
        balance: 21.49,
      },
    ])
    expect(headers["ledger-position"]).toMatch(/./)
    // Read without waiting for the read model.
    const read = await world.call(company.key, "GET", CREDITS_PATH)
    expect(read.body).toMatchObject({
      balance: 21.49,
      boughtThisMonth: 19.99,
      pending: 0,
      remainingThisMonth: 80.01,
    })
  })

  it.for([5, 5000, 12.3, 1e3])(
    "accepts any amount of whole cents from $5 to $5,000: %d",
    async (amount) => {
      const terms = { perPurchase: "5000", perMonth: "100000" }
      const { key } = await makeBuyer(world, "0", terms)
      const { status, body } = await buyFunds(world, key, amount)
      expect([status, body.amount, body.balance]).toEqual([200, amount, amount])
    },
  )

  it("is allowed without funds, and with a locked account", async () => {
    const { key, companyId } = await makeBuyer(world, "0")
    await world.operate("company lock", { company: companyId })
    expect((await buyFunds(world, key, 5)).status).toBe(200)
  })

  it("needs no card with a shared payment token", async () => {
    const company = await makeBuyer(world)
    await world.operate("card remove", { company: company.companyId })
    const more = { sharedPaymentToken: "spt_1RgaZcFPC5QUO6ZCDVZuVA8q" }
    const { status, body } = await buyFunds(world, company.key, 10, newIdempotencyKey(), more)
    expect([status, body.status, body.balance]).toEqual([200, "paid", 10])
    expect(await paymentCountOf(world, company)).toBe(1)
  })

  it("does not depend on the key's operations or its person's role", async () => {
    const company = await makeCompany(world)
    const { key, keyId } = await makeKey(world, company, {
      role: "user",
      operations: ["team.people.read"],
    })
    const limits = { addFundsPerPurchase: "20", addFundsPerMonth: "20" }
    await world.operate("key change", { keyId, ...limits })
    expect((await buyFunds(world, key, 20)).status).toBe(200)
  })

  it("buys again with each new Idempotency-Key", async () => {
    const company = await makeBuyer(world)
    const one = await buyFunds(world, company.key, 10)
    const other = await buyFunds(world, company.key, 10)
    expect(other.body.purchaseId).not.toBe(one.body.purchaseId)
    expect(other.body.balance).toBe(20)
  })
})

describe("POST /credits 400", () => {
  it.for([undefined, null, "10", 4.99, 5000.01, 5.001, -5, 0, 1e300, 10.005, [10], true])(
    "bad_amount: %j",
    async (amount) => {
      const { key } = await makeBuyer(world)
      const { status, body } = await buyFunds(world, key, amount)
      expect([status, body.error]).toEqual([400, "bad_amount"])
    },
  )

  it("idempotency_key_required, before every other check", async () => {
    const { key } = await makeCompany(world)
    for (const name of [null, ""]) {
      const { status, body } = await buyFunds(world, key, "much", name)
      expect([status, body.error]).toEqual([400, "idempotency_key_required"])
    }
    const broken = await world.app.inject({
      method: "POST",
      url: CREDITS_PATH,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      payload: '{"amount":',
    })
    expect(broken.json().error).toBe("idempotency_key_required")
  })

  it.for([["", 5, null], [{}], ["x".repeat(256)]].flat())(
    "names an invalid shared payment token: %j",
    async (sharedPaymentToken) => {
      const { key } = await makeBuyer(world)
      const bought = await buyFunds(world, key, 10, newIdempotencyKey(), { sharedPaymentToken })
      expect([bought.status, bought.body.error]).toEqual([400, "validation"])
      expect(Object.keys(bought.body.fields)).toEqual(["sharedPaymentToken"])
      const worse = await buyFunds(world, key, 1, newIdempotencyKey(), { sharedPaymentToken })
      expect(worse.body.error).toBe("bad_amount")
    },
  )
})

describe("POST /credits 401", () => {
  it("answers a paused key before its purchase is checked", async () => {
    const { key, keyId } = await makeBuyer(world)
    await world.operate("key pause", { keyId })
    expect((await buyFunds(world, key, 10)).status).toBe(401)
  })
})

describe("POST /credits 402", () => {
  it("no_card, and the same request succeeds once there is a card", async () => {
    const company = await makeBuyer(world)
    const name = newIdempotencyKey()
    await world.operate("card remove", { company: company.companyId })
    const { status, body } = await buyFunds(world, company.key, 10, name)
    expect([status, body.error]).toEqual([402, "no_card"])
    await world.operate("card set", { company: company.companyId })
    expect((await buyFunds(world, company.key, 10, name)).status).toBe(200)
  })

  it("needs_owner takes no allowance, and the same request succeeds once an owner has confirmed", async () => {
    const company = await makeBuyer(world)
    const { companyId, key } = company
    const name = newIdempotencyKey()
    await world.operate("card set", { company: companyId, outcome: "needs_owner" })
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await buyFunds(world, key, 60, name)
      expect([status, body.error]).toEqual([402, "needs_owner"])
    }
    expect((await getCredits(world, key)).remainingThisMonth).toBe(100)
    await world.operate("card set", { company: companyId })
    expect((await buyFunds(world, key, 60, name)).body.balance).toBe(60)
  })

  it.for(["declined", "payment_failed"] as const)(
    "%s is final, takes no allowance, and a new Idempotency-Key tries again",
    async (outcome) => {
      const company = await makeBuyer(world)
      const { companyId, key } = company
      const name = newIdempotencyKey()
      await world.operate("card set", { company: companyId, outcome })
      const first = await buyFunds(world, key, 60, name)
      expect([first.status, first.body.error]).toEqual([402, outcome])
      await world.operate("card set", { company: companyId, outcome: "paid" })
      const again = await buyFunds(world, key, 60, name)
      expect([again.status, again.body]).toEqual([402, first.body])
      expect(again.headers["idempotency-replayed"]).toBe("true")
      expect(await getCredits(world, key)).toMatchObject({ balance: 0, remainingThisMonth: 100 })
      expect((await buyFunds(world, key, 60)).status).toBe(200)
    },
  )

  it("payment_failed if the card is failing", async () => {
    const { companyId, key } = await makeBuyer(world)
    await world.operate("card set", { company: companyId, failing: true })
    expect((await buyFunds(world, key, 10)).body.error).toBe("payment_failed")
  })
})

describe("POST /credits 403", () => {
  it("purchase_not_allowed until an owner turns purchases on, and after one turns them off", async () => {
    const { key } = await makeCompany(world)
    const { status, body } = await buyFunds(world, key, 10)
    expect([status, body.error]).toEqual([403, "purchase_not_allowed"])
    const buyer = await makeBuyer(world)
    await world.operate("key change", { keyId: buyer.keyId, purchases: "off" })
    expect((await buyFunds(world, buyer.key, 10)).body.error).toBe("purchase_not_allowed")
  })

  it("purchase_needs_review while an owner wants to review purchases", async () => {
    const { key, keyId } = await makeBuyer(world)
    const name = newIdempotencyKey()
    await world.operate("key change", { keyId, purchases: "review" })
    const { status, body } = await buyFunds(world, key, 10, name)
    expect([status, body.error]).toEqual([403, "purchase_needs_review"])
    await world.operate("key change", { keyId, purchases: "on" })
    expect((await buyFunds(world, key, 10, name)).status).toBe(200)
  })

  it("over_purchase_limit by a cent", async () => {
    const { key } = await makeBuyer(world)
    const { status, body } = await buyFunds(world, key, 60.01)
    expect([status, body.error]).toEqual([403, "over_purchase_limit"])
    expect(body.message).toContain("$60.00")
    expect((await buyFunds(world, key, 60)).status).toBe(200)
  })

  it("over_monthly_limit by a cent, including pending purchases", async () => {
    const { key, companyId } = await makeBuyer(world)
    await world.operate("card set", { company: companyId, outcome: "processing" })
    expect((await buyFunds(world, key, 60)).status).toBe(202)
    const { status, body } = await buyFunds(world, key, 40.01)
    expect([status, body.error]).toEqual([403, "over_monthly_limit"])
    expect(body.message).toContain("$60.00")
    expect((await buyFunds(world, key, 40)).status).toBe(202)
  })

  it("exactly one of two concurrent purchases of $60 passes a monthly limit of $100", async () => {
    const company = await makeBuyer(world)
    const answers = await Promise.all([
      buyFunds(world, company.key, 60),
      buyFunds(world, company.key, 60),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403])
    expect(answers.find(({ status }) => status === 403)?.body.error).toBe("over_monthly_limit")
    expect(await paymentCountOf(world, company)).toBe(1)
    expect(await getCredits(world, company.key)).toMatchObject({ balance: 60, boughtThisMonth: 60 })
  })
})

describe("the order of the rejections of POST /credits", () => {
  it("is that of the decisions, when each cause is fixed in turn", async () => {
    const company = await makeCompany(world, { funds: "0" })
    const { companyId, key, keyId } = company
    await world.operate("card remove", { company: companyId })
    const codes: string[] = []
    const tryIt = async (amount: unknown, name: string | null = newIdempotencyKey()) => {
      codes.push(String((await buyFunds(world, key, amount, name)).body.error))
    }
    const terms = (purchases: string, purchase: string, month: string) =>
      world.operate("key change", {
        keyId,
        purchases,
        addFundsPerPurchase: purchase,
        addFundsPerMonth: month,
      })
    await tryIt(1, null)
    await tryIt(1)
    await tryIt(30)
    await terms("review", "5", "5")
    await tryIt(30)
    await terms("on", "5", "5")
    await tryIt(30)
    await terms("on", "30", "29")
    await tryIt(30)
    await terms("on", "30", "90")
    await tryIt(30)
    await world.operate("card set", { company: companyId, outcome: "needs_owner" })
    await tryIt(30)
    await world.operate("card set", { company: companyId, outcome: "declined" })
    await tryIt(30)
    expect(codes).toEqual([
      "idempotency_key_required",
      "bad_amount",
      "purchase_not_allowed",
      "purchase_needs_review",
      "over_purchase_limit",
      "over_monthly_limit",
      "no_card",
      "needs_owner",
      "declined",
    ])
  })
})

describe("POST /credits 503", () => {
  it("while the processor is unavailable: nothing is paid, and the same request succeeds later", async () => {
    const company = await makeBuyer(world)
    const name = newIdempotencyKey()
    await world.operate("simulator set", { name: "cards", outcome: "unavailable", times: 2 })
    for (let i = 0; i < 2; i += 1) {
      const { status, body, headers } = await buyFunds(world, company.key, 60, name)
      expect([status, body.error, headers["retry-after"]]).toEqual([503, "unavailable", "5"])
    }
    expect(await getCredits(world, company.key)).toMatchObject({ balance: 0, pending: 0 })
    expect((await buyFunds(world, company.key, 60, name)).body.balance).toBe(60)
    expect(await paymentCountOf(world, company)).toBe(1)
  })
})

describe("the audit of all purchases", () => {
  it("finds no faults", () => expectSoundAudit(world))
})
