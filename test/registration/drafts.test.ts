/** Business details with a message per field, and campaigns as they are drafted and looked through. */
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

/** The fields that are wrong, with the first message of each. */
function faultsOf(
  schema: typeof Business | typeof TextingPages | typeof TextingCampaign,
  given: object,
) {
  const read = schema.safeParse(given)
  const issues = read.error?.issues ?? []
  return Object.fromEntries(
    issues.map(({ path, message }) => [path.join("."), message]).toReversed(),
  )
}

describe("business details", () => {
  it("are taken with their country, and a brand of their own or their name", () => {
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
  ])("say what is wrong with %s", ([field, changed]) => {
    const faults = faultsOf(Business, { ...BUSINESS_INPUT, ...changed })
    expect(Object.keys(faults)).toEqual([field])
    expect(faults[field]).not.toBe("")
  })

  it("are taken up to the limits of carriers, with a stock exchange in any case", () => {
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

  it("of one person need no tax number", () => {
    const one = { ...BUSINESS_INPUT, ein: undefined, entityType: "sole_proprietor" }
    expect(isSoleProprietorship(Business.parse(one))).toBe(true)
  })

  it("abroad have regions and codes of their own", () => {
    const abroad = { ...BUSINESS_INPUT, country: "ca", region: "Ontario", postalCode: "M5V 2T6" }
    expect(Business.parse(abroad)).toMatchObject({ country: "CA" })
  })
})

describe("pages", () => {
  it.for<[string, object]>([
    ["services", { services: "too short" }],
    ["offersPerMonth", { offersPerMonth: 31 }],
    ["supportPhone", { supportPhone: "555" }],
    ["supportEmail", { supportEmail: "help" }],
    ["hostname", { hostname: "https://acme.example" }],
  ])("say what is wrong with %s", ([field, changed]) => {
    expect(Object.keys(faultsOf(TextingPages, { ...PAGES, ...changed }))).toEqual([field])
  })

  it("of an own site are at three addresses, by https", () => {
    const own = { ...PAGES, mode: "own_site", ownTextUrl: "https://acme.example/texts" }
    expect(Object.keys(faultsOf(TextingPages, own))).toEqual(["ownPrivacyUrl", "ownTermsUrl"])
    const plain = { ...own, ownTermsUrl: "http://acme.example/t", ownPrivacyUrl: "https://a.b/p" }
    expect(Object.keys(faultsOf(TextingPages, plain))).toEqual(["ownTermsUrl"])
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
  ])("of an own site are at no place that a check never reads: %s", (url) => {
    const at = (ownTextUrl: string) => ({
      mode: "own_site",
      ownTextUrl,
      ownTermsUrl: "https://a.b/t",
      ownPrivacyUrl: "https://a.b/p",
    })
    expect(faultsOf(TextingPages, { ...PAGES, ...at(url) })).toEqual({
      ownTextUrl: expect.stringContaining("public host name"),
    })
    const usual = at("https://acme.example:443/t?a=b@c:1")
    expect(faultsOf(TextingPages, { ...PAGES, ...usual })).toEqual({})
  })
})

const AT = {
  texts: "https://texts.acme.example/texts",
  terms: "https://texts.acme.example/terms",
  privacy: "https://texts.acme.example/privacy",
}
const business = Business.parse(BUSINESS_INPUT)

describe("a drafted campaign", () => {
  it.each([true, false])(
    "is one that can be saved and that nobody refuses, offers %s",
    (offers) => {
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
    },
  )
})

describe("a drafted campaign of the longest names", () => {
  const brandName = "x".repeat(100)
  const long = {
    ...PAGES,
    services: "orders ".repeat(28),
    supportEmail: `${"h".repeat(60)}@acme.example`,
  }
  const host = `${"texts.".repeat(30)}acme.example`
  const at = {
    texts: `https://${host}/texts`,
    terms: `https://${host}/terms`,
    privacy: `https://${host}/p`,
  }

  it.each([true, false])("is within what each review takes, offers %s", (offers) => {
    const pages = TextingPages.parse({ ...long, offers })
    const draft = composeCampaignDraft(Business.parse({ ...BUSINESS_INPUT, brandName }), pages, at)
    expect(findLengthViolations(draft, "tollFree")).toEqual([])
    expect(findLengthViolations(draft, "correction")).toEqual([])
    expect(draft.optInMessage.length).toBeLessThanOrEqual(320)
    const campaign = TextingCampaign.parse({ ...draft, brandType: "low_volume" })
    expect(
      campaignProblemsOf(campaign, Business.parse({ ...BUSINESS_INPUT, brandName }), at, null),
    ).toEqual([])
  })
})

describe("a campaign that would be refused", () => {
  const draft = composeCampaignDraft(business, TextingPages.parse(PAGES), AT)
  const right = TextingCampaign.parse({ ...draft, brandType: "low_volume" })
  it.for<[string, string, Partial<TextingCampaign>]>([
    [
      "no_brand",
      "samples.1",
      { samples: [right.samples[0] ?? "", "Your order is ready. Reply STOP."] },
    ],
    ["no_stop", "samples", { samples: right.samples.map((text) => text.replaceAll("STOP", "no")) }],
    [
      "short_link",
      "samples.0",
      { samples: [`${right.samples[0] ?? ""} bit.ly/x`, right.samples[1] ?? ""] },
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
    ["forbidden", "messageFlow", { messageFlow: `${right.messageFlow} It is about casinos.` }],
  ])("shows %s of %s before a fee is paid", ([code, field, changed]) => {
    const problems = campaignProblemsOf({ ...right, ...changed }, business, AT, null)
    expect(problems).toContainEqual(expect.objectContaining({ code, field }))
  })
})
