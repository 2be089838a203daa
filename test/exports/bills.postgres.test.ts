/** The months that a company has bills of. */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
const company = await makeCompany(world)

const months = async () => {
  const { bills } = await world.operate("bill list", { company: company.companyId })
  return bills as readonly Record<string, unknown>[]
}
const nothing = { addedMicros: 0, purchasedMicros: 0, correctedMicros: 0, givenBackMicros: 0 }

describe("bill list", () => {
  it("shows the month that is open, and what moved the funds in it", async () => {
    const spends = { company: company.companyId, person: company.ownerId, class: "ai" }
    const { chargeId } = await world.operate("charge", { ...spends, item: "chat", dollars: "2.5" })
    await world.operate("charge", { ...spends, item: "chat", dollars: "1" })
    await world.operate("charge give-back", { chargeId }, "a test")
    expect(await months()).toEqual([
      {
        ...nothing,
        month: "2031-03",
        state: "open",
        openingMicros: 0,
        charges: 2,
        addedMicros: 50_000_000,
        chargedMicros: 3_500_000,
        givenBackMicros: 2_500_000,
        closingMicros: 49_000_000,
      },
    ])
  })

  it("shows closed months and the open one, the newest first, each once", async () => {
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
    expect(after[1]).toMatchObject({ ...opens, ...nothing, closingMicros: 49_000_000 })
    const sums = (list: readonly Record<string, unknown>[]) =>
      list.map(({ state: _state, ...one }) => one)
    expect(sums(after.slice(1))).toEqual(sums(before.slice(1)))
  })
})
