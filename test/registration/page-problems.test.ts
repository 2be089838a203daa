/** The hosted pages, and what a reviewer would refuse of pages. */
import { describe, expect, it } from "vitest"
import { Business } from "../../src/phone/registration/business.ts"
import type { PageContent } from "../../src/phone/registration/hosted-pages.ts"
import { pageOf, textsPage, thanksPage } from "../../src/phone/registration/hosted-pages.ts"
import type { PageProblem } from "../../src/phone/registration/page-problems.ts"
import { problemsIn } from "../../src/phone/registration/page-problems.ts"
import type { PageName } from "../../src/phone/registration/pages.ts"
import { PAGE_NAMES, Pages } from "../../src/phone/registration/pages.ts"

const business = Business.parse({
  ...{ legalName: "Acme Bakery LLC", brandName: "Acme & Sons <Bakery>", entityType: "llc" },
  ...{ ein: "12-3456789", industry: "RETAIL", street: "1 Main St", city: "Austin" },
  ...{ region: "TX", postalCode: "78701", repFirstName: "Ada", repLastName: "Lane" },
  ...{ repEmail: "ada@acme.example", repPhone: "+15125550123" },
})
const pages = Pages.parse({
  ...{ mode: "hosted", services: "orders and pick-ups.", offers: true, offersPerMonth: 4 },
  ...{ optinPhone: false, optinPaper: true, supportPhone: "+15125550124" },
  supportEmail: "help@acme.example",
})
const content: PageContent = { business, pages, isPreview: false, savedAt: 0 }
const BRAND = "Acme & Sons <Bakery>"
const page = (name: PageName) => pageOf(name, content, "time")

describe("the hosted pages", () => {
  it.each(PAGE_NAMES)("%s are what a reviewer takes", (name) => {
    expect(problemsIn(name, page(name), BRAND)).toEqual([])
  })

  it("show what somebody wrote, and do nothing of it", () => {
    for (const name of PAGE_NAMES) expect(page(name)).not.toContain("<Bakery>")
    const typed = { phone: '"><script>', firstName: "", service: true, offers: false }
    const fault = { message: "No <b>number</b>.", field: "phone", ...typed } as const
    const html = textsPage(content, "time", fault)
    expect(html).not.toContain("<script>")
    expect(html).toContain("No &lt;b&gt;number&lt;/b&gt;.")
  })

  it("say so where they are a preview, which nobody is to find", () => {
    const preview = pageOf("texts", { ...content, isPreview: true }, "time")
    expect(preview).toContain('content="noindex"')
    expect(page("texts")).not.toContain("noindex")
  })

  it("leave out the box of offers where there are none", () => {
    const without = { ...content, pages: { ...pages, offers: false } }
    expect(pageOf("texts", without, "time")).not.toContain('name="offers"')
    expect(page("texts")).toContain('name="offers"')
  })

  it("tick no box but those that were ticked, where something else is wrong", () => {
    expect(page("texts")).not.toContain("checked>")
    const typed = { phone: "1", firstName: "", service: false, offers: true }
    const fault = { message: "No number.", field: "phone", ...typed } as const
    const html = textsPage(content, "time", fault)
    expect(html.match(/name="\w+" value="yes" checked/g)).toEqual([
      'name="offers" value="yes" checked',
    ])
  })

  it("tell everybody how to start again after a STOP, and nobody who texted one", () => {
    expect(thanksPage(content, "+15125550100")).toMatch(/START<\/strong> to .*\+1 512 555 0100/)
    expect(thanksPage(content, null)).toContain("START</strong> to the number that our texts")
  })
})

/** A page with something of it in another form. */
const changed = (name: PageName, from: RegExp | string, to: string): string =>
  page(name).replaceAll(from, to)

describe("a page that a reviewer refuses", () => {
  it.for<[PageProblem, PageName, RegExp | string, string]>([
    ["wrong_brand", "texts", /Acme/g, "Other"],
    ["no_consent_text", "texts", /type="checkbox"/g, 'type="radio"'],
    ["no_consent_text", "texts", /agree|consent/gi, "like"],
    ["box_ticked", "texts", 'value="yes"', 'value="yes" CHECKED=""'],
    ["box_required", "texts", 'value="yes"', 'value="yes" required'],
    ["no_frequency", "texts", /Up to 4 messages/g, "Some words"],
    ["no_rates", "texts", /Message and data/g, "Some"],
    ["no_stop", "texts", /STOP/g, "stop"],
    ["no_help", "texts", /HELP/g, "assistance"],
    ["no_terms_link", "texts", /terms/gi, "rules"],
    ["no_privacy_link", "texts", /privacy/gi, "rules"],
    ["login_needed", "texts", 'type="tel"', 'type="password"'],
    ["placeholder_text", "terms", "The program", "Lorem ipsum"],
    ["no_frequency", "terms", /Up to 4 messages/g, "Some words"],
    ["no_rates", "terms", /Message and data/g, "Some"],
    ["no_contact", "terms", /help@acme\.example|\+1 ?512 ?555 ?0124/g, "somewhere"],
    ["no_sharing_sentence", "privacy", /are not sold to or shared with/g, "stay with"],
    ["says_it_shares", "privacy", "What we keep", "We may share it with our partners."],
    ["no_contact", "privacy", /help@acme\.example|\+1 ?512 ?555 ?0124/g, "somewhere"],
  ])("%s: %s", ([problem, name, from, to]) => {
    expect(problemsIn(name, changed(name, from, to), BRAND)).toContain(problem)
  })

  it("is told of all that is wrong at once, whatever it is", () => {
    expect(problemsIn("texts", "", BRAND).length).toBeGreaterThan(5)
    expect(problemsIn("terms", "\0<<<>", BRAND)).toContain("wrong_brand")
  })
})
