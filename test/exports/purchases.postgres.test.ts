import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import { exported } from "./exported.ts"

const world = await ownWorld("time")
await makeCallsFree(world)
await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
const company = await makeCompany(world)

describe("a month in which funds were bought", () => {
  it("has a line for what was paid, and none for what was refused or is not known", async () => {
    const { companyId, keyId, key } = company
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
    const { lines, result } = await exported(world, company, "2031-03")
    const bought = lines.filter(({ kind }) => kind === "purchase")
    expect(bought).toMatchObject([
      { amount_micros: "12340000", resource: paid.body.purchaseId, key_id: keyId },
    ])
    expect(result.closingMicros).toBe(62_340_000)
    expect(result.openingMicros + result.fundsChangeMicros).toBe(result.closingMicros)
    await world.operate("clock advance", { duration: "1m" })
    const later = await exported(world, company, "2031-03")
    expect(later.lines.filter(({ kind }) => kind === "purchase")).toHaveLength(2)
    expect(later.result.closingMicros).toBe(92_340_000)
    const { ok } = await world.operate("audit verify", { company: companyId })
    expect(ok).toBe(true)
  })
})
