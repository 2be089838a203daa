/** The content of hosted pages, and the problems that a reviewer would find in pages. */
import { describe, expect, it } from "vitest"
import { Business } from "../../src/registration/business.ts"
import type { PageContent } from "../../src/registration/hosted-pages.ts"
import { renderHostedPage, textsPage, thanksPage } from "../../src/registration/hosted-pages.ts"
import { findPageProblems } from "../../src/registration/page-problems.ts"
import type { PageProblem } from "../../src/registration/page-problem-messages.ts"
import { BUSINESS_INPUT } from "./registration-world.ts"
import { scaledMs } from "../support/scaled-time.ts"
import { type PageName, PAGE_NAMES, TextingPages } from "../../src/registration/texting-pages.ts"

const business = Business.parse({ ...BUSINESS_INPUT, brandName: "Acme & Sons <Bakery>" })
const pages = TextingPages.parse({
  mode: "hosted",
  services: "orders and pick-ups.",
  offers: true,
  offersPerMonth: 4,
  optinPhone: false,
  optinPaper: true,
  supportPhone: "+15125550124",
  supportEmail: "help@acme.example",
})
const content: PageContent = { business, pages, isPreview: false, savedAt: 0 }
const BRAND = "Acme & Sons <Bakery>"
const page = (name: PageName) => renderHostedPage(name, content, "time")

describe("the hosted pages", () => {
  it.each(PAGE_NAMES)("have no problems on %s", (name) => {
    expect(findPageProblems(name, page(name), BRAND)).toEqual([])
  })

  it("name the number of messages only if there are offers", () => {
    const often = (name: PageName, offers: boolean) =>
      renderHostedPage(name, { ...content, pages: { ...pages, offers } }, "time").match(
        /up to 4 messages a month|message frequency varies/gi,
      )
    const [varies, upTo] = ["Message frequency varies", "Up to 4 messages a month"]
    expect([often("texts", true), often("texts", false)]).toEqual([[varies, upTo], [varies]])
    expect(often("terms", true)).toEqual([varies, upTo.toLowerCase()])
    expect(often("terms", false)).toEqual([varies])
    for (const name of PAGE_NAMES) {
      const html = renderHostedPage(
        name,
        { ...content, pages: { ...pages, offers: false } },
        "time",
      )
      expect(findPageProblems(name, html, BRAND)).toEqual([])
    }
  })

  it("show the company's address without empty parts", () => {
    const without = { ...content, business: { ...business, street2: null } }
    const { street, city, region, postalCode } = business
    expect(renderHostedPage("privacy", without, "")).toContain(
      [street, city, region, postalCode].join(", "),
    )
  })

  it("escape the text of companies and visitors", () => {
    for (const name of PAGE_NAMES) expect(page(name)).not.toContain("<Bakery>")
    const typed = { phone: '"><script>', firstName: "", service: true, offers: false }
    const fault = { message: "No <b>number</b>.", field: "phone", ...typed } as const
    const html = textsPage(content, "time", fault)
    expect(html).not.toContain("<script>")
    expect(html).toContain("No &lt;b&gt;number&lt;/b&gt;.")
  })

  it("ask search engines not to index a preview", () => {
    const preview = renderHostedPage("texts", { ...content, isPreview: true }, "time")
    expect(preview).toContain('content="noindex"')
    expect(page("texts")).not.toContain("noindex")
  })

  it("leave out the checkbox of offers if there are none", () => {
    const without = { ...content, pages: { ...pages, offers: false } }
    expect(renderHostedPage("texts", without, "time")).not.toContain('name="offers"')
    expect(page("texts")).toContain('name="offers"')
  })

  it("check only the boxes that the visitor checked, when a form is shown again", () => {
    expect(page("texts")).not.toContain("checked>")
    const typed = { phone: "1", firstName: "", service: false, offers: true }
    const fault = { message: "No number.", field: "phone", ...typed } as const
    const html = textsPage(content, "time", fault)
    expect(html.match(/name="\w+" value="yes" checked/g)).toEqual([
      'name="offers" value="yes" checked',
    ])
  })

  it("explain how to opt in again after a STOP", () => {
    expect(thanksPage(content, "+15125550100")).toMatch(/START<\/strong> to .*\+1 512 555 0100/)
    expect(thanksPage(content, null)).toContain("START</strong> to the number that our texts")
  })
})

const changed = (name: PageName, from: RegExp | string, to: string): string =>
  page(name).replaceAll(from, to)

/** The page with another form in place of its boxes. */
const formOf = (box: string) => page("texts").replaceAll(/<label class="box">.*?<\/label>/gs, box)

describe("a page that passes", () => {
  const WORDS = "Yes, send me texts from Acme. Up to 4 msgs/month. Msg &amp; data rates may apply."
  it.each([
    `<input type=checkbox id=a><label for=a>${WORDS}</label>`,
    `<input type=checkbox aria-labelledby="b c"><p id=b>I agree</p><p id=c>to marketing texts</p>`,
    `<div><input type=checkbox><p>${WORDS}</p></div>`,
    `<div role=checkbox aria-checked=false>I consent to SMS</div>`,
    `<LABEL><INPUT TYPE="CHECKBOX">I AGREE TO TEXT MESSAGES</LABEL>`,
    `<label><input type=checkbox>I opt in to te<b>xts</b></label>` +
      `<label><input type=checkbox required>I accept the terms of this site</label>`,
    `<form><form><label><input type=checkbox>I&#32;ag&shy;ree to te&#120;ts</label></form></form>`,
  ])("may have other markup for its checkbox: %s", (box) => {
    const html = formOf(`${box} Up to 4 messages a month. Message &amp; data rates may apply.
      You are not required to agree to buy anything. Reply STOP to opt out, HELP for help. <A HREF=/conditions>Terms</A> <a href=/p>Privacy</a>`)
    expect(findPageProblems("texts", html, BRAND)).toEqual([])
  })
})

/** The message frequency at both boxes. */
const FREQUENCY = /Up to 4 messages a month|Message frequency varies/g

describe("a page with a problem", () => {
  it.for<[PageProblem, PageName, RegExp | string, string]>([
    ["wrong_brand", "texts", /Acme/g, "Other"],
    ["no_consent_text", "texts", /type="checkbox"/g, 'type="radio"'],
    ["no_consent_text", "texts", /agree|consent/gi, "like"],
    ["no_consent_text", "texts", /Consent is not/g, "Consent is"],
    ["no_consent_text", "texts", "Questions?", "Consent is a condition of purchase. Questions?"],
    ["no_consent_text", "texts", /Consent is not a condition of purchase./g, ""],
    ["no_consent_text", "texts", "</form>", "<input type=hidden name=consent value=yes></form>"],
    ["no_consent_text", "texts", /<input type="checkbox"/g, "<input type=hidden name=consent"],
    ["box_ticked", "texts", "</form>", "<label><input type=checkbox checked>Deals</label></form>"],
    ["box_ticked", "texts", 'value="yes"', 'value="yes" CHECKED=""'],
    ["box_required", "texts", 'value="yes"', 'value="yes" required'],
    ["no_frequency", "texts", /Up to 4 messages|Message frequency/g, "Some words"],
    ["no_rates", "texts", /Message and data/g, "Some"],
    ["no_stop", "texts", /STOP/g, "stop"],
    ["no_help", "texts", /HELP/g, "assistance"],
    ["no_terms_link", "texts", /terms/gi, "rules"],
    ["no_privacy_link", "texts", /privacy/gi, "rules"],
    ["login_needed", "texts", 'type="tel"', 'type="password"'],
    ["placeholder_text", "terms", "The program", "Lorem ipsum"],
    ["no_frequency", "terms", /up to 4 messages|Message frequency/g, "Some words"],
    ["no_rates", "terms", /Message and data/g, "Some"],
    ["no_contact", "terms", /help@acme\.example|\+1 ?512 ?555 ?0124/g, "somewhere"],
    ["no_sharing_sentence", "privacy", /are not sold to or shared with/g, "stay with"],
    ["says_it_shares", "privacy", "What we store", "We may share it with our partners."],
    ["no_contact", "privacy", /help@acme\.example|\+1 ?512 ?555 ?0124/g, "somewhere"],
  ])("has %s on %s", ([problem, name, from, to]) => {
    expect(findPageProblems(name, changed(name, from, to), BRAND)).toContain(problem)
  })

  it.for<[PageProblem, PageName, RegExp | string, string]>([
    ["box_ticked", "texts", 'value="yes"', "value=yes ChEcKeD=false"],
    ["box_ticked", "texts", 'type="checkbox"', "TYPE=CHECKBOX checked"],
    ["box_ticked", "texts", 'value="yes"', 'value="yes" aria-checked=" TRUE"'],
    ["box_required", "texts", 'value="yes"', 'value="yes" aria-required="true"'],
    ["box_required", "texts", 'value="yes"', "value=yes\nREQUIRED='required'"],
    ["no_consent_text", "texts", /<label class="box">/g, '<label class="box" hidden>'],
    ["no_consent_text", "texts", /<label class="box">/g, '<label style="DISPLAY : /**/ none">'],
    ["no_consent_text", "texts", /<label class="box">(<input[^>]*>)/g, "$1<label>"],
    ["no_consent_text", "texts", /<span><b>I agree/g, "<span aria-hidden=true><b>I agree"],
    ["no_frequency", "texts", FREQUENCY, "<!-- Up to 4 messages a month -->"],
    ["no_frequency", "texts", FREQUENCY, "The price varies"],
    ["no_rates", "terms", /Message and data/g, '<img alt="Message and data rates may apply">Some'],
    ["no_rates", "terms", /Message and data/g, "<template>Message and data</template>Some"],
    ["no_rates", "texts", "Message and data", '<b style="visibility:hidden">Message and data</b>'],
    ["no_stop", "texts", /STOP/g, "<span style='font-size:0'>STOP</span>"],
    ...[
      "position:absolute;left:-9999px",
      "text-indent: -9999px",
      "color:transparent",
      "height:0;overflow:hidden",
      "clip:rect(0 0 0 0)",
      "clip-path:inset(100%)",
    ].map((style): [PageProblem, PageName, RegExp, string] => [
      ...(["no_stop", "terms", /STOP/g, `<span style="${style}">STOP</span>`] as const),
    ]),
    ["no_stop", "terms", /Reply STOP/g, "Nothing can STOP us. Reply"],
    ["no_help", "terms", /Reply HELP/g, "HELP is on its way. Reply"],
    ["no_terms_link", "texts", /href="terms"/g, 'href="#terms"'],
    ["no_terms_link", "texts", /href="terms"/g, "name=terms"],
    ["no_privacy_link", "texts", /href="privacy"/g, 'href="javascript:privacy()"'],
    ["no_privacy_link", "texts", /<a href="privacy"/g, '<a hidden href="privacy"'],
    ["wrong_brand", "terms", /Acme/g, "Acm\u0301e"],
    ["wrong_brand", "terms", /Acme/g, "MegAcme"],
    ["login_needed", "texts", 'type="tel"', "type=PassWord"],
    ["placeholder_text", "terms", "The program", "[Your business name here]"],
    ["placeholder_text", "privacy", "What we store", "&#91;insert date&#93;"],
    [
      "no_contact",
      "terms",
      /<a href="mailto[^>]*>[^<]*<.a>[^<]*<a[^>]*>[^<]*<.a>/g,
      "<!-- help@acme.example -->",
    ],
  ])("has %s despite unusual markup on %s: %s", ([problem, name, from, to]) => {
    expect(findPageProblems(name, changed(name, from, to), BRAND)).toContain(problem)
  })

  it.each([
    "We may share your number with partners.",
    "We never sell your number, but we may share it with our affiliates.",
    "We do not only store but share your number with third parties.",
    "Your number is shared with our marketing partners.",
    "Mobile numbers may be sold to other companies.",
    "We share mobile numbers with third parties, and never with our competitors.",
    "What is not sold to anybody may be shared with affiliates.",
    "At no cost to you we share texts with sponsors.",
    "We WILL SHARE it with Third-Parties!",
    "We may sh\u00ADare it with part\u200Bners.",
    "We may <b>sh</b>are it with <!-- not --> our <i>part</i>ners.",
    "We don\u2019t rent numbers; however we can disclose consent to advertisers.",
    "We never sell your number but share it with partners.",
    "We reserve the right to transfer your number to third parties.",
    "We provide your mobile number to third parties for their marketing.",
    "We give phone numbers to our partners.",
    "We give our partners your phone number.",
    "Numbers may be passed on to affiliates for marketing purposes.",
    "Your number is made available to third parties.",
    "We share your mobile number.",
    "We sell your data.",
    "Your mobile number may be sold.",
  ])("says that it shares: %s", (sentence) => {
    const html = changed("privacy", "What we store", sentence)
    expect(findPageProblems("privacy", html, BRAND)).toContain("says_it_shares")
  })

  it.each([
    "We never share your number with third parties.",
    "We don\u2019t sell, rent or share mobile numbers with affiliates or partners for marketing.",
    "No mobile information will be shared with third parties or affiliates for marketing purposes.",
    "Your number will not be sold, rented, traded or shared with any third party.",
    "Under no circumstances do we share opt-in data with partners.",
    "We share your number with the carriers that deliver our texts.",
    "We may share data with third-party service providers who help us to deliver texts.",
    "Our bakery shares its kitchen with nobody.",
    "We do not provide your mobile number to third parties.",
    "Your number is not given, sold or made available to partners.",
    "We share your mobile number only with the carriers and services that deliver our texts.",
    "We do not share your mobile number.",
    "We may share your personal data where a law requires it.",
    "When you share your mobile number with us, we text you.",
    "By providing your number you agree to texts.",
  ])("does not say that it shares: %s", (sentence) => {
    const html = changed("privacy", "What we store", sentence)
    expect(findPageProblems("privacy", html, BRAND)).toEqual([])
  })

  it.each([
    "Your privacy matters. We sell cakes to affiliates.",
    "Mobile numbers are shared with third parties for marketing.",
    "We do not share recipes with third parties.",
    "We do not share your number with your neighbours.",
  ])("lacks a promise not to share: %s", (sentence) => {
    const html = changed("privacy", /Mobile numbers and text [^.]*\./g, sentence)
    expect(findPageProblems("privacy", html, BRAND)).toContain("no_sharing_sentence")
  })

  it("has all its problems reported together, even if it is not HTML", () => {
    expect(findPageProblems("texts", "", BRAND).length).toBeGreaterThan(5)
    expect(findPageProblems("terms", "\0<<<>", BRAND)).toContain("wrong_brand")
  })
})

/** A quarter of the maximum page size; a quadratic search would take minutes. */
const LONG = 262_144

describe("a page of 256 KiB", () => {
  it.each([
    "we may share ",
    "a",
    "1 ",
    "(",
    "reply ",
    "[your ",
    "4 messages ",
    "Acme & Sons ",
    "we do not share third party ",
    "</p>",
    "<a href=x>terms</a>",
    "<label><b>",
    "<p>no mobile",
    "we give it to ",
    "not a condition of ",
    "is a condition of ",
    "we sell your mobile ",
    "<label><input type=checkbox>I agree",
    "<b hidden>",
    "<i style='/*'>",
  ])("of repeated %j is searched quickly", (piece) => {
    const html = piece.repeat(Math.floor(LONG / piece.length))
    for (const name of ["texts", "privacy"] as const) {
      const from = performance.now()
      findPageProblems(name, html, BRAND)
      expect(performance.now() - from).toBeLessThan(scaledMs(3_000))
    }
  })
})
