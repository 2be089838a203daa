/** API calls are counted when they are served, and count against the limits immediately. */
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, makeKey, openWorld, setLimit } from "../support/world.ts"
import type { KeyId, PersonId } from "../../domain/kernel/ids.ts"

const CREDITS = "/api/v1/credits"
const TEXTS = "/api/v1/phone/messages"
const NOON = "2031-01-15T12:00:00.000Z"
const CALL = 100

let company: Company
let world = await openWorld("time")
await world.operate("clock set", { to: NOON })
afterAll(() => world.close())
beforeEach(async () => {
  company = await makeCompany(world)
})

interface CallCount {
  readonly day: string
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly calls: number
}

async function callCounts(): Promise<readonly CallCount[]> {
  return (await world.operate("calls list", { company: company.companyId })).counts
}

async function limit(micros: number, holder: object = { class: "general" }): Promise<void> {
  const dollars = (micros / 1_000_000).toFixed(6)
  const period = "month"
  await setLimit(world, company, { period, dollars, ...holder })
}

const read = (key = company.key) => world.call(key, "GET", CREDITS)

async function storedCounts(): Promise<number> {
  const stream = `ledger-${company.companyId}`
  const { events } = await world.operate("audit show", { stream, type: "ApiCallsCounted" })
  return events.length
}

describe("a call of a counted route", () => {
  it("adds one to the count of its key, person and day", async () => {
    for (let i = 0; i < 3; i += 1) expect((await read()).status).toBe(200)
    const { keyId, ownerId: personId } = company
    expect(await callCounts()).toEqual([
      expect.objectContaining({ day: "2031-01-15", keyId, personId, calls: 3 }),
    ])
    expect(await storedCounts()).toBe(1)
  })

  it("counts if its operation is rejected afterwards, but not if its key is rejected", async () => {
    const { key } = await makeKey(world, company, { operations: ["phone.messages.send"] })
    expect((await read(key)).body.error).toBe("operation_not_granted")
    expect((await read(`${key}x`)).status).toBe(401)
    expect((await callCounts()).map(({ calls }) => calls)).toEqual([1])
  })

  it("counts even if its body is not JSON", async () => {
    const body = "no JSON"
    const headers = { "content-type": "application/json" }
    const answer = await world.call(company.key, "POST", TEXTS, { body, headers })
    expect(answer.status).toBe(400)
    expect((await callCounts()).map(({ calls }) => calls)).toEqual([1])
  })

  it("does not include the team list", async () => {
    expect((await world.call(company.key, "GET", "/api/v1/people")).status).toBe(200)
    expect(await callCounts()).toEqual([])
  })

  it("counts for no person if the app key calls without a sign-in", async () => {
    const operations = ["account.balance.read"]
    const { key, keyId } = await makeKey(world, company, { app: true, operations })
    await read(key)
    expect(await callCounts()).toEqual([
      expect.objectContaining({ keyId, personId: null, calls: 1 }),
    ])
  })
})

describe("a limit", () => {
  it.each(["company", "person", "key"] as const)(
    "of the %s rejects a call that exceeds it and does not count the call",
    async (holder) => {
      const holders = {
        company: { class: "general" },
        person: { class: "general", person: company.ownerId },
        key: { key: company.keyId },
      }
      await limit(2 * CALL + 1, holders[holder])
      const answers = [await read(), await read(), await read(), await read()]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429])
      const { limit: refusing } = answers[2]?.body ?? {}
      expect(refusing).toMatchObject({ holder, usedMicros: 2 * CALL, remainingMicros: 1 })
      expect(refusing).toMatchObject({ askedMicros: CALL })
      expect((await callCounts()).map(({ calls }) => calls)).toEqual([2])
    },
  )

  it("lets as many concurrent calls pass as fit", async () => {
    await limit(7 * CALL)
    const answers = await Promise.all(Array.from({ length: 30 }, () => read()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(23)
    expect((await callCounts()).map(({ calls }) => calls)).toEqual([7])
  })

  it("includes calls that are not recorded yet when it checks a charge", async () => {
    await limit(9_000 + CALL)
    await read()
    const body = { to: "+14155550142", body: "STOP to end" }
    const refused = await world.call(company.key, "POST", TEXTS, { body })
    expect(refused.status).toBe(429)
    expect(refused.body.limit).toMatchObject({ usedMicros: 2 * CALL, askedMicros: 9_000 })
    expect(await storedCounts()).toBe(0)
    await world.operate("wait")
    const stream = `refusals-${company.companyId}`
    const { events } = await world.operate("audit show", { stream })
    expect(events[0].data).toMatchObject({ unrecordedMicros: String(2 * CALL) })
  })

  it("of a key that a call uses up refuses a charge, and then rejects the key", async () => {
    await limit(2 * CALL, { key: company.keyId, period: "day" })
    await read()
    const body = { to: "+14155550144", body: "STOP to end" }
    const text = () => world.call(company.key, "POST", TEXTS, { body })
    const refused = await text()
    expect([refused.status, refused.body.error]).toEqual([429, "spend_limit_reached"])
    expect(refused.body.limit).toMatchObject({ holder: "key", remainingMicros: 0 })
    expect((await text()).body).toMatchObject({ error: "invalid_key", limit: { askedMicros: 0 } })
  })

  it("is checked with calls that are recorded right before the next accepted charge", async () => {
    await read()
    const body = { to: "+14155550143", body: "STOP to end" }
    expect((await world.call(company.key, "POST", TEXTS, { body })).status).toBe(200)
    const { events } = await world.operate("audit show", { stream: `ledger-${company.companyId}` })
    const types = events.map(({ type }: { type: string }) => type)
    const at = types.indexOf("ApiCallsCounted")
    // The text may have been sent meanwhile and its charge settled.
    expect(types.slice(at, at + 2)).toEqual(["ApiCallsCounted", "Charged"])
    expect(await storedCounts()).toBe(1)
  })

  it("of calls needs no funds: a company without any can read", async () => {
    company = await makeCompany(world, { funds: "0" })
    expect((await read()).body).toMatchObject({ balance: 0 })
  })
})

describe("the day of a call", () => {
  it("ends at midnight UTC: 23:59:59.9 and 00:00:00.1 are two days, for counts and limits", async () => {
    const { ports } = world
    const at = (time: string) => ports.setClock?.(Date.parse(time))
    await at("2031-03-04T23:59:59.900Z")
    await limit(CALL, { key: company.keyId, period: "day" })
    const answers = [await read()]
    await at("2031-03-05T00:00:00.100Z")
    answers.push(await read(), await read())
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401])
    const days = (await callCounts()).map(({ day, calls }) => [day, calls])
    expect(days.toSorted()).toEqual([
      ["2031-03-04", 1],
      ["2031-03-05", 1],
    ])
  })
})

describe("buffered calls", () => {
  it("survive a restart", async () => {
    await read()
    world = await world.restart()
    expect((await callCounts()).map(({ calls }) => calls)).toEqual([1])
  })

  it("are recorded for their own day before anything is decided on the next", async () => {
    await read()
    const { ports } = world
    await ports.setClock?.(Date.parse("2031-03-06T00:00:00.000Z"))
    await read()
    const days = (await callCounts()).map(({ day, calls }) => [day, calls])
    expect(days).toEqual([
      ["2031-03-06", 1],
      ["2031-03-05", 1],
    ])
  })
})
