import { describe, expect, it } from "vitest"
import { makeCompany, sharedWorld, type Company } from "../support/world.ts"
import { buyNumberForId, numbersOf } from "./number-orders.ts"
import { newPhoneNumber, postText } from "./text-requests.ts"

const URL = "/api/v1/phone/settings"
const world = await sharedWorld()
const read = async ({ key }: Company) => (await world.call(key, "GET", URL)).body
const patch = ({ key }: Company, body: object) => world.call(key, "PATCH", URL, { body })
const firstIdOf = async (company: Company) => String((await numbersOf(world, company))[0]?.["id"])
const DEFAULTS = {
  voice: true,
  sms: true,
  label: null,
  ringMode: "all",
  ringTo: [],
  ringSeconds: 25,
  screenCalls: true,
  recordCalls: false,
  recordingNotice: "This call is recorded.",
  voicemail: true,
  voicemailGreeting: null,
  optOutReply: null,
}

describe("the settings", () => {
  it("have defaults", async () => {
    const company = await makeCompany(world)
    const { texting, numbers } = await read(company)
    expect(numbers).toEqual([
      { id: await firstIdOf(company), number: numbers[0].number, ...DEFAULTS },
    ])
    expect(texting).toMatchObject({
      extraOptOutWords: [],
      optOutLine: true,
      repliesAppliedAt: null,
    })
    expect(texting.suggested.optOutReply).toBe(texting.optOutReply)
  })

  it("change only in the fields that are sent, and the answer equals a read", async () => {
    const company = await makeCompany(world)
    const id = await firstIdOf(company)
    const ringTo = [{ phone: "+1 415 555 7001", name: "Ada" }, { phone: "+14155557002" }]
    const sent = { id, label: "Front desk", ringMode: "order", ringSeconds: 10, ringTo }
    const { status, body } = await patch(company, {
      texting: { helpReply: "Write to us." },
      numbers: [sent],
    })
    expect(status).toBe(200)
    expect(body.numbers[0]).toEqual({
      ...DEFAULTS,
      id,
      number: body.numbers[0].number,
      label: "Front desk",
      ringMode: "order",
      ringSeconds: 10,
      ringTo: [
        { phone: "+14155557001", name: "Ada" },
        { phone: "+14155557002", name: null },
      ],
    })
    const again = await patch(company, { numbers: [{ id, label: null, voicemail: false }] })
    expect(again.body.numbers[0]).toMatchObject({ label: null, voicemail: false, ringSeconds: 10 })
    await world.operate("wait")
    const { texting, numbers } = await read(company)
    expect(numbers).toEqual(again.body.numbers)
    expect(texting).toMatchObject({ helpReply: "Write to us.", optOutLine: true })
    // The simulated carrier sends no replies itself, so that the company's apply immediately.
    expect(texting.repliesAppliedAt).not.toBeNull()
    // The answer of a read is a valid change.
    expect((await patch(company, await read(company))).body).toEqual(await read(company))
    expect((await patch(company, {})).status).toBe(400)
  })

  it("change completely or not at all", async () => {
    const company = await makeCompany(world)
    const id = await firstIdOf(company)
    const other = await firstIdOf(await makeCompany(world))
    for (const unknownId of [other, "num_none", "none"]) {
      const numbers = [
        { id, voicemail: false },
        { id: unknownId, voicemail: false },
      ]
      const { status } = await patch(company, { numbers, texting: { optOutLine: false } })
      expect(status).toBe(404)
    }
    expect((await read(company)).numbers[0]).toMatchObject({ voicemail: true })
    expect((await read(company)).texting.optOutLine).toBe(true)
  })

  it("allow call recording after one acknowledgement, for all numbers", async () => {
    const company = await makeCompany(world)
    const id = await firstIdOf(company)
    const second = (await buyNumberForId(world, company)).id
    const record = { numbers: [{ id: second, recordCalls: true }] }
    const { status, body } = await patch(company, record)
    expect([status, body.error]).toEqual([400, "validation"])
    expect(Object.keys(body.fields)).toEqual(["numbers.0.acknowledgeRecording"])
    const first = { id: second, recordCalls: true, acknowledgeRecording: true }
    expect((await patch(company, { numbers: [first] })).status).toBe(200)
    const { body: both } = await patch(company, { numbers: [{ id, recordCalls: true }] })
    expect(both.numbers.map((one: { recordCalls: boolean }) => one.recordCalls)).toEqual([
      true,
      true,
    ])
    const other = await makeCompany(world)
    const change = { numbers: [{ id: await firstIdOf(other), recordCalls: true }] }
    expect((await patch(other, { ...change, acknowledgeRecording: true })).status).toBe(200)
  })
})

const tooLong = (limit: number) => "x".repeat(limit + 1)

describe("400 validation", () => {
  it.for<[string, object]>([
    ["texting.helpReply", { texting: { helpReply: tooLong(320) } }],
    ["texting.optOutReply", { texting: { optOutReply: " " } }],
    ["texting.extraOptOutWords", { texting: { extraOptOutWords: Array(21).fill("BASTA") } }],
    ["texting.extraOptOutWords.0", { texting: { extraOptOutWords: ["start!"] } }],
    ["texting.extraOptOutWords.1", { texting: { extraOptOutWords: ["BASTA", "Help"] } }],
    ["texting.extraOptOutWords.0", { texting: { extraOptOutWords: ["?!"] } }],
    ["numbers.0.label", { label: tooLong(40) }],
    ["numbers.0.ringMode", { ringMode: "random" }],
    ["numbers.0.ringSeconds", { ringSeconds: 9 }],
    ["numbers.0.ringSeconds", { ringSeconds: 61 }],
    ["numbers.0.recordingNotice", { recordingNotice: tooLong(300) }],
    ["numbers.0.voicemailGreeting", { voicemailGreeting: tooLong(500) }],
    ["numbers.0.optOutReply", { optOutReply: tooLong(320) }],
    ["numbers.0.ringTo", { ringTo: Array.from({ length: 6 }, () => ({ phone: "+14155557001" })) }],
    ...[
      ["premium", "+19005550123"],
      ["a premium number of no country", "+19765550123"],
      ["a satellite phone", "+8816123456789"],
      ["an island with the prefix +1", "+18765550123"],
      ["a country that is off", "+442070313000"],
      ["premium abroad", "+33899123456"],
      ["too short", "+1415555"],
      ["not a number", "anonymous"],
    ].map(([, phone]): [string, object] => ["numbers.0.ringTo.0.phone", { ringTo: [{ phone }] }]),
  ])("names the field %s", async ([field, sent]) => {
    const company = await makeCompany(world)
    const number = { id: await firstIdOf(company), ...sent }
    const body = "texting" in sent ? sent : { numbers: [number] }
    const { status, body: answer } = await patch(company, body)
    expect([status, answer.error, Object.keys(answer.fields)]).toEqual([400, "validation", [field]])
  })

  it("explains why a phone cannot ring", async () => {
    const company = await makeCompany(world)
    const id = await firstIdOf(company)
    const phones = ["4155550123", "911", "+442070313000", "+19005550123"]
    const ringTo = phones.map((phone) => ({ phone }))
    const { body } = await patch(company, { numbers: [{ id, ringTo }] })
    expect(Object.values(body.fields)).toEqual([
      "This number is in local format. Use E.164, for example +14155550123.",
      "This is a short or emergency number. Use a full number in E.164, for example +14155550123.",
      "Calls to United Kingdom are not enabled. Enable GB with PATCH /api/v1/phone/destinations.",
      "Calls cannot be forwarded to this number: it costs a premium or does not exist.",
    ])
  })

  it("rejects ringing a number of this installation, because two could forward to each other forever", async () => {
    const company = await makeCompany(world)
    const bought = (await buyNumberForId(world, company)).number
    const foreign = (await buyNumberForId(world, await makeCompany(world))).number
    await world.operate("wait")
    const id = await firstIdOf(company)
    const ringTo = [{ phone: bought }, { phone: "+14155557001" }, { phone: foreign }]
    const { body } = await patch(company, { numbers: [{ id, ringTo }] })
    expect(Object.keys(body.fields)).toEqual([
      "numbers.0.ringTo.0.phone",
      "numbers.0.ringTo.2.phone",
    ])
  })

  it("rejects a number that is named twice, and more than fifty numbers", async () => {
    const company = await makeCompany(world)
    const id = await firstIdOf(company)
    expect((await patch(company, { numbers: [{ id }, { id }] })).status).toBe(400)
    const many = Array.from({ length: 51 }, (_, i) => ({ id: `num_${i}` }))
    expect((await patch(company, { numbers: many })).status).toBe(400)
  })
})

/** Body of a company's newest text to a recipient. */
async function lastTo(company: Company, to: string): Promise<string | undefined> {
  await world.operate("wait")
  const { body } = await world.call(company.key, "GET", "/api/v1/phone/messages")
  return body.messages.findLast((one: { to: string }) => one.to === to)?.body
}

describe("a keyword", () => {
  it("gets the company's reply, or the number's own if it has one", async () => {
    const company = await makeCompany(world)
    const second = await buyNumberForId(world, company)
    const [first] = (await numbersOf(world, company)) as readonly { number: string }[]
    await world.operate("wait")
    const texting = { optOutReply: "Bye.", optInReply: "Hello again.", helpReply: "Ask us." }
    const numbers = [{ id: second.id, optOutReply: "Bye from here." }]
    await patch(company, { texting: { ...texting, extraOptOutWords: ["basta"] }, numbers })
    const from = newPhoneNumber()
    const text = (body: string, to = first?.number) =>
      world.operate("carrier text-in", { company: company.companyId, from, to, body })
    for (const [body, answer] of [
      ["HELP", "Ask us."],
      ["Basta!", "Bye."],
      ["START", "Hello again."],
    ] as const) {
      await text(body)
      expect(await lastTo(company, from)).toBe(answer)
    }
    await text("STOP", second.number)
    expect(await lastTo(company, from)).toBe("Bye from here.")
  })
})

describe("the opt-out line", () => {
  it("is not added to first texts if it is turned off", async () => {
    const company = await makeCompany(world)
    await patch(company, { texting: { optOutLine: false } })
    expect((await postText(world, company.key, { body: "Hello" })).body.body).toBe("Hello")
  })
})

const readState = async ({ key }: Company) =>
  (await world.call(key, "GET", "/api/v1/phone/state")).body

describe("the phone's state", () => {
  it("has the numbers, the price of the next number, and the state of registration", async () => {
    const company = await makeCompany(world)
    const { id } = await buyNumberForId(world, company)
    const state = await readState(company)
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

  it("has the amount that can be spent: the least of the funds and all limits of the caller", async () => {
    const company = await makeCompany(world)
    const { companyId, ownerId, keyId } = company
    const available = async () => (await readState(company)).availableMicros
    const limits = [
      { company: companyId, class: "general", period: "month", dollars: "20" },
      { company: companyId, person: ownerId, class: "general", period: "week", dollars: "10" },
      { company: companyId, key: keyId, period: "day", dollars: "5" },
      { company: companyId, class: "ai", period: "month", dollars: "1" },
    ]
    // Each API call counts against the limits.
    const about = (dollars: number) => expect.closeTo(dollars * 1_000_000, -4) as number
    for (const [i, dollars] of [20, 10, 5, 5].entries()) {
      await world.operate("limit set", limits[i])
      expect(await available()).toEqual(about(dollars))
    }
  })

  it("has whether the card fails, and how the company pays", async () => {
    const company = await makeCompany(world)
    await world.operate("company change", { company: company.companyId, pays: "card" })
    expect(await readState(company)).toMatchObject({ paysByCard: true, cardFailing: false })
  })
})
