/** What a form accepts: every rule, on both sides of its limit. */
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

// Rate limits of the API are off, those of forms are on.
const world = await ownWorld("time", { rateLimits: "off", settings: { RATE_LIMITS: "on" } })
let company: Company
let form: string
beforeEach(async () => {
  company = await makeCompany(world)
  form = await openForm(world, company)
})

const last = async () => (await listAllLeads(world, company)).at(-1)
const EMAIL = { email: "ada@example.com" }

describe("a sent form", () => {
  it("from a browser becomes a lead and redirects to its own thanks page, whatever _next says", async () => {
    const values = {
      ...SAMPLE_LEAD,
      _next: "https://evil.example",
      color: " blue ",
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
      fields: { color: "blue" },
      createdAt: expect.any(String),
      collectedAt: null,
    })
  })

  it("from a program returns the lead's id", async () => {
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
  ])("reads the consent value %j as %j", async (smsConsent, consents) => {
    await postFormJson(world, form, { ...EMAIL, smsConsent })
    expect(await last()).toMatchObject({ smsConsent: consents, emailConsent: false, fields: {} })
  })

  it("stores the hash of the consent text, and does not create an opt-in", async () => {
    const consentText = "Acme may text me."
    await postFormJson(world, form, { phone: "+14155550188", smsConsent: "on", consentText })
    const shown = await world.operate("audit show", { stream: `leads-${company.companyId}` })
    const hash = createHash("sha256").update(consentText).digest("hex")
    expect(JSON.stringify(shown)).toContain(`"consentTextHash":"${hash}"`)
    expect(await last()).toMatchObject({ smsConsent: true, fields: {} })
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/optins")
    expect(body.optins).toEqual([])
  })

  it("replaces invalid characters, and stores fields of any name", async () => {
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

describe("a limit", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_none, i) => [`field ${i}`, "x"]))
  const long = (count: number) => "\u{1f600}".repeat(count)
  // The email field takes 20 bytes; the rest is in fields of up to 2,000 bytes with one-letter names.
  const bytes = (count: number) =>
    Object.fromEntries(
      Array.from({ length: Math.ceil(count / 2_000) }, (_none, i) => [
        String.fromCodePoint(97 + i),
        "x".repeat(Math.min(1_999, count - i * 2_000 - 1)),
      ]),
    )
  it.each<[string, object, object]>([
    ["a standard field", { firstName: long(2_000) }, { firstName: long(2_001) }],
    ["a custom field", { color: long(2_000) }, { color: long(2_001) }],
    ["a message", { message: "m".repeat(5_000) }, { message: "m".repeat(5_001) }],
    ["a consent text", { consentText: "m".repeat(5_000) }, { consentText: "m".repeat(5_001) }],
    ["a field's name", { [long(100)]: "x" }, { [long(101)]: "x" }],
    ["the number of fields", many(50), many(51)],
    ["the whole form", bytes(16_000 - 20), bytes(16_000 - 19)],
    ["the number of fields, far above it", many(50), many(10_000)],
  ])("of %s is accepted, and more is 413", async (_what, fits, tooMuch) => {
    expect((await postFormJson(world, form, { ...EMAIL, ...fits })).status).toBe(201)
    const { status, body } = await postFormJson(world, form, { ...EMAIL, ...tooMuch })
    expect([status, body.error ?? body]).toEqual([413, "too_large"])
    // The message does not repeat what the sender wrote.
    expect(body.message).not.toMatch(/color|field \d|😀|xx/u)
    expect(await listAllLeads(world, company)).toHaveLength(1)
  })

  it("of the body is 64 KiB", async () => {
    const sized = (size: number) => `${JSON.stringify({ ...EMAIL, _next: "" })}${" ".repeat(size)}`
    const room = 65_536 - sized(0).length
    expect((await postFormJson(world, form, sized(room))).status).toBe(201)
    expect((await postFormJson(world, form, sized(room + 1))).status).toBe(413)
  })

  it.each([{}, { message: "Hi" }, { email: " ", phone: "\t" }])(
    "requires an email or a phone number: %j",
    async (values) => {
      const { status, body } = await postFormJson(world, form, values)
      expect([status, Object.keys(body.fields)]).toEqual([400, ["email", "phone"]])
      const page = await postForm(world, form, values)
      expect([page.status, page.headers["content-type"]]).toEqual([400, "text/html; charset=utf-8"])
      expect((await postFormJson(world, form, { ...values, phone: "call me" })).status).toBe(201)
    },
  )

  it.each(["not-an-email", "ada@localhost", "ada@example..com", "Ada <ada@example.com>"])(
    "requires a valid email: %s",
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
  ])("keeps contact data as written: %s %s", async (name, value) => {
    expect((await postFormJson(world, form, { ...SAMPLE_LEAD, [name]: value })).status).toBe(201)
    expect(await listAllLeads(world, company)).toMatchObject([{ [name]: value }])
  })
})

describe("the origin", () => {
  it.each([
    ["http://ledger.test", 201],
    ["https://www.acme.example", 201],
    ["http://WWW.acme.example:8080", 201],
    // The hosted page's own origin.
    ["http://127.0.0.1:3000", 201],
    // A page that hides its origin.
    ["null", 201],
    ["https://acme.example", 403],
    ["https://www.acme.example.evil.example", 403],
    ["https://evil.example", 403],
    ["www.acme.example", 403],
    ["https://www.acme.example@evil.example", 403],
  ])("%s gets %s", async (origin, status) => {
    const answer = await postFormJson(world, form, SAMPLE_LEAD, { origin, host: "127.0.0.1:3000" })
    expect(answer.status).toBe(status)
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined()
  })

  it("gets no CORS headers from a preflight request", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" }
    const answer = await world.app.inject({ method: "OPTIONS", url: `/forms/${form}`, headers })
    expect(answer.statusCode).toBe(405)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-"))).toEqual([])
  })
})

describe("a form that accepts nothing", () => {
  it("is the same 404 whether it is unknown, closed, deleted or erased", async () => {
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
    expect(json).toEqual([
      404,
      { error: "not_found", message: "This form does not exist or is closed." },
    ])
    const alike = ids.flatMap(() => [json, page, shown, shown])
    expect(answers).toEqual(alike)
    expect(JSON.stringify([page, shown])).toContain("This form does not exist or is closed.")
  })

  it.each(["text/plain", "multipart/form-data; boundary=x", "application/xml"])(
    "rejects the content type %s",
    async (type) => {
      const answer = await postForm(world, form, "email=a@b.example", { "content-type": type })
      expect([answer.status, answer.body.error]).toEqual([415, "unsupported_media_type"])
    },
  )
})

describe("a repeated form", () => {
  it("is one lead within a minute, even with concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => postFormJson(world, form)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    await world.operate("clock advance", { duration: "59s" })
    expect((await postFormJson(world, form)).body.id).toBe(answers[0]?.body.id)
    expect((await postFormJson(world, form, { ...SAMPLE_LEAD, lastName: "B" })).status).toBe(201)
    expect(await listAllLeads(world, company)).toHaveLength(2)
    await world.operate("clock advance", { duration: "1s" })
    expect((await postFormJson(world, form)).body.id).not.toBe(answers[0]?.body.id)
    expect(await listAllLeads(world, company)).toHaveLength(3)
  })

  it("is another lead from another form or another client address", async () => {
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

describe("too many leads", () => {
  it("are accepted with RATE_LIMITS=off", async () => {
    const { ports } = world
    const off: Ports["settings"] = (reader) => {
      const changed = Object.is(reader, rateSettings) ? { RATE_LIMITS: "off" } : {}
      return { ...ports.settings(reader), ...changed }
    }
    const at = { companyId: company.companyId, formId: form as FormId }
    const content = { text: "{}", smsConsent: false, emailConsent: false, consentTextHash: null }
    const send = (i: number) =>
      receiveLead({ ...ports, settings: off }, at, content, `192.0.2.${i}`, causedBy("test"))
    const answers = await Promise.all(Array.from({ length: 65 }, (_none, i) => send(i)))
    expect(answers.filter((answer) => "leadId" in answer)).toHaveLength(65)
  })

  it("from one form in a minute are 429, and leave no keys", async () => {
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
    expect(late.body).toContain("Try again in a minute")
    const keys = await anyTable(world.ports.readAll)
      .selectFrom("ledger.subject_keys")
      .select("subject")
      .where("company_id", "=", company.companyId)
      .where("subject", "like", "lead_%")
      .execute()
    // Concurrent requests may have created their key before the sixtieth lead was stored.
    expect(keys.length).toBeLessThanOrEqual(65)
    await world.operate("clock advance", { duration: "1m" })
    expect((await send(99)).status).toBe(201)
  })
})
