/** The lists of opt-outs and opt-ins, changed by the API and by recipients' texts. */
import { describe, expect, it } from "vitest"
import { makeCompany, sharedWorld, type ApiAnswer, type Company } from "../support/world.ts"
import { newPhoneNumber, postText } from "./text-requests.ts"
import { storeOptIn } from "./stored-opt-in.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
const URL = "/api/v1/phone/opt-outs"
const add = (key: string, phone: unknown): Promise<ApiAnswer> =>
  world.call(key, "POST", URL, { body: { phone } })

const remove = (key: string, phone: unknown): Promise<ApiAnswer> =>
  world.call(key, "DELETE", URL, { body: { phone } })

/** The opt-outs that the API lists for a key. */
async function list(key: string) {
  const { status, body } = await world.call(key, "GET", URL)
  expect(status).toBe(200)
  return body.optOuts
}

/** A company and a recipient of its texts; `reply` sends a text from the recipient. */
async function makeCompanyWithRecipient() {
  const company = await makeCompany(world)
  const phone = newPhoneNumber()
  const { from } = (await postText(world, company.key, { to: phone })).body
  const reply = (body: string) => world.operate("carrier text-in", { from: phone, to: from, body })
  return { ...company, phone, reply }
}

/** The ledger's time, in the format of answers. */
async function now(): Promise<string> {
  return (await world.operate("clock show")).now
}

describe("GET", () => {
  it("is empty for a new company", async () => {
    const { key } = await makeCompany(world)
    expect(await list(key)).toEqual([])
  })

  it("shows no other company's opt-outs", async () => {
    const [one, other] = [await makeCompany(world), await makeCompany(world)]
    const phone = newPhoneNumber()
    await add(one.key, phone)
    expect(await list(other.key)).toEqual([])
    expect((await remove(other.key, phone)).status).toBe(404)
    expect(await list(one.key)).toHaveLength(1)
  })

  it("lists the last changed first", async () => {
    const { key } = await makeCompany(world)
    const phones = [newPhoneNumber(), newPhoneNumber(), newPhoneNumber()]
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
  it("adds an opt-out and returns the list", async () => {
    const { key } = await makeCompany(world)
    const phone = newPhoneNumber()
    const { status, body } = await add(key, ` ${phone.slice(0, 5)} ${phone.slice(5)} `)
    const at = await now()
    expect(status).toBe(200)
    expect(body).toEqual({
      optOuts: [{ phone, status: "out", keyword: null, source: "api", at, since: at }],
    })
    expect(await list(key)).toEqual(body.optOuts)
  })

  it("changes nothing if it is repeated", async () => {
    const { key } = await makeCompany(world)
    const phone = newPhoneNumber()
    const first = await add(key, phone)
    await world.operate("clock advance", { duration: "1m" })
    expect((await add(key, phone)).body).toEqual(first.body)
  })

  it("accepts numbers of every country", async () => {
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

  it.for([
    ["4155550123", "This number is in local format. Use E.164, for example +14155550123."],
    [
      "911",
      "This is a short or emergency number. Use a full number in E.164, for example +14155550123.",
    ],
    ["hello", "This is not a valid phone number. Use E.164, for example +14155550123."],
  ] as const)("explains what is wrong with %s", async ([phone, message]) => {
    const { key } = await makeCompany(world)
    expect((await add(key, phone)).body.message).toBe(message)
  })

  it("asks for a JSON string instead of a JSON number", async () => {
    const { key } = await makeCompany(world)
    const { body } = await add(key, 14155550123)
    expect(body.fields).toEqual({
      phone: 'The phone number must be a JSON string, for example "+14155550123".',
    })
  })

  it.for([[undefined], [null], [5], [["+14155550123"]]])(
    "is 400 with the field for %o",
    async ([phone]) => {
      const { key } = await makeCompany(world)
      const { status, body } = await add(key, phone)
      expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", ["phone"]])
    },
  )
})

describe("DELETE", () => {
  it("ends an opt-out that the company added, and returns the list", async () => {
    const { key } = await makeCompany(world)
    const phone = newPhoneNumber()
    await add(key, phone)
    await world.operate("clock advance", { duration: "1m" })
    const { status, body } = await remove(key, phone)
    const at = await now()
    expect(status).toBe(200)
    expect(body.optOuts).toEqual([
      { phone, status: "in", keyword: null, source: "api", at, since: at },
    ])
  })

  it("accepts the phone number in the body or in the query", async () => {
    const { key } = await makeCompany(world)
    const phone = newPhoneNumber()
    const query = `${URL}?phone=${encodeURIComponent(phone)}`
    const headers = { "content-type": "application/json" }
    for (const options of [{}, { headers }, { body: {} }]) {
      await add(key, phone)
      expect((await world.call(key, "DELETE", query, options)).status).toBe(200)
    }
    const { status, body } = await world.call(key, "DELETE", URL)
    expect([status, Object.keys(body.fields)]).toEqual([400, ["phone"]])
  })

  it("explains how to send + in a query", async () => {
    const { key } = await makeCompany(world)
    const { body } = await world.call(key, "DELETE", `${URL}?phone=+14155550123`)
    expect(body.message).toBe(
      "This number is in local format. Use E.164, for example +14155550123. In a query, send + as %2B.",
    )
  })

  it("is 404 if there is no opt-out, and for a second deletion", async () => {
    const { key } = await makeCompany(world)
    const phone = newPhoneNumber()
    expect((await remove(key, phone)).body.error).toBe("not_found")
    await add(key, phone)
    expect((await remove(key, phone)).status).toBe(200)
    expect((await remove(key, phone)).body.error).toBe("not_found")
  })

  it("is 409 if the person texted STOP, even if the company had added an opt-out before", async () => {
    const { key, phone, reply } = await makeCompanyWithRecipient()
    await add(key, phone)
    await reply("unsubscribe")
    const { status, body } = await remove(key, phone)
    expect([status, body.error]).toEqual([409, "conflict"])
    expect(body.message).toContain("START")
    expect(await list(key)).toMatchObject([{ status: "out", keyword: "UNSUBSCRIBE" }])
  })

  it("is 400 bad_number for an invalid number", async () => {
    const { key } = await makeCompany(world)
    expect((await remove(key, "hello")).body.error).toBe("bad_number")
  })
})

describe("a recipient's text", () => {
  it("START ends the STOP and the company's opt-out", async () => {
    const { key, phone, reply } = await makeCompanyWithRecipient()
    await add(key, phone)
    await reply("Stop")
    await reply("Start")
    expect(await list(key)).toMatchObject([{ phone, status: "in", keyword: "START" }])
    expect((await remove(key, phone)).body.error).toBe("not_found")
    expect((await postText(world, key, { to: phone })).status).toBe(200)
  })

  it("sets `at` to the last change, and `since` to the start of the current status", async () => {
    const { key, phone, reply } = await makeCompanyWithRecipient()
    await add(key, phone)
    const added = await now()
    await world.operate("clock advance", { duration: "1m" })
    await reply("STOP")
    const stopped = await now()
    expect(await list(key)).toMatchObject([{ status: "out", since: added, at: stopped }])
    await world.operate("clock advance", { duration: "1m" })
    await reply("START")
    const started = await now()
    expect(await list(key)).toMatchObject([{ status: "in", since: started, at: started }])
  })
})

const OPT_INS = "/api/v1/phone/optins"

async function listOptIns({ key }: Pick<Company, "key">) {
  await world.operate("wait")
  const { status, body } = await world.call(key, "GET", OPT_INS)
  expect(status).toBe(200)
  return body.optins
}

describe("GET /api/v1/phone/optins", () => {
  it("lists the company's opt-ins, newest first", async () => {
    const [company, other] = [await makeCompany(world), await makeCompany(world)]
    const [first, second] = [newPhoneNumber(), newPhoneNumber()]
    await storeOptIn(world, company, first)
    const later = { optInId: "opt_0002", at: Date.UTC(2026, 3, 1), offers: false, sourceUrl: null }
    await storeOptIn(world, company, second, later)
    await storeOptIn(world, other, newPhoneNumber())
    const common = { firstName: "Ada", service: true, method: "web" }
    expect(await listOptIns(company)).toEqual([
      {
        ...common,
        id: "opt_0002",
        phone: second,
        offers: false,
        sourceUrl: null,
        createdAt: "2026-04-01T00:00:00.000Z",
      },
      {
        ...common,
        id: "opt_0001",
        phone: first,
        offers: true,
        sourceUrl: "https://acme.example/texts",
        createdAt: "2026-03-30T09:15:00.250Z",
      },
    ])
    expect(await listOptIns(other)).toHaveLength(1)
  })

  it("is empty without opt-ins", async () => {
    expect(await listOptIns(await makeCompany(world))).toEqual([])
  })

  it("shows that an opt-in ends no STOP, and the audit passes", async () => {
    const company = await makeCompany(world)
    const phone = newPhoneNumber()
    const stoppedAt = Date.UTC(2026, 2, 1)
    const optOuts = { stoppedAt, stopKeyword: "STOP", addedAt: null, firstMessageId: null }
    await storeOptIn(world, company, phone, { optOuts })
    await expect(postText(world, company.key, { to: phone })).resolves.toMatchObject({
      status: 409,
    })
    const { checks } = await world.operate("audit verify", { company: company.companyId })
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  })

  it("shows no personal data once the company is erased", async () => {
    const company = await makeCompany(world)
    await storeOptIn(world, company, newPhoneNumber())
    await listOptIns(company)
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
