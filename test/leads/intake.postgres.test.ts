/** What a form takes in, as it is sent: every rule and each side of its borders. */
import { anyTable } from "../support/read-models.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { createHash } from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import type { FormId } from "../../domain/leads/lead-events.ts"
import { rateSettings } from "../../src/frame/routes/checks/rate-limits.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { receiveLead } from "../../src/leads/receive-lead.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { SAMPLE_LEAD, listAllLeads, openForm, postForm, postFormJson } from "./forms.ts"

// The API lets any number of calls pass, a form does not.
const world = await ownWorld("time", { rateLimits: "off", settings: { RATE_LIMITS: "on" } })
let company: Company
let form: string
beforeEach(async () => {
  company = await makeCompany(world)
  form = await openForm(world, company)
})

const last = async () => (await listAllLeads(world, company)).at(-1)
const EMAIL = { email: "ada@example.com" }

describe("a form that is sent", () => {
  it("by a browser leads to its thanks, wherever _next would lead, and is a lead", async () => {
    const values = {
      ...SAMPLE_LEAD,
      _next: "https://evil.example",
      colour: " blue ",
      utm_source: "news",
    }
    const { status, headers } = await postForm(world, form, {
      ...values,
      empty: "",
      phone: "  ",
      lastName: "\u200b\u3164",
    })
    expect([status, headers["location"]]).toEqual([303, `/forms/${form}/thanks`])
    const thanks = await world.app.inject({ method: "GET", url: String(headers["location"]) })
    expect([thanks.statusCode, thanks.body]).toEqual([200, expect.stringContaining("Thank you")])
    expect(await last()).toEqual({
      id: expect.stringMatching(/^lead_[0-9a-f]{32}$/),
      formId: form,
      formName: "Contact us",
      ...SAMPLE_LEAD,
      lastName: null,
      phone: null,
      company: null,
      pageUrl: null,
      smsConsent: false,
      emailConsent: false,
      utm: { source: "news" },
      fields: { colour: "blue" },
      createdAt: expect.any(String),
      collectedAt: null,
    })
  })

  it("by a program is answered with the lead's id", async () => {
    const { status, body } = await postFormJson(world, form, {
      ...SAMPLE_LEAD,
      size: 4,
      lastName: null,
    })
    expect([status, body]).toEqual([201, { id: expect.stringMatching(/^lead_/) }])
    expect(await last()).toMatchObject({ id: body.id, fields: { size: "4" }, lastName: null })
  })

  it.each([
    ["true", true],
    [" ON ", true],
    ["1", true],
    ["Yes", true],
    [true, true],
    [1, true],
    ["y", false],
    ["no", false],
    ["0", false],
    [false, false],
    ["2", false],
  ])("takes %j for a consent or not", async (smsConsent, given) => {
    await postFormJson(world, form, { ...EMAIL, smsConsent })
    expect(await last()).toMatchObject({ smsConsent: given, emailConsent: false, fields: {} })
  })

  it("keeps the hash of the text that stood beside a consent, and makes no opt-in of it", async () => {
    const consentText = "Acme may text me."
    await postFormJson(world, form, { phone: "+14155550188", smsConsent: "on", consentText })
    const shown = await world.operate("audit show", { stream: `leads-${company.companyId}` })
    const hash = createHash("sha256").update(consentText).digest("hex")
    expect(JSON.stringify(shown)).toContain(`"consentTextHash":"${hash}"`)
    expect(await last()).toMatchObject({ smsConsent: true, fields: {} })
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/optins")
    expect(body.optins).toEqual([])
  })

  it("keeps what no text can hold as a mark, and every name that it may have", async () => {
    const names = { __proto__x: "0", constructor: "1", toString: "2", hasOwnProperty: "3" }
    const odd = `{"__proto__":"own","email":"a@b.example","lastName":"\\ud800x\\u0000\\u202e"`
    await postFormJson(world, form, `${odd},${JSON.stringify(names).slice(1)}`)
    const lead = await last()
    expect(lead.lastName).toBe("\ufffdx\ufffd\u202e")
    expect(Object.entries(lead.fields)).toEqual([["__proto__", "own"], ...Object.entries(names)])
    await postForm(world, form, "phone=1&a%ff=%zz&__proto__=2&__proto__=3&=4")
    expect(Object.entries((await last()).fields)).toEqual([
      ["a\ufffd", "%zz"],
      ["__proto__", "2"],
    ])
  })
})

describe("a border", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_none, i) => [`field ${i}`, "x"]))
  const long = (count: number) => "\u{1f600}".repeat(count)
  // An email and its name are 20 bytes; the rest is in fields of up to 2,000, each with a name of one.
  const bytes = (count: number) =>
    Object.fromEntries(
      Array.from({ length: Math.ceil(count / 2_000) }, (_none, i) => [
        String.fromCodePoint(97 + i),
        "x".repeat(Math.min(1_999, count - i * 2_000 - 1)),
      ]),
    )
  it.each<[string, object, object]>([
    ["a value", { firstName: long(2_000) }, { firstName: long(2_001) }],
    ["a field of its own", { colour: long(2_000) }, { colour: long(2_001) }],
    ["a message", { message: "m".repeat(5_000) }, { message: "m".repeat(5_001) }],
    ["a consent's text", { consentText: "m".repeat(5_000) }, { consentText: "m".repeat(5_001) }],
    ["a name", { [long(100)]: "x" }, { [long(101)]: "x" }],
    ["fields", many(50), many(51)],
    ["all of it", bytes(16_000 - 20), bytes(16_000 - 19)],
    ["how many there are", many(50), many(10_000)],
  ])("of %s is taken, and one more is 413", async (_what, fits, tooMuch) => {
    expect((await postFormJson(world, form, { ...EMAIL, ...fits })).status).toBe(201)
    const { status, body } = await postFormJson(world, form, { ...EMAIL, ...tooMuch })
    expect([status, body.error ?? body]).toEqual([413, "too_large"])
    // What somebody wrote is not told again.
    expect(body.message).not.toMatch(/colour|field \d|😀|xx/u)
    expect(await listAllLeads(world, company)).toHaveLength(1)
  })

  it("of the body is 64 KiB", async () => {
    const sized = (size: number) => `${JSON.stringify({ ...EMAIL, _next: "" })}${" ".repeat(size)}`
    const room = 65_536 - sized(0).length
    expect((await postFormJson(world, form, sized(room))).status).toBe(201)
    expect((await postFormJson(world, form, sized(room + 1))).status).toBe(413)
  })

  it.each([{}, { message: "Hi" }, { email: " ", phone: "\t" }])(
    "is an email or a phone number: %j",
    async (values) => {
      const { status, body } = await postFormJson(world, form, values)
      expect([status, Object.keys(body.fields)]).toEqual([400, ["email", "phone"]])
      const page = await postForm(world, form, values)
      expect([page.status, page.headers["content-type"]]).toEqual([400, "text/html; charset=utf-8"])
      expect((await postFormJson(world, form, { ...values, phone: "call me" })).status).toBe(201)
    },
  )

  it.each(["not-an-email", "ada@localhost", "ada@example..com", "Ada <ada@example.com>"])(
    "is an email that can be answered: %s",
    async (email) => {
      const { status, body } = await postFormJson(world, form, { ...SAMPLE_LEAD, email })
      expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", ["email"]])
      expect(body.fields.email).not.toContain(email)
      expect(await listAllLeads(world, company)).toEqual([])
    },
  )

  it.each([
    ["email", "ada+news@mail.example.co.uk"],
    ["email", "käthe@bücher.example"],
    ["phone", "(415) 555-0100 ext. 3"],
  ])("is taken as it was written: %s %s", async (name, value) => {
    expect((await postFormJson(world, form, { ...SAMPLE_LEAD, [name]: value })).status).toBe(201)
    expect(await listAllLeads(world, company)).toMatchObject([{ [name]: value }])
  })
})

describe("who sends it", () => {
  it.each([
    ["http://ledger.test", 201],
    ["https://www.acme.example", 201],
    ["http://WWW.acme.example:8080", 201],
    // The page's own, at the name that this server is asked by.
    ["http://127.0.0.1:3000", 201],
    // A page that keeps to itself where it is.
    ["null", 201],
    ["https://acme.example", 403],
    ["https://www.acme.example.evil.example", 403],
    ["https://evil.example", 403],
    ["www.acme.example", 403],
    ["https://www.acme.example@evil.example", 403],
  ])("from a page at %s: %s", async (origin, status) => {
    const answer = await postFormJson(world, form, SAMPLE_LEAD, { origin, host: "127.0.0.1:3000" })
    expect(answer.status).toBe(status)
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined()
  })

  it("asks before in vain", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" }
    const answer = await world.app.inject({ method: "OPTIONS", url: `/forms/${form}`, headers })
    expect(answer.statusCode).toBe(405)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-"))).toEqual([])
  })
})

describe("a form that takes nothing", () => {
  it("is the same 404, whatever it was", async () => {
    const closed = await openForm(world, company)
    await world.operate("form close", { formId: closed })
    const [deleted, erased] = [await makeCompany(world), await makeCompany(world)]
    const ofDeleted = await openForm(world, deleted)
    const ofErased = await openForm(world, erased)
    await world.operate("company delete", { company: erased.companyId })
    await world.operate("clock advance", { duration: "15d" })
    await world.operate("company delete", { company: deleted.companyId })
    const answers: unknown[] = []
    const ids = ["form_x", "x", "..%2f", "form_%00", "lead_1", closed, ofDeleted, ofErased]
    for (const id of ids) {
      for (const send of [postFormJson, postForm]) {
        const { status, body } = await send(world, id)
        answers.push([status, body])
      }
      for (const url of [`/forms/${id}`, `/forms/${id}/thanks`]) {
        const { statusCode, body } = await world.app.inject({ method: "GET", url })
        answers.push([statusCode, body])
      }
    }
    const [json, page, shown] = answers
    expect(json).toEqual([404, { error: "not_found", message: "There is no such form." }])
    const alike = ids.flatMap(() => [json, page, shown, shown])
    expect(answers).toEqual(alike)
    expect(JSON.stringify([page, shown])).toContain("There is no such form.")
  })

  it.each(["text/plain", "multipart/form-data; boundary=x", "application/xml"])(
    "takes no %s",
    async (type) => {
      const answer = await postForm(world, form, "email=a@b.example", { "content-type": type })
      expect([answer.status, answer.body.error]).toEqual([415, "unsupported_media_type"])
    },
  )
})

describe("the same form again", () => {
  it("within a minute is one lead, however many come at once", async () => {
    const many = await Promise.all(Array.from({ length: 12 }, () => postFormJson(world, form)))
    expect(new Set(many.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    await world.operate("clock advance", { duration: "59s" })
    expect((await postFormJson(world, form)).body.id).toBe(many[0]?.body.id)
    expect((await postFormJson(world, form, { ...SAMPLE_LEAD, lastName: "B" })).status).toBe(201)
    expect(await listAllLeads(world, company)).toHaveLength(2)
    await world.operate("clock advance", { duration: "1s" })
    expect((await postFormJson(world, form)).body.id).not.toBe(many[0]?.body.id)
    expect(await listAllLeads(world, company)).toHaveLength(3)
  })

  it("by another form, or from another address, is another lead", async () => {
    const [first, second] = [
      await postFormJson(world, form),
      await postFormJson(world, await openForm(world, company)),
    ]
    const elsewhere = await world.app.inject({
      method: "POST",
      url: `/forms/${form}`,
      payload: SAMPLE_LEAD,
      remoteAddress: "192.0.2.7",
    })
    const ids = [first.body.id, second.body.id, elsewhere.json().id]
    expect(new Set(ids).size).toBe(3)
  })
})

describe("too many", () => {
  it("are none with RATE_LIMITS=off", async () => {
    const { ports } = world
    const off: Ports["settings"] = (asked) => {
      const changed = Object.is(asked, rateSettings) ? { RATE_LIMITS: "off" } : {}
      return { ...ports.settings(asked), ...changed }
    }
    const at = { companyId: company.companyId, formId: form as FormId }
    const content = { text: "{}", smsConsent: false, emailConsent: false, consentTextHash: null }
    const send = (i: number) =>
      receiveLead({ ...ports, settings: off }, at, content, `192.0.2.${i}`, causedBy("test"))
    const answers = await Promise.all(Array.from({ length: 65 }, (_none, i) => send(i)))
    expect(answers.filter((answer) => "leadId" in answer)).toHaveLength(65)
  })

  it("by one form in a minute are 429, and none of them leaves a key", async () => {
    const send = (i: number) => postFormJson(world, form, { email: `${i}@example.com` })
    const answers = await Promise.all(Array.from({ length: 65 }, (_none, i) => send(i)))
    const full = answers.filter(({ status }) => status === 429)
    expect(full).toHaveLength(5)
    expect(full[0]).toMatchObject({
      headers: { "retry-after": "60" },
      body: { error: "rate_limited" },
    })
    const late = await postForm(world, form, { email: "late@example.com" })
    expect([late.status, late.headers["retry-after"]]).toEqual([429, "60"])
    expect(late.body).toContain("Wait a minute")
    const keys = await anyTable(world.ports.readAll)
      .selectFrom("ledger.subject_keys")
      .select("subject")
      .where("company_id", "=", company.companyId)
      .where("subject", "like", "lead_%")
      .execute()
    // A few came in the same moment and were decided behind the sixtieth.
    expect(keys.length).toBeLessThanOrEqual(65)
    await world.operate("clock advance", { duration: "1m" })
    expect((await send(99)).status).toBe(201)
  })
})
