import { beforeEach, describe, expect, it } from "vitest"
import type { ListedJob } from "../../adapters/postgres/jobs/port.ts"
import { collectRent } from "../../src/phone/reactions/rent.ts"
import { jobOf } from "../effects/texts.ts"
import {
  fundsMicrosOf,
  makeCallsFree,
  makeCompany,
  ownWorld,
  setLimit,
  type Company,
} from "../support/world.ts"
import {
  LOCAL_NUMBER_MICROS,
  buyNumberForId,
  requestNumber,
  numberChargesOf,
  numbersOf,
  rentsOf,
} from "./number-orders.ts"
import { postText } from "./text-requests.ts"

const DAY_MS = 86_400_000

const world = await ownWorld("time", { rateLimits: "off" })
await makeCallsFree(world)
let company: Company
/** The tenth of a month, when a test begins; each test has later months than the one before. */
let begunAt = world.ports.clock.now()

beforeEach(async () => {
  const now = new Date(world.ports.clock.now())
  begunAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 10, 8)
  await at(month(0))
})

/** The time, so many months and milliseconds after the test began. */
function month(count: number, ms = 0): string {
  const begun = new Date(begunAt)
  const tenth = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + count, 10, 8)
  return new Date(tenth + ms).toISOString()
}

const nameOf = (time: string) => time.slice(0, "2040-01".length)

async function at(to: string): Promise<void> {
  await world.operate("clock set", { to })
  await world.operate("wait")
}

const mailsOf = async ({ companyId }: Company): Promise<readonly { readonly subject: string }[]> =>
  (await world.operate("mail list", { company: companyId })).mails

/** The number that a company got last, by what an operator is told: that counts as no call. */
const last = async ({ companyId }: Company): Promise<Record<string, unknown> | undefined> =>
  (await world.operate("number list", { company: companyId })).numbers.at(-1)

describe("rent", () => {
  it("is charged to the company each month on the day of buying", async () => {
    const year = new Date(begunAt).getUTCFullYear() + 1
    await at(`${year}-01-31T08:00:00.000Z`)
    company = await makeCompany(world)
    const { id } = await buyNumberForId(world, company)
    await at(`${year}-02-28T07:59:59.999Z`)
    expect(await rentsOf(world, company)).toHaveLength(1)
    await at(`${year}-02-28T08:00:00.000Z`)
    await at(`${year}-03-31T08:00:00.000Z`)
    expect((await rentsOf(world, company)).slice(1)).toEqual(
      ["02-28", "03-31"].map((day) => ({
        micros: LOCAL_NUMBER_MICROS,
        state: "final",
        name: `${year}-${day.slice(0, 2)}`,
        at: `${year}-${day}T08:00:00.000Z`,
      })),
    )
    expect(await last(company)).toMatchObject({ id, paidThrough: `${year}-04-30T08:00:00.000Z` })
    // The number that came with the company costs nothing.
    expect((await numbersOf(world, company))[0]).toMatchObject({ paidThrough: null })
  })

  it("of missed months is charged in their order", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await at(month(3, DAY_MS))
    const names = (await rentsOf(world, company)).map(({ name }) => name)
    expect(names).toEqual(["first", ...[1, 2, 3].map((count) => nameOf(month(count)))])
    expect(await last(company)).toMatchObject({ paidThrough: month(4) })
  })

  it("is charged when it is due, however often an operator calls it before", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await world.operate("wait")
    const { jobs: work } = await world.operate("job list")
    const isOwn = (row: ListedJob) => row.companyId === company.companyId && row.kind === "rent"
    const { jobId, name } = (work as ListedJob[]).find(isOwn) as ListedJob
    const dueAt = month(1)
    for (const operation of ["job retry", "job discard", "job retry"]) {
      await expect(world.operate(operation, { jobId })).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining(dueAt),
      })
    }
    await world.operate("wait")
    // Also where it is called early by anything else.
    const row = await jobOf(world, "rent", name)
    const put = { result: "rescheduled", dueAt: Date.parse(dueAt) }
    expect(await collectRent.perform(world.ports, row)).toEqual(put)
    expect(await rentsOf(world, company)).toHaveLength(1)
    await at(dueAt)
    expect(await rentsOf(world, company)).toHaveLength(2)
  })

  it("that was refused is charged again when an operator retries it", async () => {
    company = await makeCompany(world, { funds: "1.50" })
    const { id } = await buyNumberForId(world, company)
    await at(month(1))
    expect(await rentsOf(world, company)).toHaveLength(1)
    await world.operate("funds add", { company: company.companyId, dollars: "10" })
    const { jobId } = await jobOf(world, "rent", `${id}:${nameOf(month(1))}`)
    expect(await world.operate("job retry", { jobId })).toMatchObject({ state: "done" })
    expect(await rentsOf(world, company)).toHaveLength(2)
  })

  it("costs what the price book says when it is due", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await world.operate("price set", { item: "number_month_local", dollars: "2" })
    expect(await last(company)).toMatchObject({ monthlyMicros: 2_000_000 })
    await at(month(1))
    await world.operate("price set", { item: "number_month_local", dollars: "1.5" })
    expect((await numberChargesOf(world, company)).map(({ micros }) => micros)).toEqual([
      LOCAL_NUMBER_MICROS,
      2_000_000,
    ])
  })

  it("takes the funds below zero once; the next is refused, and nothing goes out", async () => {
    company = await makeCompany(world, { funds: "1.60" })
    const { id, number } = await buyNumberForId(world, company)
    await at(month(1))
    expect(await fundsMicrosOf(world, company)).toBe(100_000 - LOCAL_NUMBER_MICROS)
    expect((await postText(world, company.key, { from: id })).status).toBe(402)
    await at(month(2))
    expect(await numberChargesOf(world, company)).toHaveLength(2)
    const until = month(2, 14 * DAY_MS)
    expect(await last(company)).toMatchObject({ id, releasedUnlessPaidBy: until })
    const refused = await postText(world, company.key, { from: id })
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect(refused.body.message).toContain("rent")
    // Texts still come in.
    const text = { company: company.companyId, from: "+14155559001", to: number, body: "Hello" }
    expect(await world.operate("carrier text-in", text)).toMatchObject({ keyword: null })
  })
})

describe("a number whose rent is refused", () => {
  beforeEach(async () => {
    company = await makeCompany(world, { funds: "1.50" })
    await buyNumberForId(world, company)
    await at(month(1))
  })

  it("is charged again each day, and stays once the rent is paid", async () => {
    await at(month(1, 5 * DAY_MS - 1))
    await world.operate("funds add", { company: company.companyId, dollars: "0.01" })
    await world.operate("wait")
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    await at(month(1, 5 * DAY_MS))
    expect((await rentsOf(world, company)).at(-1)).toMatchObject({ name: nameOf(month(1)) })
    expect(await last(company)).toMatchObject({
      releasedUnlessPaidBy: null,
      paidThrough: month(2),
    })
    expect(await fundsMicrosOf(world, company)).toBe(10_000 - LOCAL_NUMBER_MICROS)
  })

  it("is released to the millisecond after 14 days, and its owners get mails before", async () => {
    const { id, number } = (await last(company)) as { id: string; number: string }
    for (const [i, day] of [0, 6, 12].entries()) {
      await at(month(1, day * DAY_MS))
      expect(await mailsOf(company)).toHaveLength(i + 1)
    }
    expect((await mailsOf(company))[0]?.subject).toContain(number)
    await at(month(1, 14 * DAY_MS - 1))
    expect((await last(company))?.["id"]).toBe(id)
    await at(month(1, 14 * DAY_MS))
    expect((await last(company))?.["id"]).not.toBe(id)
    // Another company can buy it.
    await at(month(1, 14 * DAY_MS + 1_000))
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
    expect(await mailsOf(company)).toHaveLength(3)
  })

  it("costs nothing more once it is released, and sends no mail", async () => {
    const id = String((await last(company))?.["id"])
    await world.call(company.key, "POST", "/api/v1/phone/release", { body: { id } })
    await world.operate("funds add", { company: company.companyId, dollars: "50" })
    await at(month(2))
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    expect(await mailsOf(company)).toHaveLength(1)
  })
})

describe("a limit", () => {
  it("refuses rent like any charge, exempt from funds or not", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await setLimit(world, company, { dollars: "1.499999" })
    await at(month(1))
    expect((await last(company))?.["releasedUnlessPaidBy"]).not.toBeNull()
    await setLimit(world, company, { dollars: "1.50" })
    await at(month(1, DAY_MS))
    expect((await last(company))?.["releasedUnlessPaidBy"]).toBeNull()
  })
})

describe("a deleted company", () => {
  it("pays no rent, begins no grace, and lets its numbers go with its data", async () => {
    company = await makeCompany(world)
    const { number } = await buyNumberForId(world, company)
    await at(month(1, -8 * DAY_MS))
    await world.operate("company delete", { company: company.companyId })
    await at(month(1))
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    expect(await mailsOf(company)).toEqual([])
    const other = await makeCompany(world)
    expect((await requestNumber(world, other, number)).status).toBe(409)
    await at(month(1, 7 * DAY_MS))
    expect((await requestNumber(world, other, number)).status).toBe(201)
    // No work is left for it.
    const { numbers } = await world.operate("number list", { company: company.companyId })
    expect(numbers).toEqual([])
    await at(month(2, 7 * DAY_MS))
    const { jobs: work } = await world.operate("job list")
    const own = work.filter(
      (row: { companyId: string; kind: string }) =>
        row.companyId === company.companyId && row.kind === "rent",
    )
    expect(own).toEqual([])
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals).toEqual([])
  })
})

describe("an audit", () => {
  it("reaches the same decisions about rent from the events alone", async () => {
    company = await makeCompany(world, { funds: "1.60" })
    await buyNumberForId(world, company)
    await at(month(2, 14 * DAY_MS))
    const rents = await rentsOf(world, company)
    expect(rents.map(({ micros }) => micros)).toEqual([LOCAL_NUMBER_MICROS, LOCAL_NUMBER_MICROS])
    const replayed = await world.operate("audit replay", { company: company.companyId })
    expect(replayed).toMatchObject({ ok: true })
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals.length).toBeGreaterThan(0)
  })
})
