import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { SEGMENT, fundsOf, makeKey, sendText } from "./texting.ts"

const world = await ownWorld("settings")

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("402 payment_required", () => {
  it("says what is needed, what there is and which request pays for it", async () => {
    const { key } = await makeCompany(world, "0.004")
    const { status, body } = await sendText(world, key)
    expect(status).toBe(402)
    expect(body).toEqual({
      error: "payment_required",
      message: "This costs $0.009 and the company has $0.004 of funds.",
      needed: 0.009,
      balance: 0.004,
      pay: {
        method: "POST",
        url: "http://ledger.test/api/v1/credits",
        headers: {
          "Idempotency-Key": expect.stringMatching(UUID),
        },
        instructions:
          "An owner must turn on Add funds for this key before it can buy; then send this " +
          "request with the same API key.",
        body: { amount: 5 },
        alternatives: ["sharedPaymentToken"],
      },
      // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
      then: "After the payment, send the original request again.",
    })
  })

  it("names a new Idempotency-Key each time", async () => {
    const { key } = await makeCompany(world, "0")
    const keys = await Promise.all([1, 2, 3].map(() => sendText(world, key)))
    const named = keys.map(({ body }) => body.pay.headers["Idempotency-Key"])
    expect(new Set(named).size).toBe(3)
  })

  it("tells a key with Add funds to send it", async () => {
    const { companyId, ownerId } = await makeCompany(world, "0")
    const { key } = await world.operate("key create", {
      company: companyId,
      person: ownerId,
      allOperations: true,
      addFundsPerPurchase: "25",
      addFundsPerMonth: "100",
    })
    const { body } = await sendText(world, key)
    expect(body.pay.instructions).toMatch(/^Send this request with the same API key\./)
  })

  it("asks for the whole price, at the number of segments with the line", async () => {
    const { key } = await makeCompany(world, "0.009")
    const { status, body } = await sendText(world, key, { body: "x".repeat(160) })
    expect([status, body.needed, body.balance]).toEqual([402, 0.018, 0.009])
  })

  it("lets the last cent be spent and nothing more", async () => {
    const company = await makeCompany(world, "0.018")
    expect((await sendText(world, company.key)).status).toBe(200)
    expect((await sendText(world, company.key)).status).toBe(200)
    expect(await fundsOf(world, company)).toBe(0)
    expect((await sendText(world, company.key)).status).toBe(402)
  })

  it("lets exactly as many of many at once pass as there are funds for", async () => {
    const company = await makeCompany(world, "0.045")
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => sendText(world, company.key)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(25)
    expect(await fundsOf(world, company)).toBe(0)
  })

  it("is over once funds are there", async () => {
    const { companyId, key } = await makeCompany(world, "0")
    expect((await sendText(world, key)).status).toBe(402)
    await world.operate("funds add", { company: companyId, dollars: "0.009" })
    expect((await sendText(world, key)).status).toBe(200)
  })

  it("gives a rejected text's price back, once", async () => {
    const company = await makeCompany(world, "0.009")
    // An earlier test's text would take the outcome away.
    await world.operate("wait")
    await world.operate("stand-in set", { name: "carrier", outcome: "reject", times: 1 })
    expect((await sendText(world, company.key)).status).toBe(200)
    await world.operate("wait")
    expect(await fundsOf(world, company)).toBe(SEGMENT)
    const audit = await world.operate("audit verify", { company: company.companyId })
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })
})

describe("402 while the account is locked", () => {
  it("has no pay block, and stands on every counted route but the credits", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("company lock", { company: companyId })
    const text = await sendText(world, key)
    const list = await world.call(key, "GET", "/api/v1/phone/messages")
    const optOuts = await world.call(key, "GET", "/api/v1/phone/opt-outs")
    for (const { status, body } of [text, list, optOuts]) {
      expect(status).toBe(402)
      expect(Object.keys(body)).toEqual(["error", "message"])
      expect(body.error).toBe("payment_required")
      expect(body.message).toContain("locked")
    }
    expect((await world.call(key, "GET", "/api/v1/credits")).status).toBe(200)
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
    await world.operate("company unlock", { company: companyId })
    expect((await sendText(world, key)).status).toBe(200)
  })
})

describe("402 needs_managed_plan", () => {
  it("stops texts without a card, and leaves reads open", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card remove", { company: companyId })
    const { status, body } = await sendText(world, key)
    expect([status, body.error]).toEqual([402, "needs_managed_plan"])
    expect(Object.keys(body)).toEqual(["error", "message"])
    for (const url of ["/api/v1/phone/messages", "/api/v1/phone/opt-outs", "/api/v1/credits"]) {
      expect((await world.call(key, "GET", url)).status).toBe(200)
    }
  })

  it("stops texts while the card fails, and lets them pass once it works again", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card set", { company: companyId, verified: true, failing: true })
    expect((await sendText(world, key)).body.error).toBe("needs_managed_plan")
    await world.operate("card set", { company: companyId, verified: true, failing: false })
    expect((await sendText(world, key)).status).toBe(200)
  })

  it("does not ask for a verified card", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card set", { company: companyId, verified: false })
    expect((await sendText(world, key)).status).toBe(200)
  })
})

describe("403", () => {
  it("names the operation that the key was not granted", async () => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { operations: ["phone.messages.read"] })
    const { status, body } = await sendText(world, key)
    expect(status).toBe(403)
    expect(body).toMatchObject({
      error: "operation_not_granted",
      operation: "phone.messages.send",
    })
    expect((await world.call(key, "GET", "/api/v1/phone/messages")).status).toBe(200)
  })

  it.for([
    ["owner", [], 200],
    ["admin", [], 200],
    ["manager", [], 200],
    ["developer", [], 403],
    ["user", [], 403],
    ["user", ["Use phone"], 200],
    ["developer", ["Use phone"], 200],
    ["user", ["Manage phone", "Send email"], 403],
  ] as const)("asks what the person may: %s with %s is %i", async ([role, permissions, wanted]) => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { role, permissions })
    const { status, body } = await sendText(world, key)
    expect(status).toBe(wanted)
    expect(body.error).toBe(wanted === 200 ? undefined : "not_allowed")
  })

  it("does not ask what a person may where the app's shared key speaks for the company", async () => {
    const { companyId } = await makeCompany(world)
    const { key } = await world.operate("key create", {
      company: companyId,
      app: true,
      operations: ["phone.messages.send"],
    })
    expect((await sendText(world, key)).status).toBe(200)
  })
})
