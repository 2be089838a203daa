import { describe, expect, it } from "vitest"
import {
  fundsMicrosOf,
  makeCallsFree,
  makeCompany,
  makeKey,
  ownWorld,
  setLimit,
  type Company,
} from "../support/world.ts"
import { GSM_SEGMENT_MICROS, MESSAGES_PATH, newPhoneNumber, postText } from "./text-requests.ts"

const world = await ownWorld("time")
await makeCallsFree(world)
// A Wednesday in the middle of a month, so that no window ends during the test.
await world.operate("clock set", { to: "2031-01-15T12:00:00.000Z" })

const MONTH_END = "2031-02-01T00:00:00.000Z"
const MONDAY = "2031-01-20T00:00:00.000Z"
const MIDNIGHT = "2031-01-16T00:00:00.000Z"

const holders = {
  company: () => ({ class: "general" }),
  person: ({ ownerId }: Company) => ({ class: "general", person: ownerId }),
  key: ({ keyId }: Company) => ({ key: keyId }),
}

/** Sets a limit, in micro-dollars, on a company, its owner or its key. */
async function limit(
  company: Company,
  holder: keyof typeof holders,
  micros: number,
  period = "month",
): Promise<void> {
  const name = holders[holder](company)
  const dollars = (micros / 1_000_000).toFixed(6)
  await setLimit(world, company, { ...name, period, dollars })
}

/** Sends four texts in sequence and counts the accepted ones. */
async function countAcceptedTexts(company: Company): Promise<number> {
  let accepted = 0
  for (let i = 0; i < 4; i += 1) {
    if ((await postText(world, company.key)).status === 200) accepted += 1
  }
  return accepted
}

describe("a limit of exactly three texts", () => {
  it.for(["company", "person", "key"] as const)("of the %s allows three", async (holder) => {
    const company = await makeCompany(world)
    await limit(company, holder, 3 * GSM_SEGMENT_MICROS)
    expect(await countAcceptedTexts(company)).toBe(3)
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - 3 * GSM_SEGMENT_MICROS)
  })
})

describe("POST /phone/messages 429", () => {
  it.for([
    ["company", "month", MONTH_END, "company's general"],
    ["company", "week", MONDAY, "company's general"],
    ["person", "month", MONTH_END, "person's general"],
    ["person", "week", MONDAY, "person's general"],
  ] as const)(
    "names the holder, the rest and the reset time of the limit: %s, %s",
    async ([holder, period, resetsAt, who]) => {
      const company = await makeCompany(world)
      await limit(company, holder, 2 * GSM_SEGMENT_MICROS + 500, period)
      await postText(world, company.key)
      await postText(world, company.key)
      const { status, body } = await postText(world, company.key)
      expect(status).toBe(429)
      expect(body).toEqual({
        error: "spend_limit_reached",
        message:
          `The ${who} limit is $0.0185 a ${period}: $0.018 is used, $0.0005 is left, and this ` +
          `request costs $0.009. It resets at ${resetsAt}. Adding funds does not help.`,
        limit: {
          holder,
          class: "general",
          period,
          amountMicros: 18_500,
          usedMicros: 18_000,
          remainingMicros: 500,
          askedMicros: 9_000,
          resetsAt,
        },
      })
    },
  )

  it("describes a key's limit that has too little left", async () => {
    const company = await makeCompany(world)
    await limit(company, "key", GSM_SEGMENT_MICROS + 1, "day")
    await postText(world, company.key)
    const { status, body } = await postText(world, company.key)
    expect([status, body.error]).toEqual([429, "spend_limit_reached"])
    expect(body.message).toMatch(/^This key's limit is \$0\.009001 a day: /)
    expect(body.limit).toEqual({
      holder: "key",
      class: "all",
      period: "day",
      amountMicros: 9_001,
      usedMicros: 9_000,
      remainingMicros: 1,
      askedMicros: 9_000,
      resetsAt: MIDNIGHT,
    })
  })

  it("is sent before the price is calculated once nothing is left, with `askedMicros` 0", async () => {
    const company = await makeCompany(world)
    await limit(company, "company", GSM_SEGMENT_MICROS)
    await postText(world, company.key)
    const text = await postText(world, company.key)
    const read = await world.call(company.key, "GET", MESSAGES_PATH)
    for (const { status, body } of [text, read]) {
      expect([status, body.error]).toEqual([429, "spend_limit_reached"])
      expect(body.limit).toMatchObject({ usedMicros: 9_000, remainingMicros: 0, askedMicros: 0 })
      expect(body.message).toContain("$0.009 is used and $0.00 is left. It resets")
    }
  })

  it.for(["company", "person"] as const)(
    "is sent for every counted read, but not for the list of people: %s",
    async (holder) => {
      const company = await makeCompany(world)
      await limit(company, holder, 0)
      for (const url of [MESSAGES_PATH, "/api/v1/phone/opt-outs", "/api/v1/credits"]) {
        expect((await world.call(company.key, "GET", url)).status).toBe(429)
      }
      const optOut = { body: { phone: newPhoneNumber() } }
      const changed = await world.call(company.key, "POST", "/api/v1/phone/opt-outs", optOut)
      expect(changed.status).toBe(429)
      expect((await world.call(company.key, "GET", "/api/v1/people")).status).toBe(200)
    },
  )

  it("counts all keys of a person together, separately from other persons", async () => {
    const company = await makeCompany(world)
    const one = await makeKey(world, company, { role: "manager" })
    const { key: second } = await makeKey(world, company, { person: one.personId })
    await setLimit(world, company, { person: one.personId, dollars: "0.018" })
    expect((await postText(world, one.key)).status).toBe(200)
    expect((await postText(world, second)).status).toBe(200)
    expect((await postText(world, second)).status).toBe(429)
    expect((await postText(world, company.key)).status).toBe(200)
  })
})

describe("POST /phone/messages 401", () => {
  it("is sent on every route for a key whose limit is used up, with the same `limit` block", async () => {
    const company = await makeCompany(world)
    await limit(company, "key", GSM_SEGMENT_MICROS, "week")
    await postText(world, company.key)
    const text = await postText(world, company.key)
    const reads = await Promise.all(
      [MESSAGES_PATH, "/api/v1/credits", "/api/v1/people"].map((url) =>
        world.call(company.key, "GET", url),
      ),
    )
    for (const { status, body } of [text, ...reads]) {
      expect([status, body.error]).toEqual([401, "invalid_key"])
      expect(body.limit).toEqual({
        holder: "key",
        class: "all",
        period: "week",
        amountMicros: 9_000,
        usedMicros: 9_000,
        remainingMicros: 0,
        askedMicros: 0,
        resetsAt: MONDAY,
      })
    }
  })
})
