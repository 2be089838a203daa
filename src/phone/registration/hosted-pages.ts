/**
 * The three pages that carriers look at: where people agree, the terms, and what is said of privacy. Plain
 * documents without script, the same on a phone.
 */
import { escaped } from "../../frame/calls/page.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import type { PageName, Pages } from "./pages.ts"

/** The field of the form that people do not see. */
const HONEYPOT = "website"
/** The field that says when the page was made, signed. */
const PAGE_TIME = "made"

/** What the pages are made of. */
export interface PageContent {
  readonly business: Business
  readonly pages: Pages
  /** Whether it is a preview, which no search engine is to find. */
  readonly isPreview: boolean
  /** When the pages were saved last, UTC milliseconds. */
  readonly savedAt: number
}

const STYLE = `
:root{color-scheme:light;--ink:#1d2733;--soft:#54616f;--line:#d4dbe3;--mark:#0b5cab}
*{box-sizing:border-box}
body{margin:0;background:#f5f7f9;color:var(--ink);font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:40rem;margin:0 auto;padding:2rem 1.25rem 4rem;background:#fff;min-height:100vh}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 1rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}
a{color:var(--mark)}footer,small{color:var(--soft);font-size:.9375rem}
.preview{background:#fff4d6;padding:.6rem 1.25rem;text-align:center}
form{border:1px solid var(--line);border-radius:.5rem;padding:1.25rem;margin:1.5rem 0}
label{display:block;margin:1rem 0 0}input[type=text],input[type=tel]{display:block;width:100%;margin-top:.25rem;
padding:.7rem;font:inherit;border:1px solid #7c8894;border-radius:.375rem}
.box{display:flex;gap:.75rem;align-items:flex-start}.box input{width:1.35rem;height:1.35rem;margin:.15rem 0 0;flex:none}
button{margin-top:1.25rem;padding:.75rem 1.5rem;font:inherit;font-weight:600;color:#fff;background:var(--mark);border:0;
border-radius:.375rem;cursor:pointer}:focus-visible{outline:3px solid #ffb000;outline-offset:2px}
.away{position:absolute;left:-100rem}.fault{color:#a4161a;font-weight:600}`

/** How often somebody is texted, as a sentence has it. */
const oftenOf = ({ offersPerMonth }: Pages): string =>
  `Up to ${offersPerMonth} message${offersPerMonth === 1 ? "" : "s"} a month`

const aboutOf = ({ services }: Pages): string => services.replace(/[.\s]+$/, "")

/** A whole document. */
function documentOf(title: string, body: string, { business, isPreview }: PageContent): string {
  const brand = escaped(brandNameOf(business))
  const robots = isPreview ? '<meta name="robots" content="noindex">' : ""
  const banner = isPreview
    ? '<div class="preview" role="note">This is a preview. It is not the page that people see.</div>'
    : ""
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">${robots}
<title>${escaped(title)} · ${brand}</title><style>${STYLE}</style></head>
<body>${banner}<main><h1>${escaped(title)}</h1>
${body}
<footer><p>${brand} · <a href="texts">Texts</a> · <a href="terms">Terms</a> · <a href="privacy">Privacy</a></p></footer>
</main></body></html>
`
}

/** What was sent with the form, and what was wrong with it. */
export interface FormFault {
  readonly message: string
  readonly phone: string
  readonly firstName: string
}

/** Where people agree. @param time when it is made, signed */
export function textsPage(content: PageContent, time: string, fault: FormFault | null): string {
  const { business, pages } = content
  const brand = escaped(brandNameOf(business))
  const about = escaped(aboutOf(pages))
  const terms =
    `${oftenOf(pages)}. Message and data rates may apply. Reply STOP to opt out, HELP for help. ` +
    `Consent is not a condition of purchase. See our <a href="terms">terms</a> and ` +
    `<a href="privacy">privacy policy</a>.`
  const box = (name: string, what: string) =>
    `<label class="box"><input type="checkbox" name="${name}" value="yes"><span>I agree to get ` +
    `texts from ${brand} ${what}. ${terms}</span></label>`
  const said = fault === null ? "" : `<p class="fault" role="alert">${escaped(fault.message)}</p>`
  const value = (text: string) => (text === "" ? "" : ` value="${escaped(text)}"`)
  const body = `<p>${brand} can text you about ${about}. Leave your number and tick what you agree to.</p>
<form method="post" action="texts">${said}
<label>Mobile number<input type="tel" name="phone" autocomplete="tel" required${value(fault?.phone ?? "")}></label>
<label>First name (optional)<input type="text" name="firstName" autocomplete="given-name" maxlength="80"${value(fault?.firstName ?? "")}></label>
${box("service", `about ${about}`)}
${pages.offers ? box("offers", "with offers") : ""}
<label class="away" aria-hidden="true">Leave this empty <input name="${HONEYPOT}" tabindex="-1" autocomplete="off"></label>
<input type="hidden" name="${PAGE_TIME}" value="${escaped(time)}">
<button type="submit">Agree to texts</button></form>
<p><small>Questions? Write to <a href="mailto:${escaped(pages.supportEmail)}">${escaped(pages.supportEmail)}</a> or call ${escaped(pages.supportPhone)}.</small></p>`
  return documentOf("Texts you agree to", body, content)
}

/** What those see who agreed. */
export function thanksPage(content: PageContent, isStopped: boolean): string {
  const brand = escaped(brandNameOf(content.business))
  const start = isStopped
    ? `<p>This number texted STOP before. To get texts again, text <strong>START</strong> to ${brand}.</p>`
    : "<p>You can opt out at any time: reply STOP to any of our texts.</p>"
  return documentOf("Thank you", `<p>Your agreement was recorded.</p>${start}`, content)
}

function termsPage(content: PageContent): string {
  const { business, pages } = content
  const brand = escaped(brandNameOf(business))
  const support = `<a href="mailto:${escaped(pages.supportEmail)}">${escaped(pages.supportEmail)}</a> or ${escaped(pages.supportPhone)}`
  const body = `<h2>The program</h2>
<p>${brand} Texts: messages about ${escaped(aboutOf(pages))}${pages.offers ? ", and offers" : ""}, to people who agreed to them.</p>
<h2>How often</h2><p>${oftenOf(pages)}.</p>
<h2>What it costs</h2><p>Message and data rates may apply, as your carrier charges them. Consent is not a condition of purchase.</p>
<h2>Opting out</h2><p>Reply STOP to any text to opt out. You get one more text that says so, and none after it. Reply START to opt in again.</p>
<h2>Help</h2><p>Reply HELP to any text, or contact ${support}.</p>
<h2>Carriers</h2><p>Carriers are not liable for delayed or undelivered messages.</p>
<h2>Privacy</h2><p>See our <a href="privacy">privacy policy</a>.</p>`
  return documentOf("Terms of our texts", body, content)
}

function privacyPage(content: PageContent): string {
  const { business, pages, savedAt } = content
  const brand = escaped(brandNameOf(business))
  const where = [business.street, business.street2, business.city, business.region]
  const address = [...where, business.postalCode].filter((one) => one !== undefined).join(", ")
  const body = `<p>Last changed ${new Date(savedAt).toISOString().slice(0, 10)}.</p>
<h2>What we keep</h2><p>${brand} keeps your mobile number, your first name if you gave it, and when and how you agreed to texts. It is used to send you the texts that you agreed to.</p>
<h2>Who gets it</h2><p>Mobile numbers and text messaging consent are not sold to or shared with third parties or affiliates for marketing. They are given only to the carriers and services that deliver our texts.</p>
<h2>Your choice</h2><p>Reply STOP to any text to opt out, HELP for help. Ask us to erase what we keep of you at any time.</p>
<h2>Contact</h2><p>${escaped(business.legalName)}, ${escaped(address)}. Write to <a href="mailto:${escaped(pages.supportEmail)}">${escaped(pages.supportEmail)}</a> or call ${escaped(pages.supportPhone)}.</p>`
  return documentOf("Privacy policy of our texts", body, content)
}

/** One of the three pages. @param time when it is made, signed: the form says so */
export function pageOf(name: PageName, content: PageContent, time: string): string {
  switch (name) {
    case "texts":
      return textsPage(content, time, null)
    case "terms":
      return termsPage(content)
    case "privacy":
      return privacyPage(content)
  }
}
