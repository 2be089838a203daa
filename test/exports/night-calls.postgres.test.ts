/**
 * API calls weigh on the day they are counted and are charged in the night after it, on a month's last
 * day by a line of the next month's bill: a give-back corrects the bill that has the line.
 */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { exportedAs, tableOf } from "./exported.ts"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2031-06-29T12:00:00.000Z" })
const company = await makeCompany(world)

/** Makes a call today, and comes to the night in which it is charged. */
async function callUntil(night: string): Promise<void> {
  expect((await world.call(company.key, "GET", "/api/v1/phone/messages")).status).toBe(200)
  await world.operate("wait")
  await world.operate("clock set", { to: night })
  await world.operate("wait")
}

/** Gives the calls of a day back. */
async function giveBack(day: string): Promise<void> {
  await world.operate(
    "charge give-back",
    { company: company.companyId, chargeId: `${company.keyId}:${company.ownerId}:${day}` },
    "they were ours",
  )
}

/** The lines of a month about calls: what happened, of which class, and dollars. */
async function linesOf(month: string) {
  const { bytes } = await exportedAs(world, company, month, "focus-csv")
  return tableOf(bytes.toString("utf8"))
    .filter((row) => row["x_Kind"] === "api_calls" || row["x_Kind"] === "give_back")
    .map((row) => [row["x_Kind"], row["ChargeClass"], row["BilledCost"]])
}

describe("calls of a month's last day", () => {
  it("are charged in the next month, and given back there they are no correction", async () => {
    await callUntil("2031-06-30T12:00:00.000Z")
    await callUntil("2031-07-01T12:00:00.000Z")
    await giveBack("2031-06-29")
    await giveBack("2031-06-30")
    expect(await linesOf("2031-06")).toEqual([["api_calls", "", "0.0001"]])
    expect(await linesOf("2031-07")).toEqual([
      ["api_calls", "", "0.0001"],
      // What the closed bill of June has is corrected; what this bill has itself is not.
      ["give_back", "Correction", "-0.0001"],
      ["give_back", "", "-0.0001"],
    ])
  })

  it("are corrected where their bill is closed, too", async () => {
    await world.operate("clock set", { to: "2031-07-31T12:00:00.000Z" })
    await callUntil("2031-08-01T12:00:00.000Z")
    await world.operate("clock set", { to: "2031-09-01T12:00:00.000Z" })
    await giveBack("2031-07-31")
    expect(await linesOf("2031-08")).toEqual([["api_calls", "", "0.0001"]])
    expect(await linesOf("2031-09")).toEqual([["give_back", "Correction", "-0.0001"]])
  })
})
