import { describe, expect, it } from "vitest"
import { monthEnd } from "../../domain/kernel/window.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import { postText } from "../phone/text-requests.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { makeCompany, makeKey, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")

const URL = "/api/v1/credits"

describe("GET /credits 200", () => {
  it("shows the balance, and that a key without Add funds cannot buy", async () => {
    const { key } = await makeCompany(world, { funds: "12.345678" })
    const { status, body } = await world.call(key, "GET", URL)
    expect(status).toBe(200)
    expect(body).toEqual({
      balance: 12.345678,
      purchases: "off",
      perPurchaseLimit: null,
      monthlyLimit: null,
      boughtThisMonth: 0,
      pending: 0,
      remainingThisMonth: null,
      cardOnFile: true,
    })
  })

  it("shows the limits of a key with Add funds", async () => {
    const { key } = await makeCompany(world, {
      key: { addFundsPerPurchase: "25", addFundsPerMonth: "100.50" },
    })
    const { body } = await world.call(key, "GET", URL)
    expect(body).toMatchObject({
      purchases: "on",
      perPurchaseLimit: 25,
      monthlyLimit: 100.5,
      boughtThisMonth: 0,
      remainingThisMonth: 100.5,
    })
  })

  it("counts paid and pending purchases in the month in which they began", async () => {
    const company = await makeCompany(world, { funds: "1" })
    const { key, keyId } = company
    const terms = { perPurchaseMicros: 9_000_000, perMonthMicros: 20_000_000 }
    const nextMonth = monthEnd(world.ports.clock.now())
    const moveTo = (at: number) => world.operate("clock set", { to: new Date(at).toISOString() })
    await moveTo(nextMonth - 1_000)
    const start = (purchaseId: PurchaseId, amountMicros: number) =>
      ({ type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros }) as const
    await executeCommands(
      world,
      company,
      { type: "SetPurchaseTerms", keyId, mode: "on", ...terms },
      start("pur_a", 5_000_000),
      start("pur_b", 6_000_000),
      start("pur_c", 7_500_000),
      { type: "PayPurchase", purchaseId: "pur_a", paymentId: "pay_a" },
      { type: "FailPurchase", purchaseId: "pur_b", code: "declined", paymentId: null },
    )
    const limits = { purchases: "on", perPurchaseLimit: 9, monthlyLimit: 20 }
    expect((await world.call(key, "GET", URL)).body).toMatchObject({
      ...limits,
      balance: 6,
      boughtThisMonth: 5,
      pending: 7.5,
      remainingThisMonth: 7.5,
    })
    await moveTo(nextMonth)
    await executeCommands(world, company, {
      type: "PayPurchase",
      purchaseId: "pur_c",
      paymentId: "pay_c",
    })
    const later = (await world.call(key, "GET", URL)).body
    expect(later).toMatchObject({
      ...limits,
      boughtThisMonth: 0,
      pending: 0,
      remainingThisMonth: 20,
    })
    expect(later.balance).toBe(13.5)
  })

  it("shows no remaining allowance if an owner lowered the monthly limit below the purchases", async () => {
    const company = await makeCompany(world)
    const { key, keyId } = company
    const terms = { perPurchaseMicros: 9_000_000, perMonthMicros: 20_000_000 }
    await executeCommands(
      world,
      company,
      { type: "SetPurchaseTerms", keyId, mode: "on", ...terms },
      {
        type: "StartPurchase",
        purchaseId: "pur_low",
        keyId,
        personId: null,
        amountMicros: 9_000_000,
      },
      {
        type: "SetPurchaseTerms",
        keyId,
        mode: "needs_owner_review",
        ...terms,
        perMonthMicros: 1_000_000,
      },
    )
    expect((await world.call(key, "GET", URL)).body).toMatchObject({
      purchases: "needs_owner_review",
      monthlyLimit: 1,
      pending: 9,
      remainingThisMonth: 0,
    })
  })

  it("shows a key only its own terms and purchases", async () => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { role: "manager" })
    const terms = { perPurchaseMicros: 9_000_000, perMonthMicros: 20_000_000 }
    const { keyId } = company
    await executeCommands(world, company, { type: "SetPurchaseTerms", keyId, mode: "on", ...terms })
    expect((await world.call(key, "GET", URL)).body).toMatchObject({
      purchases: "off",
      perPurchaseLimit: null,
      boughtThisMonth: 0,
    })
  })

  it("follows each charge and each added amount, exact to the micro-dollar", async () => {
    const { companyId, key } = await makeCompany(world, { funds: "1" })
    await postText(world, key)
    expect((await world.call(key, "GET", URL)).body.balance).toBe(0.991)
    await world.operate("funds add", { company: companyId, dollars: "0.000001" })
    await world.operate("wait")
    expect((await world.call(key, "GET", URL)).body.balance).toBe(0.991001)
  })

  it("counts funds with the same reference once", async () => {
    const { companyId, key } = await makeCompany(world, { funds: "1" })
    const adding = { company: companyId, dollars: "2", reference: "invoice 7" }
    await world.operate("funds add", adding)
    await world.operate("funds add", adding)
    await world.operate("wait")
    expect((await world.call(key, "GET", URL)).body.balance).toBe(3)
  })

  it("shows whether a card is on file", async () => {
    const { companyId, key } = await makeCompany(world)
    await world.operate("card remove", { company: companyId })
    expect((await world.call(key, "GET", URL)).body.cardOnFile).toBe(false)
  })

  it("shows only the company's own balance", async () => {
    const one = await makeCompany(world, { funds: "7" })
    const other = await makeCompany(world, { funds: "8" })
    expect((await world.call(one.key, "GET", URL)).body.balance).toBe(7)
    expect((await world.call(other.key, "GET", URL)).body.balance).toBe(8)
  })

  it("is 0 for a company that never had funds", async () => {
    const { key } = await makeCompany(world, { funds: "0" })
    expect((await world.call(key, "GET", URL)).body.balance).toBe(0)
  })
})

describe("GET /credits 403", () => {
  it.for([
    ["manager", 200],
    ["developer", 403],
    ["user", 403],
  ] as const)("requires See billing: %s gets %i", async ([role, expected]) => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { role })
    expect((await world.call(key, "GET", URL)).status).toBe(expected)
  })

  it("requires account.balance.read", async () => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
    const { body } = await world.call(key, "GET", URL)
    expect(body).toMatchObject({
      error: "operation_not_granted",
      operation: "account.balance.read",
    })
  })
})
