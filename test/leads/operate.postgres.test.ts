/** The operations of forms and leads, and the collection of leads by companies. */
import { beforeEach, describe, expect, it, afterAll } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, ownWorld, openWorld } from "../support/world.ts"
import { listAllLeads, openForm, postForm, postFormJson, LEADS_PATH } from "./forms.ts"

const world = await ownWorld("time", { rateLimits: "off" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

/** An operation's result as the command line prints it. */
function rendered(name: string, result: unknown): string {
  const found = PROGRAM.operations.find((one) => one.name === name)
  return found?.render?.(result, { isTTY: false, columns: 80 }) ?? ""
}

describe("form add", () => {
  it("returns the hosted page's address, and HTML for the company's own page", async () => {
    const input = { company: company.companyId, name: " Contact <us> " }
    const added = await world.operate("form add", { ...input, hostnames: ["WWW.acme.example"] })
    const { formId, url, html } = added
    expect(url).toBe(`http://ledger.test/forms/${formId}`)
    expect(rendered("form add", added)).toContain(html)
    expect(html).toContain(`<form method="post" action="${url}">`)
    // Every field of the HTML is accepted when the company's page sends it.
    const names = [...html.matchAll(/ name="(\w+)"/g)].map(([, name]) => name)
    expect(names).toEqual(["firstName", "lastName", "email", "phone", "message", "website_url"])
    const values = Object.fromEntries(
      names.map((name) => [
        name,
        name === "website_url" ? "" : name === "email" ? "x@y.example" : "x",
      ]),
    )
    const origin = "https://www.acme.example"
    expect((await postForm(world, formId, values, { origin })).status).toBe(303)
    expect(await listAllLeads(world, company)).toMatchObject([{ lastName: "x", fields: {} }])
    const page = await world.app.inject({ method: "GET", url: `/forms/${formId}` })
    expect(page.body).toContain("<h1>Contact &lt;us&gt;</h1>")
    const { forms } = await world.operate("form list", { company: company.companyId })
    const form = { formId, url, name: "Contact <us>", hostnames: ["www.acme.example"] }
    expect(forms).toMatchObject([{ ...form, status: "open", refuseLinks: false }])
  })

  it.each(["https://acme.example", "acme.example/", "a b", "-a.example", "", "a..b"])(
    "rejects the host name %j",
    async (hostname) => {
      await expect(openForm(world, company, { hostnames: [hostname] })).rejects.toThrow(/host name/)
    },
  )

  it("rejects an erased company", async () => {
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    await expect(openForm(world, company)).rejects.toThrow(/was erased/)
  })
})

describe("form close", () => {
  it("closes an existing form, and is idempotent", async () => {
    const formId = await openForm(world, company)
    for (let i = 0; i < 2; i += 1) {
      expect(await world.operate("form close", { formId })).toMatchObject({ status: "closed" })
    }
    const { forms } = await world.operate("form list", { company: company.companyId })
    expect(forms).toMatchObject([{ status: "closed" }])
    await expect(world.operate("form close", { formId: "form_x" })).rejects.toThrow(
      /There is no form/,
    )
  })
})

describe("lead add", () => {
  it("adds a lead as if its form had been sent", async () => {
    const form = await openForm(world, company)
    const lead = { company: company.companyId, form, firstName: "Ada", phone: "+1 415 555 0123" }
    const fields = ["color=blue=green", "__proto__=x", "company=Acme"]
    const { leadId } = await world.operate("lead add", { ...lead, fields })
    const [added] = await listAllLeads(world, company)
    expect(added).toMatchObject({ id: leadId, firstName: "Ada", email: null, company: "Acme" })
    expect(Object.entries(added.fields)).toEqual([
      ["color", "blue=green"],
      ["__proto__", "x"],
    ])
    expect((await world.operate("lead add", { ...lead, fields })).leadId).toBe(leadId)
    await expect(world.operate("lead add", { company: company.companyId, form })).rejects.toThrow(
      "Enter an email address or a phone number",
    )
    for (const odd of [["a=1", "a=2"], ["firstName=Eve"], ["website_url=x"]]) {
      await expect(world.operate("lead add", { ...lead, fields: odd })).rejects.toThrow(/--field/)
    }
    await world.operate("form close", { formId: form })
    await expect(world.operate("lead add", { ...lead, email: "a@b.example" })).rejects.toThrow(
      /does not exist or is closed/,
    )
  })
})

describe("lead list", () => {
  it("escapes control characters, bidirectional marks and HTML", async () => {
    const form = await openForm(world, company)
    const html = `<script>alert(1)</script>=HYPERLINK("x")\u0000`.repeat(120).slice(0, 2_000)
    const odd = { firstName: "\u001b[2J=1+1\u202eabc", lastName: html, phone: "a\nb" }
    const { status } = await postFormJson(world, form, { ...odd, message: html.repeat(2) })
    expect(status).toBe(201)
    await postFormJson(world, form, { phone: "2" })
    const page = await world.operate("lead list", { company: company.companyId, limit: 1 })
    const text = rendered("lead list", page)
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\u202e/u)
    expect(text).toContain("\\u{1b}[2J=1+1\\u{202e}abc")
    expect(text).toContain("a\\nb")
    expect(text).toContain(`There are more; continue with --since ${page.next}`)
    expect(page.leads).toMatchObject([{ ...odd, lastName: html.replaceAll("\0", "\ufffd") }])
    const rest = await world.operate("lead list", { company: company.companyId, since: page.next })
    expect([rest.leads.length, rest.next]).toEqual([1, null])
  })
})

/** Leads that a form accepts per minute. */
const LEADS_PER_FORM = 60
/** A second process on the same database. */
const other = await openWorld("start", { rateLimits: "off", url: world.databaseUrl })
afterAll(() => other.close())

/** Sends leads concurrently, by as many forms as needed; returns their ids. */
async function sendMany(count: number): Promise<readonly string[]> {
  const forms = await Promise.all(
    Array.from({ length: Math.ceil(count / LEADS_PER_FORM) }, () => openForm(world, company)),
  )
  const sent = Array.from({ length: count }, async (_none, i) => {
    const answer = await postFormJson(world, forms[i % forms.length] ?? "", {
      email: `${i}@a.example`,
    })
    expect(answer.status).toBe(201)
    return answer.body.id as string
  })
  return Promise.all(sent)
}

const collect = (from: World, { key }: Company, collected: unknown) =>
  from.call(key, "POST", LEADS_PATH, { body: { collected } })

describe("the list", () => {
  it("contains each of 450 leads of one millisecond once, in pages of 200, oldest first", async () => {
    const ids = await sendMany(450)
    const found = await listAllLeads(world, company)
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    const times = found.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...new Set(times)].toSorted())
    const { body } = await world.call(company.key, "GET", LEADS_PATH)
    expect(body.leads).toEqual(found.slice(0, 200))
    const since = found[249]?.createdAt
    const rest = await world.call(company.key, "GET", `${LEADS_PATH}?since=${since}`)
    expect([rest.body.leads, rest.body.nextCursor]).toEqual([found.slice(250), undefined])
    const nextPage = await world.call(company.key, "GET", `${LEADS_PATH}?cursor=${body.nextCursor}`)
    expect(nextPage.body.leads).toEqual(found.slice(200, 400))
  })

  it("misses no lead and repeats none while forms are being sent", async () => {
    const form = await openForm(world, company)
    const ids: string[] = []
    let isDone = false
    const write = async (by: World, writer: number) => {
      for (let i = 0; i < 20; i += 1) {
        const { status, body } = await postFormJson(by, form, { email: `${writer}-${i}@a.example` })
        expect(status).toBe(201)
        ids.push(body.id)
      }
    }
    const written = Promise.all([world, other, world].map(write)).then(() => (isDone = true))
    const found: { id: string; createdAt: string }[] = []
    for (let round = 0, last = false; !last; round += 1) {
      last = isDone
      if (last) await other.operate("wait")
      const reader = round % 2 === 0 ? world : other
      const after = found.at(-1)?.createdAt
      const query = after === undefined ? "" : `?since=${after}`
      const { body } = await reader.call(company.key, "GET", `${LEADS_PATH}${query}`)
      found.push(...body.leads)
    }
    await written
    expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  })

  it.each(["0", "xx", "A", "since"])("rejects %s as cursor and as since", async (value) => {
    const { key } = await makeCompany(world)
    for (const name of ["cursor", "since"]) {
      const { status, body } = await world.call(key, "GET", `${LEADS_PATH}?${name}=${value}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, [name]])
    }
  })

  it("contains only the company's own leads, whatever form id a lead's fields contain", async () => {
    const [one, two] = [await makeCompany(world), await makeCompany(world)]
    const [ofOne, ofTwo] = [await openForm(world, one), await openForm(world, two)]
    await postFormJson(world, ofTwo, {
      email: "for-two@a.example",
      formId: ofOne,
      company: one.companyId,
    })
    expect(await listAllLeads(world, one)).toEqual([])
    const [lead] = await listAllLeads(world, two)
    expect(lead).toMatchObject({ formId: ofTwo, company: one.companyId, fields: { formId: ofOne } })
    const input = { company: one.companyId, form: ofTwo, email: "a@a.example" }
    await expect(world.operate("lead add", input)).rejects.toThrow(/has no form/)
  })
})

describe("collecting", () => {
  it("counts each lead once, with concurrent requests in two processes", async () => {
    const ids = await sendMany(500)
    const rounds = Array.from({ length: 20 }, (_none, i) =>
      collect(i % 2 === 0 ? world : other, company, i % 3 === 0 ? ids.toReversed() : ids),
    )
    const counts = (await Promise.all(rounds)).map(({ body }) => body.collected as number)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(500)
    const found = await listAllLeads(world, company)
    expect(found.filter(({ collectedAt }) => collectedAt === null)).toEqual([])
  })

  it("ignores unknown leads and those of another company, and keeps the first collection time", async () => {
    const stranger = await makeCompany(world)
    const [first = "", second = ""] = await sendMany(2)
    expect((await collect(world, stranger, [first, second])).body).toEqual({ collected: 0 })
    const once = await collect(world, company, [first, first, "lead_0", "msg_1", "", first])
    expect([once.status, once.body]).toEqual([200, { collected: 1 }])
    const collectedAt = (await listAllLeads(world, company)).find(
      ({ id }) => id === first,
    )?.collectedAt
    await world.operate("clock advance", { duration: "1h" })
    expect((await collect(world, company, [second, first])).body).toEqual({ collected: 1 })
    const { body } = await world.call(company.key, "GET", LEADS_PATH)
    const times = body.leads.map((lead: { id: string; collectedAt: string }) => [
      lead.id,
      lead.collectedAt,
    ])
    expect(new Map(times).get(first)).toBe(collectedAt)
    expect(collectedAt).not.toBe(new Map(times).get(second))
  })

  it.each([
    ["500 ids is accepted", Array.from({ length: 500 }, () => "lead_0"), 200],
    ["501 ids is rejected", Array.from({ length: 501 }, () => "lead_0"), 400],
    ["no ids is accepted", [], 200],
    ["a number is rejected", [1], 400],
    ["null is rejected", null, 400],
  ])("of %s", async (_what, collected, status) => {
    expect((await collect(world, await makeCompany(world), collected)).status).toBe(status)
  })

  it("is neither counted nor charged, and a list waits for its position", async () => {
    const [id] = await sendMany(1)
    await listAllLeads(world, company)
    const { headers } = await collect(world, company, [id])
    const position = String(headers["ledger-position"])
    const listed = await other.call(company.key, "GET", LEADS_PATH, {
      headers: { "ledger-position": position },
    })
    expect(listed.body.leads).toMatchObject([{ id, collectedAt: expect.any(String) }])
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toEqual([])
  })
})
