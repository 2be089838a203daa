/** The list of opt-ins, fed by the fact as it is stored: what takes it in is not there yet. */
import { describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { optIn } from "./opted-in.ts"
import { newNumber, sendText } from "./texting.ts"

const URL = "/api/v1/phone/optins"

const world = await ownWorld("time")

async function list({ key }: Pick<Company, "key">) {
  await world.operate("wait")
  const { status, body } = await world.call(key, "GET", URL)
  expect(status).toBe(200)
  return body.optins
}

describe("GET /api/v1/phone/optins", () => {
  it("lists a company's own opt-ins, newest first", async () => {
    const [company, other] = [await makeCompany(world), await makeCompany(world)]
    const [first, second] = [newNumber(), newNumber()]
    await optIn(world, company, first)
    const later = { optInId: "opt_0002", at: Date.UTC(2026, 3, 1), offers: false, sourceUrl: null }
    await optIn(world, company, second, later)
    await optIn(world, other, newNumber())
    const said = { firstName: "Ada", service: true, method: "web" }
    expect(await list(company)).toEqual([
      {
        ...said,
        id: "opt_0002",
        phone: second,
        offers: false,
        sourceUrl: null,
        createdAt: "2026-04-01T00:00:00.000Z",
      },
      {
        ...said,
        id: "opt_0001",
        phone: first,
        offers: true,
        sourceUrl: "https://acme.example/texts",
        createdAt: "2026-03-30T09:15:00.250Z",
      },
    ])
    expect(await list(other)).toHaveLength(1)
  })

  it("is empty where nobody agreed", async () => {
    expect(await list(await makeCompany(world))).toEqual([])
  })

  it("ends no STOP, and is in an audit that holds", async () => {
    const company = await makeCompany(world)
    const phone = newNumber()
    const stoppedAt = Date.UTC(2026, 2, 1)
    const standing = { stoppedAt, stopKeyword: "STOP", addedAt: null, firstMessageId: null }
    await optIn(world, company, phone, { standing })
    await expect(sendText(world, company.key, { to: phone })).resolves.toMatchObject({
      status: 409,
    })
    const { checks } = await world.operate("audit verify", { company: company.companyId })
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  })

  it("shows nothing of a person once the company is erased", async () => {
    const company = await makeCompany(world)
    await optIn(world, company, newNumber())
    await list(company)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const rows = await world.ports.readAll
      .selectFrom("opt_ins")
      .selectAll()
      .where("company_id", "=", company.companyId)
      .execute()
    expect(rows).toMatchObject([{ phone: null, first_name: null, source_url: null }])
  })
})
