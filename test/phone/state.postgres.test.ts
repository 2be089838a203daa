import { describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { bought } from "./numbering.ts"

const world = await sharedWorld()

const read = async ({ key }: Company) => (await world.call(key, "GET", "/api/v1/phone/state")).body

describe("the phone at a glance", () => {
  it("says what there is, what the next number costs, and how registration stands", async () => {
    const company = await makeCompany(world)
    const { id } = await bought(world, company)
    const state = await read(company)
    expect(state.numbers.map((one: { id: string }) => one.id)).toContain(id)
    expect(state).toMatchObject({
      testMode: true,
      mock: true,
      balanceMicros: 48_500_000,
      availableMicros: 48_500_000,
      paysByCard: false,
      cardFailing: false,
      nextNumberMicros: 1_500_000,
      nextTollFreeMicros: 2_500_000,
      pagesPassedAt: null,
      business: null,
      texting: "not_sent",
    })
  })

  it("says what may be spent: the least of the funds and of every limit on this caller", async () => {
    const company = await makeCompany(world)
    const { companyId, ownerId, keyId } = company
    const available = async () => (await read(company)).availableMicros
    const limits = [
      { company: companyId, class: "general", period: "month", dollars: "20" },
      { company: companyId, person: ownerId, class: "general", period: "week", dollars: "10" },
      { company: companyId, key: keyId, period: "day", dollars: "5" },
      { company: companyId, class: "ai", period: "month", dollars: "1" },
    ]
    // Each call of the API is counted in them.
    const about = (dollars: number) => expect.closeTo(dollars * 1_000_000, -4) as number
    for (const [i, dollars] of [20, 10, 5, 5].entries()) {
      await world.operate("limit set", limits[i])
      expect(await available()).toEqual(about(dollars))
    }
  })

  it("knows a card that fails, and how the company pays", async () => {
    const company = await makeCompany(world)
    await world.operate("company change", { company: company.companyId, pays: "card" })
    expect(await read(company)).toMatchObject({ paysByCard: true, cardFailing: false })
  })
})
