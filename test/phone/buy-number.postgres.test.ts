import { afterEach, describe, expect, it } from "vitest"
import {
  fundsMicrosOf,
  makeCompany,
  ownWorld,
  setLimit,
  freezeRateWindow,
} from "../support/world.ts"
import { retryJobsOf } from "../effects/texts.ts"
import {
  LOCAL_NUMBER_MICROS,
  buyNumberForId,
  requestNumber,
  numberChargesOf,
  newCarrierNumber,
  numbersOf,
  requestNumberRelease,
  requestNumberSearch,
} from "./number-orders.ts"
import { postText } from "./text-requests.ts"

const world = await ownWorld("time", { rateLimits: "on" })
afterEach(() => simulateCarrier("ok"))

const simulateCarrier = (outcome: string, times?: number) =>
  world.operate("simulator set", { name: "carrier", outcome, times })

describe("a search", () => {
  it("finds numbers by kind, area code, state and digits", async () => {
    const company = await makeCompany(world)
    const { status, body } = await requestNumberSearch(world, company)
    expect(status).toBe(200)
    expect(body.numbers).toHaveLength(20)
    expect(body.numbers[0]).toEqual({
      number: expect.stringMatching(/^\+1\d{3}5550\d{3}$/) as string,
      kind: "local",
      locality: "Birmingham",
      region: "AL",
      sms: true,
      mms: true,
      voice: true,
    })
    const find = async (query: string) =>
      (await requestNumberSearch(world, company, query)).body.numbers.map(
        ({ number }: { number: string }) => number,
      )
    expect(await find("?areaCode=907&contains=*5017")).toEqual(
      ["+19075550170"].concat(Array.from({ length: 9 }, (_, i) => `+1907555017${i + 1}`)),
    )
    expect(await find("?region=wy&contains=0199")).toEqual(["+13075550199"])
    expect(await find("?kind=toll_free&contains=0123")).toEqual(["+18005550123"])
    expect(await find("?areaCode=201")).toEqual([])
  })

  it.for([
    ["?areaCode=12", "areaCode"],
    ["?contains=1", "contains"],
    ["?contains=12345678901", "contains"],
    ["?contains=ab", "contains"],
    ["?region=NYC", "region"],
    ["?kind=mobile", "kind"],
    ["?kind=toll_free&areaCode=800", "areaCode"],
    ["?kind=toll_free&region=NY", "region"],
  ] as const)("%s is 400", async ([query, field]) => {
    const { status, body } = await requestNumberSearch(world, await makeCompany(world), query)
    expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", [field]])
  })

  it("is limited to ten per minute and company", async () => {
    const company = await makeCompany(world)
    freezeRateWindow(world)
    for (let i = 0; i < 10; i += 1) await requestNumberSearch(world, company)
    const { status, headers } = await requestNumberSearch(world, company)
    expect([status, headers["retry-after"]]).toEqual([429, "60"])
  })

  it("is 503 if the carrier does not answer, and does not use up an outcome set for a purchase", async () => {
    const company = await makeCompany(world)
    await simulateCarrier("taken", 1)
    expect((await requestNumberSearch(world, company)).status).toBe(200)
    expect((await requestNumber(world, company)).status).toBe(409)
    await simulateCarrier("silent", 1)
    const { status, body } = await requestNumberSearch(world, company)
    expect([status, body.error]).toEqual([503, "unavailable"])
  })
})

describe("a bought number", () => {
  it("is charged for a month and belongs to the company", async () => {
    const company = await makeCompany(world)
    const { status, body } = await requestNumber(world, company, "+14155550142")
    expect(status).toBe(201)
    const { boughtAt, paidThrough } = body.number
    expect(body.number).toEqual({
      id: expect.stringMatching(/^num_/) as string,
      number: "+14155550142",
      kind: "local",
      locality: "San Francisco",
      region: "CA",
      sms: true,
      mms: true,
      voice: true,
      monthlyMicros: LOCAL_NUMBER_MICROS,
      paidThrough,
      boughtAt,
      releasedUnlessPaidBy: null,
    })
    expect(Date.parse(paidThrough) - Date.parse(boughtAt)).toBeGreaterThan(27 * 86_400_000)
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "final" },
    ])
    expect((await numbersOf(world, company)).map(({ number }) => number)).toContain("+14155550142")
    const { numbers } = await world.operate("number list", { company: company.companyId })
    expect(numbers.at(-1)).toEqual(body.number)
    const sent = await postText(world, company.key, { from: body.number.id })
    expect(sent.body.from).toBe("+14155550142")
  })

  it("keeps the locality that its buyer entered, sealed in the events", async () => {
    const company = await makeCompany(world)
    const sent = { number: "+18005550166", locality: "Ada Road, 1 Main St", region: "tx" }
    const { body } = await world.call(company.key, "POST", "/api/v1/phone/buy", { body: sent })
    expect(body.number).toMatchObject({ locality: sent.locality, region: "TX" })
    const { events } = await world.operate("audit show", { stream: `phone-${company.companyId}` })
    expect(JSON.stringify(events)).not.toContain("Ada Road")
  })

  it("costs more if it is toll-free", async () => {
    const company = await makeCompany(world)
    const { body } = await requestNumber(world, company, "+18005550107")
    expect(body.number).toMatchObject({ kind: "toll_free", monthlyMicros: 2_500_000 })
    expect(await numberChargesOf(world, company)).toEqual([{ micros: 2_500_000, state: "final" }])
  })

  it("is neither offered nor sold again", async () => {
    const company = await makeCompany(world)
    const { number } = await buyNumberForId(world, company, "+13035550188")
    const other = await makeCompany(world)
    const { body } = await requestNumberSearch(world, other, "?areaCode=303&contains=0188")
    expect(body.numbers).toEqual([])
    for (const buyer of [other, company]) {
      const again = await requestNumber(world, buyer, number)
      expect([again.status, again.body.error]).toEqual([409, "conflict"])
    }
    expect(await numberChargesOf(world, other)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "given_back" },
    ])
    expect(await numberChargesOf(world, company)).toHaveLength(1)
  })

  it("is refunded if no carrier has it", async () => {
    const company = await makeCompany(world)
    expect((await requestNumber(world, company, "+14155551000")).status).toBe(409)
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })

  it("belongs to one of four companies that order it concurrently, and is paid once", async () => {
    const companies = await Promise.all(Array.from({ length: 4 }, () => makeCompany(world)))
    const number = newCarrierNumber()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => companies)
        .flat()
        .map((one) => requestNumber(world, one, number)),
    )
    // A company's identical requests are one order, and all of them get its outcome.
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(15)
    const states = await Promise.all(companies.map((one) => numberChargesOf(world, one)))
    expect(states.map((one) => one.length)).toEqual([1, 1, 1, 1])
    expect(states.flat().filter(({ state }) => state === "final")).toHaveLength(1)
    expect(states.flat().filter(({ state }) => state === "open")).toEqual([])
  })

  it.for([
    ["4155550123", "validation"],
    ["+1415555012", "validation"],
    ["+11155550123", "validation"],
    ["+442070313000", "validation"],
  ] as const)("cannot be %s", async ([number, error]) => {
    const { status, body } = await requestNumber(world, await makeCompany(world), number)
    expect([status, body.error]).toEqual([400, error])
  })

  it("is not sold without funds or beyond a spending limit", async () => {
    const poor = await makeCompany(world, { funds: "1.49" })
    const { status, body } = await requestNumber(world, poor)
    expect([status, body.error, body.needed]).toEqual([402, "payment_required", 1.5])
    const company = await makeCompany(world, { limits: [{ dollars: "1.49" }] })
    expect((await requestNumber(world, company)).status).toBe(429)
    await setLimit(world, company, { dollars: "1.51" })
    expect((await requestNumber(world, company)).status).toBe(201)
  })
})

describe("an order", () => {
  it("is refunded if the carrier is unavailable", async () => {
    const company = await makeCompany(world)
    await simulateCarrier("unavailable", 1)
    const number = newCarrierNumber()
    const { status, body } = await requestNumber(world, company, number)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "given_back" },
    ])
    expect((await requestNumber(world, company, number)).status).toBe(201)
  })

  it("is reconciled if the carrier does not answer: a retry gets the number, charged once", async () => {
    const company = await makeCompany(world)
    await simulateCarrier("silent", 1)
    const number = newCarrierNumber()
    const key = { "idempotency-key": "once" }
    const { status, body } = await requestNumber(world, company, number, key)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(body.chargeId).toMatch(/^num_/)
    await world.operate("clock advance", { duration: "61s" })
    await world.operate("wait")
    const again = await requestNumber(world, company, number, key)
    expect([again.status, again.body.number?.number]).toEqual([201, number])
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "final" },
    ])
  })

  it("is checked each second if the carrier is slow, and completed within the same request", async () => {
    const company = await makeCompany(world)
    await simulateCarrier("slow", 1)
    expect((await requestNumber(world, company)).status).toBe(201)
  })
})

describe("a release", () => {
  it("is final, and refunds nothing", async () => {
    const company = await makeCompany(world)
    const { id, number } = await buyNumberForId(world, company)
    expect(await requestNumberRelease(world, company, id)).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect((await numbersOf(world, company)).map(({ id: one }) => one)).not.toContain(id)
    expect((await requestNumberRelease(world, company, id)).status).toBe(404)
    expect((await postText(world, company.key, { from: id })).body.error).toBe("no_number")
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "final" },
    ])
    // The number is for sale again.
    await world.operate("wait")
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
  })

  it("is sent to the carrier until it succeeds", async () => {
    const company = await makeCompany(world)
    const { id, number } = await buyNumberForId(world, company)
    await simulateCarrier("unavailable", 1)
    await requestNumberRelease(world, company, id)
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "release-number")
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
  })

  it("of another company's number is 404", async () => {
    const { id } = await buyNumberForId(world, await makeCompany(world))
    const other = await makeCompany(world)
    for (const unknownId of [id, "num_none", "no id"]) {
      expect((await requestNumberRelease(world, other, unknownId)).status).toBe(404)
    }
  })

  it("leaves sent texts readable, and fails queued ones", async () => {
    const company = await makeCompany(world)
    const { id, number } = await buyNumberForId(world, company)
    await postText(world, company.key, { from: id, body: "before" })
    await world.operate("wait")
    await simulateCarrier("unavailable", 1)
    const { body: waiting } = await postText(world, company.key, { from: id, body: "behind" })
    await world.operate("wait")
    await requestNumberRelease(world, company, id)
    await retryJobsOf(world, company.companyId, "send-text")
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/messages")
    expect(body.messages.at(-2)).toMatchObject({ from: number, status: "sent" })
    expect(body.messages.at(-1)).toMatchObject({
      id: waiting.id,
      from: number,
      status: "failed",
      errorCode: "number_released",
    })
  })
})
