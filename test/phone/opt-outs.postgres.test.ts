import { describe, expect, it } from "vitest"
import type { ApiAnswer } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { makeKey, newNumber, sendText } from "./texting.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })

const URL = "/api/v1/phone/opt-outs"

const add = (key: string, phone: unknown): Promise<ApiAnswer> =>
  world.call(key, "POST", URL, { body: { phone } })
const remove = (key: string, phone: unknown): Promise<ApiAnswer> =>
  world.call(key, "DELETE", URL, { body: { phone } })

/** The opt-outs that a key is shown. */
async function list(key: string) {
  const { status, body } = await world.call(key, "GET", URL)
  expect(status).toBe(200)
  return body.optOuts
}

/** A company with somebody who was texted, and that person's texts back. */
async function makeTexted() {
  const company = await makeCompany(world)
  const phone = newNumber()
  const { from } = (await sendText(world, company.key, { to: phone })).body
  const say = (body: string) => world.operate("carrier text-in", { from: phone, to: from, body })
  return { ...company, phone, say }
}

/** The ledger's time as answers give it. */
async function now(): Promise<string> {
  return (await world.operate("clock show")).now
}

describe("GET", () => {
  it("is empty for a new company", async () => {
    const { key } = await makeCompany(world)
    expect(await list(key)).toEqual([])
  })

  it("shows nobody else's", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    const phone = newNumber()
    await add(one.key, phone)
    expect(await list(other.key)).toEqual([])
    expect((await remove(other.key, phone)).status).toBe(404)
    expect(await list(one.key)).toHaveLength(1)
  })

  it("gives the last changed first", async () => {
    const { key } = await makeCompany(world)
    const phones = [newNumber(), newNumber(), newNumber()]
    for (const phone of phones) {
      await add(key, phone)
      await world.operate("clock advance", { duration: "1s" })
    }
    await remove(key, phones[0])
    const found = (await list(key)).map(({ phone }: { phone: string }) => phone)
    expect(found).toEqual([phones[0], phones[2], phones[1]])
  })
})

describe("POST", () => {
  it("adds an opt-out and answers the list", async () => {
    const { key } = await makeCompany(world)
    const phone = newNumber()
    const { status, body } = await add(key, ` ${phone.slice(0, 5)} ${phone.slice(5)} `)
    const at = await now()
    expect(status).toBe(200)
    expect(body).toEqual({
      optOuts: [{ phone, status: "out", keyword: null, source: "api", at, since: at }],
    })
    expect(await list(key)).toEqual(body.optOuts)
  })

  it("again changes nothing", async () => {
    const { key } = await makeCompany(world)
    const phone = newNumber()
    const first = await add(key, phone)
    await world.operate("clock advance", { duration: "1m" })
    expect((await add(key, phone)).body).toEqual(first.body)
  })

  it("takes numbers of every country", async () => {
    const { key } = await makeCompany(world)
    expect((await add(key, "+442071838750")).status).toBe(200)
  })

  it.for(["hello", "4155550123", "", "+1415555", "+14155550123 or so", "+1415\0", "x".repeat(41)])(
    "is 400 bad_number for %s",
    async (phone) => {
      const { key } = await makeCompany(world)
      const { status, body } = await add(key, phone)
      expect([status, body.error]).toEqual([400, "bad_number"])
    },
  )

  it.for([[undefined], [null], [5], [["+14155550123"]]])(
    "is 400 with the field for %o",
    async ([phone]) => {
      const { key } = await makeCompany(world)
      const { status, body } = await add(key, phone)
      expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", ["phone"]])
    },
  )

  it("never overwrites a STOP", async () => {
    const { key, phone, say } = await makeTexted()
    await say("STOP")
    const stopped = await list(key)
    expect(stopped).toMatchObject([{ phone, status: "out", keyword: "STOP", source: "text" }])
    await world.operate("clock advance", { duration: "1m" })
    expect((await add(key, phone)).body.optOuts).toEqual(stopped)
    expect((await remove(key, phone)).status).toBe(409)
  })
})

describe("DELETE", () => {
  it("ends what the company added, and answers the list", async () => {
    const { key } = await makeCompany(world)
    const phone = newNumber()
    await add(key, phone)
    await world.operate("clock advance", { duration: "1m" })
    const { status, body } = await remove(key, phone)
    const at = await now()
    expect(status).toBe(200)
    expect(body.optOuts).toEqual([
      { phone, status: "in", keyword: null, source: "api", at, since: at },
    ])
  })

  it("takes the phone in the body or in the query", async () => {
    const { key } = await makeCompany(world)
    const phone = newNumber()
    const query = `${URL}?phone=${encodeURIComponent(phone)}`
    const headers = { "content-type": "application/json" }
    for (const options of [{}, { headers }, { body: {} }]) {
      await add(key, phone)
      expect((await world.call(key, "DELETE", query, options)).status).toBe(200)
    }
    const { status, body } = await world.call(key, "DELETE", URL)
    expect([status, Object.keys(body.fields)]).toEqual([400, ["phone"]])
  })

  it("is 404 where there is none, also a second time", async () => {
    const { key } = await makeCompany(world)
    const phone = newNumber()
    expect((await remove(key, phone)).body.error).toBe("not_found")
    await add(key, phone)
    expect((await remove(key, phone)).status).toBe(200)
    expect((await remove(key, phone)).body.error).toBe("not_found")
  })

  it("is 409 where the person texted STOP, also where the company had added it before", async () => {
    const { key, phone, say } = await makeTexted()
    await add(key, phone)
    await say("unsubscribe")
    const { status, body } = await remove(key, phone)
    expect([status, body.error]).toEqual([409, "conflict"])
    expect(body.message).toContain("START")
    expect(await list(key)).toMatchObject([{ status: "out", keyword: "UNSUBSCRIBE" }])
  })

  it("is 400 bad_number for what is no number", async () => {
    const { key } = await makeCompany(world)
    expect((await remove(key, "hello")).body.error).toBe("bad_number")
  })
})

describe("a person's own words", () => {
  it("START ends their STOP and the company's opt-out", async () => {
    const { key, phone, say } = await makeTexted()
    await add(key, phone)
    await say("Stop")
    await say("Start")
    expect(await list(key)).toMatchObject([{ phone, status: "in", keyword: "START" }])
    expect((await remove(key, phone)).body.error).toBe("not_found")
    expect((await sendText(world, key, { to: phone })).status).toBe(200)
  })

  it("count as a word only where they are the whole text", async () => {
    const { key, say } = await makeTexted()
    await say("please stop by")
    await say("HELP")
    expect(await list(key)).toEqual([])
  })

  it("since is the start of the present status, at the last change", async () => {
    const { key, phone, say } = await makeTexted()
    await add(key, phone)
    const added = await now()
    await world.operate("clock advance", { duration: "1m" })
    await say("STOP")
    const stopped = await now()
    expect(await list(key)).toMatchObject([{ status: "out", since: added, at: stopped }])
    await world.operate("clock advance", { duration: "1m" })
    await say("START")
    const started = await now()
    expect(await list(key)).toMatchObject([{ status: "in", since: started, at: started }])
  })
})

describe("403", () => {
  it.for([
    ["GET", "phone.overview.read"],
    ["POST", "phone.optouts.add"],
    ["DELETE", "phone.optouts.remove"],
  ] as const)("%s asks for %s", async ([method, operation]) => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
    const { status, body } = await world.call(key, method, URL, { body: { phone: newNumber() } })
    expect([status, body.error, body.operation]).toEqual([403, "operation_not_granted", operation])
  })

  it("lets a person who may use the phone read, and not change", async () => {
    const company = await makeCompany(world)
    const { key } = await makeKey(world, company, { role: "user", permissions: ["Use phone"] })
    expect((await world.call(key, "GET", URL)).status).toBe(200)
    expect((await add(key, newNumber())).body.error).toBe("not_allowed")
    expect((await remove(key, newNumber())).body.error).toBe("not_allowed")
  })
})
