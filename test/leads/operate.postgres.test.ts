/** What operators do with forms and leads, and how it is shown: in HTML, and on a terminal. */
import { beforeEach, describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { leadsOf, openForm, post, postJson } from "./forms.ts"

const world = await ownWorld("time", { rateLimits: "off" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

/** What an operation answered, as people read it. */
function rendered(name: string, result: unknown): string {
  const found = PROGRAM.operations.find((one) => one.name === name)
  return found?.render?.(result, { isTTY: false, columns: 80 }) ?? ""
}

describe("form add", () => {
  it("shows where its page is, and HTML that sends it from a page of one's own", async () => {
    const given = { company: company.companyId, name: " Contact <us> " }
    const added = await world.operate("form add", { ...given, hostnames: ["WWW.acme.example"] })
    const { formId, url, html } = added
    expect(url).toBe(`http://ledger.test/forms/${formId}`)
    expect(rendered("form add", added)).toContain(html)
    expect(html).toContain(`<form method="post" action="${url}">`)
    // What stands in it is what is taken in, from one's own page.
    const names = [...html.matchAll(/ name="(\w+)"/g)].map(([, name]) => name)
    expect(names).toEqual(["firstName", "lastName", "email", "phone", "message", "website_url"])
    const values = Object.fromEntries(
      names.map((name) => [
        name,
        name === "website_url" ? "" : name === "email" ? "x@y.example" : "x",
      ]),
    )
    const origin = "https://www.acme.example"
    expect((await post(world, formId, values, { origin })).status).toBe(303)
    expect(await leadsOf(world, company)).toMatchObject([{ lastName: "x", fields: {} }])
    const page = await world.app.inject({ method: "GET", url: `/forms/${formId}` })
    expect(page.body).toContain("<h1>Contact &lt;us&gt;</h1>")
    const { forms } = await world.operate("form list", { company: company.companyId })
    const own = { formId, url, name: "Contact <us>", hostnames: ["www.acme.example"] }
    expect(forms).toMatchObject([{ ...own, status: "open", refuseLinks: false }])
  })

  it.each(["https://acme.example", "acme.example/", "a b", "-a.example", "", "a..b"])(
    "takes no host name %j",
    async (hostname) => {
      await expect(openForm(world, company, { hostnames: [hostname] })).rejects.toThrow(/host name/)
    },
  )

  it("is for companies that live", async () => {
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    await expect(openForm(world, company)).rejects.toThrow(/was erased/)
  })
})

describe("form close", () => {
  it("is done once, of a form that there is", async () => {
    const formId = await openForm(world, company)
    for (let i = 0; i < 2; i += 1) {
      expect(await world.operate("form close", { formId })).toMatchObject({ status: "closed" })
    }
    const { forms } = await world.operate("form list", { company: company.companyId })
    expect(forms).toMatchObject([{ status: "closed" }])
    await expect(world.operate("form close", { formId: "form_x" })).rejects.toThrow(/no form/)
  })
})

describe("lead add", () => {
  it("puts a lead in as if its form had been sent", async () => {
    const form = await openForm(world, company)
    const given = { company: company.companyId, form, firstName: "Ada", phone: "+1 415 555 0123" }
    const fields = ["colour=blue=green", "__proto__=x", "company=Acme"]
    const { leadId } = await world.operate("lead add", { ...given, fields })
    const [lead] = await leadsOf(world, company)
    expect(lead).toMatchObject({ id: leadId, firstName: "Ada", email: null, company: "Acme" })
    expect(Object.entries(lead.fields)).toEqual([
      ["colour", "blue=green"],
      ["__proto__", "x"],
    ])
    expect((await world.operate("lead add", { ...given, fields })).leadId).toBe(leadId)
    await expect(world.operate("lead add", { company: company.companyId, form })).rejects.toThrow(
      "Give an email or a phone number",
    )
    for (const odd of [["a=1", "a=2"], ["firstName=Eve"], ["website_url=x"]]) {
      await expect(world.operate("lead add", { ...given, fields: odd })).rejects.toThrow(/--field/)
    }
    await world.operate("form close", { formId: form })
    await expect(world.operate("lead add", { ...given, email: "a@b.example" })).rejects.toThrow(
      /no such form/,
    )
  })
})

describe("lead list", () => {
  it("shows what moves a cursor, turns a line around or is a formula as harmless text", async () => {
    const form = await openForm(world, company)
    const html = `<script>alert(1)</script>=HYPERLINK("x")\u0000`.repeat(120).slice(0, 2_000)
    const odd = { firstName: "\u001b[2J=1+1\u202eabc", lastName: html, phone: "a\nb" }
    const { status } = await postJson(world, form, { ...odd, message: html.repeat(2) })
    expect(status).toBe(201)
    await postJson(world, form, { phone: "2" })
    const page = await world.operate("lead list", { company: company.companyId, limit: 1 })
    const text = rendered("lead list", page)
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\u202e/u)
    expect(text).toContain("\\u{1b}[2J=1+1\\u{202e}abc")
    expect(text).toContain("a\\nb")
    expect(text).toContain(`There are more: --since ${page.next}`)
    expect(page.leads).toMatchObject([{ ...odd, lastName: html.replaceAll("\0", "\ufffd") }])
    const rest = await world.operate("lead list", { company: company.companyId, since: page.next })
    expect([rest.leads.length, rest.next]).toEqual([1, null])
  })
})
