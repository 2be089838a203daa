/** Funds as an operator adds them. */
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(world, "0")
})

const add = (dollars: string, reference: string) =>
  world.operate("funds add", { company: company.companyId, dollars, reference })
const balance = async () =>
  (await world.operate("company show", { company: company.companyId })).balanceMicros

describe("funds add", () => {
  it("adds a reference once, and the same again adds nothing", async () => {
    expect(await add("12345.67", "invoice #77")).toMatchObject({ added: true })
    expect(await add("12345.67", "invoice #77")).toMatchObject({ added: false })
    expect(await add("5", "invoice #78")).toMatchObject({ added: true })
    expect(await balance()).toBe(12_350_670_000)
  })

  it("refuses a reference that is recorded with another sum, and adds nothing", async () => {
    await add("12345.67", "invoice #77")
    await expect(add("5", "invoice #77")).rejects.toMatchObject({
      code: "idempotency_conflict",
      message:
        'Funds were added as "invoice #77" with another sum, $12345.67; nothing was added now. ' +
        "Use a new reference for it.",
      details: { reference: "invoice #77", recorded: { amountMicros: 12_345_670_000 } },
    })
    expect(await balance()).toBe(12_345_670_000)
  })

  it("tells the one of many at once that adds another sum", async () => {
    const ends = await Promise.allSettled(["5", "6", "5", "6"].map((sum) => add(sum, "wire")))
    const fine = ends.filter(({ status }) => status === "fulfilled")
    expect(fine).toHaveLength(2)
    expect([5_000_000, 6_000_000]).toContain(await balance())
  })

  it("takes a reference for what another company has too", async () => {
    const other = await makeCompany(world, "0")
    await world.operate("funds add", { company: other.companyId, dollars: "1", reference: "wire" })
    expect(await add("5", "wire")).toMatchObject({ added: true })
  })
})
