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
afterEach(() => carrierIs("ok"))

const carrierIs = (outcome: string, times?: number) =>
  world.operate("simulator set", { name: "carrier", outcome, times })

describe("a search", () => {
  it("shows numbers of the kind, area code, state and digits that are asked for", async () => {
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
    const of = async (query: string) =>
      (await requestNumberSearch(world, company, query)).body.numbers.map(
        ({ number }: { number: string }) => number,
      )
    expect(await of("?areaCode=907&contains=*5017")).toEqual(
      ["+19075550170"].concat(Array.from({ length: 9 }, (_, i) => `+1907555017${i + 1}`)),
    )
    expect(await of("?region=wy&contains=0199")).toEqual(["+13075550199"])
    expect(await of("?kind=toll_free&contains=0123")).toEqual(["+18005550123"])
    expect(await of("?areaCode=201")).toEqual([])
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

  it("is done ten times a minute by a company", async () => {
    const company = await makeCompany(world)
    freezeRateWindow(world)
    for (let i = 0; i < 10; i += 1) await requestNumberSearch(world, company)
    const { status, headers } = await requestNumberSearch(world, company)
    expect([status, headers["retry-after"]]).toEqual([429, "60"])
  })

  it("is 503 while the carrier does not answer, and uses up nothing that is set for a purchase", async () => {
    const company = await makeCompany(world)
    await carrierIs("taken", 1)
    expect((await requestNumberSearch(world, company)).status).toBe(200)
    expect((await requestNumber(world, company)).status).toBe(409)
    await carrierIs("silent", 1)
    const { status, body } = await requestNumberSearch(world, company)
    expect([status, body.error]).toEqual([503, "unavailable"])
  })
})

describe("a number that is bought", () => {
  it("is charged a month and the company's from then on", async () => {
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

  it("keeps what its buyer wrote of its town, and lets nobody read it in the events", async () => {
    const company = await makeCompany(world)
    const sent = { number: "+18005550166", locality: "Ada Lane, 1 Main St", region: "tx" }
    const { body } = await world.call(company.key, "POST", "/api/v1/phone/buy", { body: sent })
    expect(body.number).toMatchObject({ locality: sent.locality, region: "TX" })
    const { events } = await world.operate("audit show", { stream: `phone-${company.companyId}` })
    expect(JSON.stringify(events)).not.toContain("Ada Lane")
  })

  it("costs more where it is toll-free", async () => {
    const company = await makeCompany(world)
    const { body } = await requestNumber(world, company, "+18005550107")
    expect(body.number).toMatchObject({ kind: "toll_free", monthlyMicros: 2_500_000 })
    expect(await numberChargesOf(world, company)).toEqual([{ micros: 2_500_000, state: "final" }])
  })

  it("is offered to nobody else, and sold to nobody else", async () => {
    const company = await makeCompany(world)
    const { number } = await buyNumberForId(world, company, "+13035550188")
    const other = await makeCompany(world)
    const { body } = await requestNumberSearch(world, other, "?areaCode=303&contains=0188")
    expect(body.numbers).toEqual([])
    for (const who of [other, company]) {
      const again = await requestNumber(world, who, number)
      expect([again.status, again.body.error]).toEqual([409, "conflict"])
    }
    expect(await numberChargesOf(world, other)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "given_back" },
    ])
    expect(await numberChargesOf(world, company)).toHaveLength(1)
  })

  it("is nobody's who asks for one that no carrier has: the charge comes back", async () => {
    const company = await makeCompany(world)
    expect((await requestNumber(world, company, "+14155551000")).status).toBe(409)
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })

  it("is one company's of four who ask for it five times at once, and paid once", async () => {
    const companies = await Promise.all(Array.from({ length: 4 }, () => makeCompany(world)))
    const number = newCarrierNumber()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => companies)
        .flat()
        .map((one) => requestNumber(world, one, number)),
    )
    // Identical requests of one company are one order, and all of them get its outcome.
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
  ] as const)("is no %s", async ([number, error]) => {
    const { status, body } = await requestNumber(world, await makeCompany(world), number)
    expect([status, body.error]).toEqual([400, error])
  })

  it("is not sold without funds, or past a limit", async () => {
    const poor = await makeCompany(world, { funds: "1.49" })
    const { status, body } = await requestNumber(world, poor)
    expect([status, body.error, body.needed]).toEqual([402, "payment_required", 1.5])
    const company = await makeCompany(world, { limits: [{ dollars: "1.49" }] })
    expect((await requestNumber(world, company)).status).toBe(429)
    await setLimit(world, company, { dollars: "1.51" })
    expect((await requestNumber(world, company)).status).toBe(201)
  })
})

describe("a carrier", () => {
  it("that is away sells nothing, and costs nothing", async () => {
    const company = await makeCompany(world)
    await carrierIs("unavailable", 1)
    const number = newCarrierNumber()
    const { status, body } = await requestNumber(world, company, number)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "given_back" },
    ])
    expect((await requestNumber(world, company, number)).status).toBe(201)
  })

  it("that falls silent is asked: the same key then finds the number, charged once", async () => {
    const company = await makeCompany(world)
    await carrierIs("silent", 1)
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

  it("that takes its time is asked each second, and answered in the same call", async () => {
    const company = await makeCompany(world)
    await carrierIs("slow", 1)
    expect((await requestNumber(world, company)).status).toBe(201)
  })
})

describe("a release", () => {
  it("is for good, and gives nothing back", async () => {
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
    // It is for sale again.
    await world.operate("wait")
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
  })

  it("is told to the carrier until it says yes", async () => {
    const company = await makeCompany(world)
    const { id, number } = await buyNumberForId(world, company)
    await carrierIs("unavailable", 1)
    await requestNumberRelease(world, company, id)
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "release-number")
    expect((await requestNumber(world, await makeCompany(world), number)).status).toBe(201)
  })

  it("is of no number of another company's", async () => {
    const { id } = await buyNumberForId(world, await makeCompany(world))
    const other = await makeCompany(world)
    for (const wrong of [id, "num_none", "no id"]) {
      expect((await requestNumberRelease(world, other, wrong)).status).toBe(404)
    }
  })

  it("leaves what was written readable, and fails what waits to be sent", async () => {
    const company = await makeCompany(world)
    const { id, number } = await buyNumberForId(world, company)
    await postText(world, company.key, { from: id, body: "before" })
    await world.operate("wait")
    await carrierIs("unavailable", 1)
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
