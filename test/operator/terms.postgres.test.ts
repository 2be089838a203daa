/** Funds and their corrections, credit lines, purchases by keys, and prices. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { beforeEach, describe, expect, it } from "vitest"
import { purchaseAllowanceOf } from "../../domain/charging/ledger-views.ts"
import { operatorRefusalOf } from "./fake-host.ts"
import { type Company, makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

const TEXTS = "/api/v1/phone/messages"
const world = await ownWorld("prices")
let company: Company
let numbers = 200

beforeEach(async () => {
  company = await makeCompany(world, { funds: "0.009" })
})

const correct = (dollars: string, reason: string | null = "a chargeback") =>
  world.operate("funds correct", { company: company.companyId, dollars }, reason)

const change = (input: object) =>
  world.operate("company change", { company: company.companyId, ...input })

const show = () => world.operate("company show", { company: company.companyId })

function text() {
  numbers += 1
  const body = { to: `+14155550${numbers}`, body: "STOP to end" }
  return world.call(company.key, "POST", TEXTS, { body })
}

const codeOf = async (done: Promise<unknown>) => (await operatorRefusalOf(done)).code

await makeCallsFree(world)

describe("funds correct", () => {
  it("increases and reduces the funds, even below zero, and records the reason", async () => {
    expect(await correct("1.5")).toMatchObject({ balanceMicros: 1_509_000 })
    expect(await correct("-2")).toMatchObject({ correctedMicros: -2_000_000 })
    expect((await show()).balanceMicros).toBe(-491_000)
    const stream = ledgerStreamOf(company.companyId).stream
    const { events } = await world.operate("audit show", { stream, type: "FundsCorrected" })
    expect(events[1]).toMatchObject({
      data: { amountMicros: "-2000000", reason: "a chargeback" },
      metadata: { actor: "test", reason: "a chargeback" },
    })
    expect((await text()).body).toMatchObject({ error: "payment_required", balance: -0.491 })
  })

  it("rejects zero, too large an amount, and a correction without a reason", async () => {
    expect(await codeOf(correct("0"))).toBe("bad_amount")
    expect(await codeOf(correct("9000000000"))).toBe("bad_amount")
    expect(await codeOf(correct("1", null))).toBe("validation")
    expect((await show()).balanceMicros).toBe(9_000)
  })
})

describe("company change", () => {
  it("lets a company that pays by card spend its credit line, to the micro", async () => {
    await change({ pays: "card", creditLine: "0.018" })
    const answers = [await text(), await text(), await text(), await text()]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 402])
    expect((await show()).balanceMicros).toBe(-18_000)
  })

  it("rejects a credit line for a company that pays from prepaid funds", async () => {
    expect(await codeOf(change({ creditLine: "5" }))).toBe("validation")
    await change({ pays: "card", creditLine: "5" })
    expect(await codeOf(change({ pays: "prepaid" }))).toBe("validation")
    expect(await show()).toMatchObject({ pays: "card", creditLineMicros: 5_000_000 })
    expect(await change({ pays: "prepaid", creditLine: "0" })).toMatchObject({ pays: "prepaid" })
  })

  it("hides payment instructions from a prepaid-only company, and stops its credit line", async () => {
    await change({ pays: "card", creditLine: "5", prepaidOnly: "on" })
    expect((await text()).status).toBe(200)
    const refused = await text()
    expect(refused.status).toBe(402)
    expect(refused.body).not.toHaveProperty("pay")
    await change({ prepaidOnly: "off" })
    expect((await text()).status).toBe(200)
  })

  it("changes only the plan", async () => {
    await change({ plan: "79" })
    expect(await show()).toMatchObject({ plan: "79", pays: "prepaid", prepaidOnly: false })
  })
})

describe("key change", () => {
  const allowance = () =>
    world.ports.runner.read(ledgerStreamOf(company.companyId), (state, at) =>
      purchaseAllowanceOf(state, company.keyId, at),
    )

  it("turns purchases on, to review, and off", async () => {
    const { keyId } = company
    expect(await codeOf(world.operate("key change", { keyId, purchases: "on" }))).toBe("validation")
    const limits = { addFundsPerPurchase: "20", addFundsPerMonth: "50" }
    await world.operate("key change", { keyId, ...limits })
    expect(await allowance()).toMatchObject({ mode: "on", perPurchaseMicros: 20_000_000 })
    const { keys } = await world.operate("key list", { company: company.companyId })
    const addFunds = { mode: "on", perPurchaseMicros: 20_000_000, perMonthMicros: 50_000_000 }
    expect(keys.find((one: { keyId: string }) => one.keyId === keyId)).toMatchObject({ addFunds })
    await world.operate("key change", { keyId, purchases: "review" })
    expect(await allowance()).toMatchObject({ mode: "needs_owner_review" })
    await world.operate("key change", { keyId, purchases: "off", addFundsPerMonth: "60" })
    expect(await allowance()).toMatchObject({ mode: "off", perMonthMicros: 60_000_000 })
  })

  it("changes a key's operations, and reports which were added and removed", async () => {
    const { keyId, key } = company
    const sending = { keyId, operations: ["phone.messages.send"] }
    const { removed, added } = await world.operate("key change", sending)
    expect(removed).toContain("team.people.read")
    expect(added).toEqual([])
    expect((await world.call(key, "GET", "/api/v1/people")).body).toMatchObject({
      error: "operation_not_granted",
      operation: "team.people.read",
    })
    const reading = { keyId, operations: ["team.people.read"] }
    expect(await world.operate("key change", reading)).toMatchObject({
      added: ["team.people.read"],
      removed: ["phone.messages.send"],
    })
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
    const { keys } = await world.operate("key list", { company: company.companyId })
    expect(keys).toMatchObject([{ keyId, operations: ["team.people.read"] }])
    await world.operate("key change", { keyId, allOperations: true })
    expect((await text()).status).toBe(200)
  })

  it("changes nothing if the change of purchases is rejected", async () => {
    const { keyId, key } = company
    const both = { keyId, operations: ["phone.messages.send"], purchases: "on" }
    expect(await codeOf(world.operate("key change", both))).toBe("validation")
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
  })

  it("suggests the nearest operation for an unknown one, and rejects operations without a route", async () => {
    const { keyId, key } = company
    const granting = (name: string) =>
      world.operate("key change", { keyId, operations: [name, "phone.messages.send"] })
    await expect(granting("phone.message.send")).rejects.toThrow(
      /phone\.message\.send is not an operation; did you mean phone\.messages\.send\?/,
    )
    await expect(granting("nonsense")).rejects.toThrow(/is not an operation; .{1,2}operation list/)
    await expect(granting("ai.models.use")).rejects.toThrow(/has no route yet/)
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
  })

  it("rejects a key that is deleted or does not exist", async () => {
    const { keyId } = company
    await world.operate("key delete", { keyId })
    const all = { allOperations: true }
    expect(await codeOf(world.operate("key change", { keyId, ...all }))).toBe("no_such_key")
    expect(await codeOf(world.operate("key change", { keyId: "key_none", ...all }))).toBe(
      "not_found",
    )
  })

  it("changes the instructions of a 402 for the key", async () => {
    await text()
    const instructions = async () => String((await text()).body.pay.instructions)
    expect(await instructions()).toMatch(/^An owner must turn on Add funds/)
    const limits = { addFundsPerPurchase: "20", addFundsPerMonth: "50" }
    await world.operate("key change", { keyId: company.keyId, ...limits })
    expect(await instructions()).toMatch(/^Send this request/)
  })
})

describe("price set", () => {
  it("makes a new version; former charges keep their version", async () => {
    const { version } = await world.operate("price list")
    await text()
    const set = { item: "text_segment", dollars: "0.01" }
    expect(await world.operate("price set", set)).toMatchObject({ version: version + 1 })
    expect(await world.operate("price set", set)).toMatchObject({ changed: false })
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    await text()
    const stream = ledgerStreamOf(company.companyId).stream
    const { events } = await world.operate("audit show", { stream, type: "Charged" })
    expect(events.map(({ data }: { data: object }) => data)).toEqual([
      expect.objectContaining({ unitPriceMicros: "9000", priceVersion: version }),
      expect.objectContaining({ unitPriceMicros: "10000", priceVersion: version + 1 }),
    ])
    const { prices } = await world.operate("price list")
    const shown = { item: "text_segment", name: "Text message segment", unitPriceMicros: 10_000 }
    expect(prices).toContainEqual(shown)
    expect(await codeOf(world.operate("price set", { ...set, dollars: "-1" }))).toBe("bad_amount")
    await world.operate("price set", { item: "text_segment", dollars: "0.009" })
  })
})

describe("funds add", () => {
  beforeEach(async () => {
    company = await makeCompany(world, { funds: "0" })
  })
  const add = (dollars: string, reference: string) =>
    world.operate("funds add", { company: company.companyId, dollars, reference })
  const balance = async () => (await show()).balanceMicros

  it("adds funds once per reference", async () => {
    expect(await add("12345.67", "invoice #77")).toMatchObject({ added: true })
    expect(await add("12345.67", "invoice #77")).toMatchObject({ added: false })
    expect(await add("5", "invoice #78")).toMatchObject({ added: true })
    expect(await balance()).toBe(12_350_670_000)
  })

  it("rejects a reference that is recorded with another amount, and adds nothing", async () => {
    await add("12345.67", "invoice #77")
    await expect(add("5", "invoice #77")).rejects.toMatchObject({
      code: "idempotency_conflict",
      message:
        'Funds were added as "invoice #77" with another amount, $12345.67. Nothing was added. ' +
        "Use a new reference.",
      details: { reference: "invoice #77", recorded: { amountMicros: 12_345_670_000 } },
    })
    expect(await balance()).toBe(12_345_670_000)
  })

  it("accepts only one amount for concurrent calls with the same reference", async () => {
    const ends = await Promise.allSettled(
      ["5", "6", "5", "6"].map((dollars) => add(dollars, "wire")),
    )
    const fulfilled = ends.filter(({ status }) => status === "fulfilled")
    expect(fulfilled).toHaveLength(2)
    expect([5_000_000, 6_000_000]).toContain(await balance())
  })

  it("accepts a reference that another company has used", async () => {
    const other = await makeCompany(world, { funds: "0" })
    await world.operate("funds add", { company: other.companyId, dollars: "1", reference: "wire" })
    expect(await add("5", "wire")).toMatchObject({ added: true })
  })
})
