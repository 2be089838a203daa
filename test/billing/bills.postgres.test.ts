/** The operation `bill list`, and purchases and API calls in bills. */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { exportMonth, exportMonthAs, csvRecords } from "./bill-export.ts"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
const company = await makeCompany(world)

describe("a month in which funds were bought", () => {
  it("has a line for each paid purchase, and none for declined and pending ones", async () => {
    const { companyId, keyId, key } = await makeCompany(world)
    await world.operate("key change", { keyId, addFundsPerPurchase: "60", addFundsPerMonth: "200" })
    const buy = async (outcome: string, amount: number) => {
      await world.operate("card set", { company: companyId, outcome })
      const headers = { "idempotency-key": `${companyId} ${outcome}` }
      return world.call(key, "POST", "/api/v1/credits", { body: { amount }, headers })
    }
    const paid = await buy("paid", 12.34)
    await buy("declined", 20)
    await buy("processing", 30)
    await world.operate("wait")
    const { lines, result } = await exportMonth(world, { companyId }, "2031-03")
    const bought = lines.filter(({ kind }) => kind === "purchase")
    expect(bought).toMatchObject([
      { amount_micros: "12340000", resource: paid.body.purchaseId, key_id: keyId },
    ])
    expect(result.closingMicros).toBe(62_340_000)
    expect(result.openingMicros + result.fundsChangeMicros).toBe(result.closingMicros)
    await world.operate("clock advance", { duration: "1m" })
    const later = await exportMonth(world, { companyId }, "2031-03")
    expect(later.lines.filter(({ kind }) => kind === "purchase")).toHaveLength(2)
    expect(later.result.closingMicros).toBe(92_340_000)
    const { ok } = await world.operate("audit verify", { company: companyId })
    expect(ok).toBe(true)
  })
})

const months = async () => {
  const { bills } = await world.operate("bill list", { company: company.companyId })
  return bills as readonly Record<string, unknown>[]
}
const NO_SUMS = { addedMicros: 0, purchasedMicros: 0, correctedMicros: 0, reducedMicros: 0 }

describe("bill list", () => {
  it("shows the open month, with the sums of its changes", async () => {
    const spends = { company: company.companyId, person: company.ownerId, class: "ai" }
    const { chargeId } = await world.operate("charge", { ...spends, item: "chat", dollars: "2.5" })
    await world.operate("charge", { ...spends, item: "chat", dollars: "1" })
    await world.operate("charge refund", { chargeId }, "a test")
    expect(await months()).toEqual([
      {
        ...NO_SUMS,
        month: "2031-03",
        state: "open",
        openingMicros: 0,
        charges: 2,
        addedMicros: 50_000_000,
        chargedMicros: 3_500_000,
        reducedMicros: 2_500_000,
        closingMicros: 49_000_000,
      },
    ])
  })

  it("shows the open month and closed months once each, newest first", async () => {
    await world.operate("clock set", { to: "2031-05-02T12:00:00.000Z" })
    await world.operate("wait")
    const before = await months()
    expect(before.map(({ month }) => month)).toEqual(["2031-05", "2031-04", "2031-03"])
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    const after = await months()
    expect(after.map(({ month, state }) => [month, state])).toEqual([
      ["2031-05", "open"],
      ["2031-04", "closed"],
      ["2031-03", "closed"],
    ])
    const opens = { openingMicros: 49_000_000, chargedMicros: 0, charges: 0 }
    expect(after[0]).toMatchObject({ ...opens, addedMicros: 1_000_000, closingMicros: 50_000_000 })
    expect(after[1]).toMatchObject({ ...opens, ...NO_SUMS, closingMicros: 49_000_000 })
    const sums = (list: readonly Record<string, unknown>[]) =>
      list.map(({ state: _state, ...one }) => one)
    expect(sums(after.slice(1))).toEqual(sums(before.slice(1)))
  })
})

/** Its API calls are counted on one day and charged in the following night. */
const caller = await makeCompany(world)

/** Makes a call today, and moves the clock to the night in which it is charged. */
async function callUntil(night: string): Promise<void> {
  expect((await world.call(caller.key, "GET", "/api/v1/phone/messages")).status).toBe(200)
  await world.operate("wait")
  await world.operate("clock set", { to: night })
  await world.operate("wait")
}

async function refundCalls(day: string): Promise<void> {
  await world.operate(
    "charge refund",
    { company: caller.companyId, chargeId: `${caller.keyId}:${caller.ownerId}:${day}` },
    "they were ours",
  )
}

/** A month's lines about calls: kind, charge class and dollars. */
async function linesOf(month: string) {
  const { bytes } = await exportMonthAs(world, caller, month, "focus-csv")
  return csvRecords(bytes.toString("utf8"))
    .filter((row) => row["x_Kind"] === "api_calls" || row["x_Kind"] === "give_back")
    .map((row) => [row["x_Kind"], row["ChargeClass"], row["BilledCost"]])
}

describe("API calls of a month's last day", () => {
  it("are charged in the next month, and a refund there is not a correction", async () => {
    await world.operate("clock set", { to: "2031-06-29T12:00:00.000Z" })
    await callUntil("2031-06-30T12:00:00.000Z")
    await callUntil("2031-07-01T12:00:00.000Z")
    await refundCalls("2031-06-29")
    await refundCalls("2031-06-30")
    expect(await linesOf("2031-06")).toEqual([["api_calls", "", "0.0001"]])
    expect(await linesOf("2031-07")).toEqual([
      ["api_calls", "", "0.0001"],
      // A refund of a charge in June's closed bill is a correction; one of a charge in this bill is not.
      ["give_back", "Correction", "-0.0001"],
      ["give_back", "", "-0.0001"],
    ])
  })

  it("are corrected once their bill is closed", async () => {
    await world.operate("clock set", { to: "2031-07-31T12:00:00.000Z" })
    await callUntil("2031-08-01T12:00:00.000Z")
    await world.operate("clock set", { to: "2031-09-01T12:00:00.000Z" })
    await refundCalls("2031-07-31")
    expect(await linesOf("2031-08")).toEqual([["api_calls", "", "0.0001"]])
    expect(await linesOf("2031-09")).toEqual([["give_back", "Correction", "-0.0001"]])
  })
})
