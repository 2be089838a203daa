/** Validation of business details and pages, and the drafting and review of campaigns. */
import { describe, expect, it } from "vitest"
import { findLengthViolations } from "../../domain/registration/carrier-limits.ts"
import { Business, brandNameOf, isSoleProprietorship } from "../../src/registration/business.ts"
import {
  TextingCampaign,
  composeCampaignDraft,
  campaignProblemsOf,
} from "../../src/registration/campaign.ts"
import { BUSINESS_INPUT } from "./registration-world.ts"
import { TextingPages } from "../../src/registration/texting-pages.ts"

const PAGES = {
  mode: "hosted",
  services: "orders and pick-ups",
  offers: false,
  offersPerMonth: 4,
  optinPhone: true,
  optinPaper: true,
  supportPhone: "+15125550124",
  supportEmail: "help@acme.example",
}

/** Invalid fields, each with its first message. */
function errorsOf(
  schema: typeof Business | typeof TextingPages | typeof TextingCampaign,
  input: object,
) {
  const read = schema.safeParse(input)
  const issues = read.error?.issues ?? []
  return Object.fromEntries(
    issues.map(({ path, message }) => [path.join("."), message]).toReversed(),
  )
}

describe("business details", () => {
  it("have a default country, and a brand name that defaults to the legal name", () => {
    const business = Business.parse({ ...BUSINESS_INPUT, ein: "12-3456789" })
    expect(business).toMatchObject({ country: "US", ein: "123456789" })
    expect(brandNameOf(business)).toBe("Acme Bakery")
    expect(brandNameOf({ ...business, brandName: undefined })).toBe("Acme Bakery LLC")
    expect(isSoleProprietorship(business)).toBe(false)
  })

  it.for<[string, object]>([
    ["legalName", { legalName: " " }],
    ["entityType", { entityType: "gmbh" }],
    ["ein", { ein: "12345678" }],
    ["ein", { ein: undefined }],
    ["industry", { industry: "BAKERY" }],
    ["website", { website: "acme" }],
    ["region", { region: "Texas" }],
    ["postalCode", { postalCode: "7870" }],
    ["country", { country: "USA" }],
    ["repEmail", { repEmail: "ada" }],
    ["repPhone", { repPhone: "+442070313000" }],
    ["repPosition", { repPosition: "King" }],
    ["stockTicker", { stockExchange: "NYSE" }],
    ["stockExchange", { stockTicker: "ACME" }],
    ["stockExchange", { stockTicker: "ACME", stockExchange: "Berlin" }],
    ["legalName", { legalName: "x".repeat(101) }],
    ["brandName", { brandName: "x".repeat(101) }],
    ["website", { website: `https://acme.example/${"x".repeat(80)}` }],
    ["street", { street: "x".repeat(101) }],
    ["street2", { street: "x".repeat(60), street2: "y".repeat(39) }],
    ["city", { city: "x".repeat(101) }],
    ["region", { country: "CA", region: "x".repeat(21) }],
    ["postalCode", { country: "CA", postalCode: "x".repeat(11) }],
    ["repFirstName", { repFirstName: "x".repeat(101) }],
    ["repLastName", { repLastName: "x".repeat(101) }],
    ["repEmail", { repEmail: `${"x".repeat(90)}@acme.example` }],
    ["stockTicker", { stockExchange: "NYSE", stockTicker: "x".repeat(11) }],
  ])("have a message for an invalid %s", ([field, changed]) => {
    const errors = errorsOf(Business, { ...BUSINESS_INPUT, ...changed })
    expect(Object.keys(errors)).toEqual([field])
    expect(errors[field]).not.toBe("")
  })

  it("are accepted up to the carriers' length limits, with a stock exchange in any letter case", () => {
    const longest = {
      legalName: "x".repeat(100),
      brandName: "y".repeat(100),
      city: "z".repeat(100),
      street: "x".repeat(60),
      street2: "y".repeat(38),
      country: "CA",
      region: "x".repeat(20),
      postalCode: "x".repeat(10),
      website: `https://acme.example/${"x".repeat(79)}`,
      stockExchange: "nasdaq",
      stockTicker: "x".repeat(10),
    }
    expect(Business.parse({ ...BUSINESS_INPUT, ...longest })).toMatchObject({
      stockExchange: "NASDAQ",
    })
  })

  it("of a sole proprietor need no tax number", () => {
    const sole = { ...BUSINESS_INPUT, ein: undefined, entityType: "sole_proprietor" }
    expect(isSoleProprietorship(Business.parse(sole))).toBe(true)
  })

  it("of another country have its regions and postal codes", () => {
    const abroad = { ...BUSINESS_INPUT, country: "ca", region: "Ontario", postalCode: "M5V 2T6" }
    expect(Business.parse(abroad)).toMatchObject({ country: "CA" })
  })
})

describe("the settings of pages", () => {
  it.for<[string, object]>([
    ["services", { services: "too short" }],
    ["offersPerMonth", { offersPerMonth: 31 }],
    ["supportPhone", { supportPhone: "555" }],
    ["supportEmail", { supportEmail: "help" }],
    ["hostname", { hostname: "https://acme.example" }],
  ])("have a message for an invalid %s", ([field, changed]) => {
    expect(Object.keys(errorsOf(TextingPages, { ...PAGES, ...changed }))).toEqual([field])
  })

  it("of the company's own site need three HTTPS addresses", () => {
    const ownSite = { ...PAGES, mode: "own_site", ownTextUrl: "https://acme.example/texts" }
    expect(Object.keys(errorsOf(TextingPages, ownSite))).toEqual(["ownPrivacyUrl", "ownTermsUrl"])
    const plain = {
      ...ownSite,
      ownTermsUrl: "http://acme.example/t",
      ownPrivacyUrl: "https://a.b/p",
    }
    expect(Object.keys(errorsOf(TextingPages, plain))).toEqual(["ownTermsUrl"])
  })

  it.each([
    "https://ada@acme.example/t",
    "https://:pw@acme.example/t",
    "https://acme.example:8443/t",
    "https://93.184.215.14/t",
    "https://0x7f.1/t",
    "https://[2606:2800::1]/t",
    "https://localhost/t",
    "https://localhost./t",
    "https://intranet/t",
    "https://a.localhost",
  ])("of the company's own site cannot have an address that a check never reads: %s", (url) => {
    const pagesAt = (ownTextUrl: string) => ({
      mode: "own_site",
      ownTextUrl,
      ownTermsUrl: "https://a.b/t",
      ownPrivacyUrl: "https://a.b/p",
    })
    expect(errorsOf(TextingPages, { ...PAGES, ...pagesAt(url) })).toEqual({
      ownTextUrl: expect.stringContaining("public host name"),
    })
    const valid = pagesAt("https://acme.example:443/t?a=b@c:1")
    expect(errorsOf(TextingPages, { ...PAGES, ...valid })).toEqual({})
  })
})

const AT = {
  texts: "https://texts.acme.example/texts",
  terms: "https://texts.acme.example/terms",
  privacy: "https://texts.acme.example/privacy",
}
const business = Business.parse(BUSINESS_INPUT)

describe("a drafted campaign", () => {
  it.each([true, false])("can be saved and has no problems, with offers %s", (offers) => {
    const draft = composeCampaignDraft(business, TextingPages.parse({ ...PAGES, offers }), AT)
    const campaign = TextingCampaign.parse({ ...draft, brandType: "low_volume" })
    expect(campaignProblemsOf(campaign, business, AT, null)).toEqual([])
    expect(draft.hasLinks).toBe(offers)
    expect(draft.messageFlow).toContain(AT.texts)
    for (const text of [draft.description, draft.messageFlow, draft.optInMessage]) {
      expect(text).toMatch(/message frequency varies/i)
      expect(text.includes("up to 4 messages a month")).toBe(offers)
    }
    expect(draft.samples.every((text) => text.includes("Acme Bakery"))).toBe(true)
    expect(draft.samples.every((text) => text.includes("STOP"))).toBe(true)
  })
})

describe("a drafted campaign with the longest names", () => {
  const brandName = "x".repeat(100)
  const long = {
    ...PAGES,
    services: "orders ".repeat(28),
    supportEmail: `${"h".repeat(60)}@acme.example`,
  }
  const host = `${"texts.".repeat(30)}acme.example`
  const pagesAt = {
    texts: `https://${host}/texts`,
    terms: `https://${host}/terms`,
    privacy: `https://${host}/p`,
  }

  it.each([true, false])("is within the length limits of each review, with offers %s", (offers) => {
    const pages = TextingPages.parse({ ...long, offers })
    const draft = composeCampaignDraft(
      Business.parse({ ...BUSINESS_INPUT, brandName }),
      pages,
      pagesAt,
    )
    expect(findLengthViolations(draft, "tollFree")).toEqual([])
    expect(findLengthViolations(draft, "correction")).toEqual([])
    expect(draft.optInMessage.length).toBeLessThanOrEqual(320)
    const campaign = TextingCampaign.parse({ ...draft, brandType: "low_volume" })
    expect(
      campaignProblemsOf(campaign, Business.parse({ ...BUSINESS_INPUT, brandName }), pagesAt, null),
    ).toEqual([])
  })
})

describe("a campaign that carriers would reject", () => {
  const draft = composeCampaignDraft(business, TextingPages.parse(PAGES), AT)
  const valid = TextingCampaign.parse({ ...draft, brandType: "low_volume" })
  it.for<[string, string, Partial<TextingCampaign>]>([
    [
      "no_brand",
      "samples.1",
      { samples: [valid.samples[0] ?? "", "Your order is ready. Reply STOP."] },
    ],
    ["no_stop", "samples", { samples: valid.samples.map((text) => text.replaceAll("STOP", "no")) }],
    [
      "short_link",
      "samples.0",
      { samples: [`${valid.samples[0] ?? ""} bit.ly/x`, valid.samples[1] ?? ""] },
    ],
    ["no_url", "messageFlow", { messageFlow: "People agree to it in our shop, at the counter." }],
    [
      "forbidden",
      "description",
      { description: "Texts about a payday loan for each of our customers." },
    ],
    [
      "forbidden",
      "description",
      { description: "Texts about payday loans and casinos for each of our customers." },
    ],
    ["forbidden", "messageFlow", { messageFlow: `${valid.messageFlow} It is about casinos.` }],
  ])("has the problem %s in %s before a fee is paid", ([code, field, changed]) => {
    const problems = campaignProblemsOf({ ...valid, ...changed }, business, AT, null)
    expect(problems).toContainEqual(expect.objectContaining({ code, field }))
  })
})
