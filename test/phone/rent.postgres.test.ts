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
/** Start of the current test, on the tenth of a month. Each test starts a month after the one before. */
let startedAt = world.ports.clock.now()

beforeEach(async () => {
  const now = new Date(world.ports.clock.now())
  startedAt = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 10, 8)
  await moveClockTo(month(0))
})

/** The time `count` months and `ms` milliseconds after the start of the test. */
function month(count: number, ms = 0): string {
  const start = new Date(startedAt)
  const tenth = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count, 10, 8)
  return new Date(tenth + ms).toISOString()
}

const nameOf = (time: string) => time.slice(0, "2040-01".length)

async function moveClockTo(to: string): Promise<void> {
  await world.operate("clock set", { to })
  await world.operate("wait")
}

const mailsOf = async ({ companyId }: Company): Promise<readonly { readonly subject: string }[]> =>
  (await world.operate("mail list", { company: companyId })).mails

/** A company's newest number, read by an operation, which does not count as an API call. */
const newestNumber = async ({ companyId }: Company): Promise<Record<string, unknown> | undefined> =>
  (await world.operate("number list", { company: companyId })).numbers.at(-1)

describe("rent", () => {
  it("is charged each month on the day of the purchase", async () => {
    const year = new Date(startedAt).getUTCFullYear() + 1
    await moveClockTo(`${year}-01-31T08:00:00.000Z`)
    company = await makeCompany(world)
    const { id } = await buyNumberForId(world, company)
    await moveClockTo(`${year}-02-28T07:59:59.999Z`)
    expect(await rentsOf(world, company)).toHaveLength(1)
    await moveClockTo(`${year}-02-28T08:00:00.000Z`)
    await moveClockTo(`${year}-03-31T08:00:00.000Z`)
    expect((await rentsOf(world, company)).slice(1)).toEqual(
      ["02-28", "03-31"].map((day) => ({
        micros: LOCAL_NUMBER_MICROS,
        state: "final",
        name: `${year}-${day.slice(0, 2)}`,
        at: `${year}-${day}T08:00:00.000Z`,
      })),
    )
    expect(await newestNumber(company)).toMatchObject({
      id,
      paidThrough: `${year}-04-30T08:00:00.000Z`,
    })
    // The number that came with the company costs nothing.
    expect((await numbersOf(world, company))[0]).toMatchObject({ paidThrough: null })
  })

  it("for missed months is charged in order", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await moveClockTo(month(3, DAY_MS))
    const names = (await rentsOf(world, company)).map(({ name }) => name)
    expect(names).toEqual(["first", ...[1, 2, 3].map((count) => nameOf(month(count)))])
    expect(await newestNumber(company)).toMatchObject({ paidThrough: month(4) })
  })

  it("is charged only when it is due, even if an operator retries its job before", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await world.operate("wait")
    const { jobs } = await world.operate("job list")
    const isOwn = (job: ListedJob) => job.companyId === company.companyId && job.kind === "rent"
    const { jobId, name } = (jobs as ListedJob[]).find(isOwn) as ListedJob
    const dueAt = month(1)
    for (const operation of ["job retry", "job discard", "job retry"]) {
      await expect(world.operate(operation, { jobId })).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining(dueAt),
      })
    }
    await world.operate("wait")
    // The job itself also waits if it runs early.
    const job = await jobOf(world, "rent", name)
    const rescheduled = { result: "rescheduled", dueAt: Date.parse(dueAt) }
    expect(await collectRent.perform(world.ports, job)).toEqual(rescheduled)
    expect(await rentsOf(world, company)).toHaveLength(1)
    await moveClockTo(dueAt)
    expect(await rentsOf(world, company)).toHaveLength(2)
  })

  it("that was refused is charged when an operator retries its job", async () => {
    company = await makeCompany(world, { funds: "1.50" })
    const { id } = await buyNumberForId(world, company)
    await moveClockTo(month(1))
    expect(await rentsOf(world, company)).toHaveLength(1)
    await world.operate("funds add", { company: company.companyId, dollars: "10" })
    const { jobId } = await jobOf(world, "rent", `${id}:${nameOf(month(1))}`)
    expect(await world.operate("job retry", { jobId })).toMatchObject({ state: "done" })
    expect(await rentsOf(world, company)).toHaveLength(2)
  })

  it("costs the price in the price book at the time it is due", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await world.operate("price set", { item: "number_month_local", dollars: "2" })
    expect(await newestNumber(company)).toMatchObject({ monthlyMicros: 2_000_000 })
    await moveClockTo(month(1))
    await world.operate("price set", { item: "number_month_local", dollars: "1.5" })
    expect((await numberChargesOf(world, company)).map(({ micros }) => micros)).toEqual([
      LOCAL_NUMBER_MICROS,
      2_000_000,
    ])
  })

  it("takes the funds below zero once; then it is refused, and no text can be sent", async () => {
    company = await makeCompany(world, { funds: "1.60" })
    const { id, number } = await buyNumberForId(world, company)
    await moveClockTo(month(1))
    expect(await fundsMicrosOf(world, company)).toBe(100_000 - LOCAL_NUMBER_MICROS)
    expect((await postText(world, company.key, { from: id })).status).toBe(402)
    await moveClockTo(month(2))
    expect(await numberChargesOf(world, company)).toHaveLength(2)
    const until = month(2, 14 * DAY_MS)
    expect(await newestNumber(company)).toMatchObject({ id, releasedUnlessPaidBy: until })
    const refused = await postText(world, company.key, { from: id })
    expect([refused.status, refused.body.error]).toEqual([409, "no_number"])
    expect(refused.body.message).toContain("rent")
    // Texts are still received.
    const text = { company: company.companyId, from: "+14155559001", to: number, body: "Hello" }
    expect(await world.operate("carrier text-in", text)).toMatchObject({ keyword: null })
  })
})

describe("a number whose rent is refused", () => {
  beforeEach(async () => {
    company = await makeCompany(world, { funds: "1.50" })
    await buyNumberForId(world, company)
    await moveClockTo(month(1))
  })

  it("is charged again each day, and is kept once the rent is paid", async () => {
    await moveClockTo(month(1, 5 * DAY_MS - 1))
    await world.operate("funds add", { company: company.companyId, dollars: "0.01" })
    await world.operate("wait")
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    await moveClockTo(month(1, 5 * DAY_MS))
    expect((await rentsOf(world, company)).at(-1)).toMatchObject({ name: nameOf(month(1)) })
    expect(await newestNumber(company)).toMatchObject({
      releasedUnlessPaidBy: null,
      paidThrough: month(2),
    })
    expect(await fundsMicrosOf(world, company)).toBe(10_000 - LOCAL_NUMBER_MICROS)
  })

  it("is released exactly 14 days later, after mails to the owners", async () => {
    const { id, number } = (await newestNumber(company)) as { id: string; number: string }
    for (const [i, day] of [0, 6, 12].entries()) {
      await moveClockTo(month(1, day * DAY_MS))
      expect(await mailsOf(company)).toHaveLength(i + 1)
    }
    expect((await mailsOf(company))[0]?.subject).toContain(number)
    await moveClockTo(month(1, 14 * DAY_MS - 1))
    expect((await newestNumber(company))?.["id"]).toBe(id)
    await moveClockTo(month(1, 14 * DAY_MS))
    expect((await newestNumber(company))?.["id"]).not.toBe(id)
    // Another company can buy it.
    await moveClockTo(month(1, 14 * DAY_MS + 1_000))
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
    expect(await mailsOf(company)).toHaveLength(3)
  })

  it("causes no more charges and mails once it is released", async () => {
    const id = String((await newestNumber(company))?.["id"])
    await world.call(company.key, "POST", "/api/v1/phone/release", { body: { id } })
    await world.operate("funds add", { company: company.companyId, dollars: "50" })
    await moveClockTo(month(2))
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    expect(await mailsOf(company)).toHaveLength(1)
  })
})

describe("a spending limit", () => {
  it("refuses rent like any other charge, even though rent may exceed the funds", async () => {
    company = await makeCompany(world)
    await buyNumberForId(world, company)
    await setLimit(world, company, { dollars: "1.499999" })
    await moveClockTo(month(1))
    expect((await newestNumber(company))?.["releasedUnlessPaidBy"]).not.toBeNull()
    await setLimit(world, company, { dollars: "1.50" })
    await moveClockTo(month(1, DAY_MS))
    expect((await newestNumber(company))?.["releasedUnlessPaidBy"]).toBeNull()
  })
})

describe("a deleted company", () => {
  it("pays no rent, gets no grace period, and loses its numbers when its data is erased", async () => {
    company = await makeCompany(world)
    const { number } = await buyNumberForId(world, company)
    await moveClockTo(month(1, -8 * DAY_MS))
    await world.operate("company delete", { company: company.companyId })
    await moveClockTo(month(1))
    expect(await numberChargesOf(world, company)).toHaveLength(1)
    expect(await mailsOf(company)).toEqual([])
    const other = await makeCompany(world)
    expect((await requestNumber(world, other, number)).status).toBe(409)
    await moveClockTo(month(1, 7 * DAY_MS))
    expect((await requestNumber(world, other, number)).status).toBe(201)
    // No job is left for the company.
    const { numbers } = await world.operate("number list", { company: company.companyId })
    expect(numbers).toEqual([])
    await moveClockTo(month(2, 7 * DAY_MS))
    const { jobs } = await world.operate("job list")
    const own = jobs.filter(
      (job: { companyId: string; kind: string }) =>
        job.companyId === company.companyId && job.kind === "rent",
    )
    expect(own).toEqual([])
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals).toEqual([])
  })
})

describe("a replay", () => {
  it("reaches the same decisions about rent from the events", async () => {
    company = await makeCompany(world, { funds: "1.60" })
    await buyNumberForId(world, company)
    await moveClockTo(month(2, 14 * DAY_MS))
    const rents = await rentsOf(world, company)
    expect(rents.map(({ micros }) => micros)).toEqual([LOCAL_NUMBER_MICROS, LOCAL_NUMBER_MICROS])
    const replayed = await world.operate("audit replay", { company: company.companyId })
    expect(replayed).toMatchObject({ ok: true })
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals.length).toBeGreaterThan(0)
  })
})
