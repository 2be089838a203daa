/**
 * The pages that carriers review: opt-in form, terms and privacy policy, as plain documents without scripts.
 */
import { PAGE_TIME_FIELD, honeypotHtml } from "../frame/routes/declare/public-form.ts"
import { escapeHtml } from "../frame/routes/answers/answer-bodies.ts"
import { formatPhoneNumber } from "../frame/kernel/schema.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import type { PageName, TextingPages } from "./texting-pages.ts"
import { PAGE_NAMES } from "./texting-pages.ts"

/** One style for all pages, which loads nothing. */
const PAGE_STYLE = `
:root{color-scheme:light;--ink:#18212b;--soft:#4d5a68;--line:#d5dce4;--edge:#6d7986;--mark:#0a56a3;--deep:#083f78;
--paper:#fff;--ground:#f2f5f8;--wash:#eef4fb}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--ground);color:var(--ink);
font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
.preview{background:#fff1c9;color:#4a3600;padding:.7rem 1.25rem;text-align:center;font-size:.9375rem}
header{background:var(--paper);border-bottom:1px solid var(--line)}
.row{max-width:44rem;margin:0 auto;padding:0 1.25rem;display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;
align-items:center;justify-content:space-between}
.brand{font-weight:700;font-size:1.125rem;margin:0;padding:.9rem 0}
nav{display:flex;flex-wrap:wrap;gap:0 1.25rem;margin-bottom:-1px}
nav a{padding:.9rem 0;color:var(--soft);text-decoration:none;border-bottom:3px solid transparent}
nav a:hover{color:var(--ink)}
nav a[aria-current]{color:var(--ink);font-weight:600;border-color:var(--mark)}
main{width:100%;max-width:44rem;margin:0 auto;padding:2.25rem 1.25rem 3rem;flex:1}
h1{font-size:clamp(1.6rem,1.3rem + 1.6vw,2.15rem);line-height:1.2;letter-spacing:-.015em;margin:0 0 .75rem;text-wrap:balance}
h2{font-size:1.15rem;line-height:1.35;margin:1.75rem 0 .3rem}
p{margin:0 0 1rem}
a{color:var(--mark)}a:hover{color:var(--deep)}
.whole{white-space:nowrap}
.lead{font-size:1.125rem;color:var(--soft)}
.card{background:var(--paper);border:1px solid var(--line);border-radius:.75rem;padding:1.5rem;margin:1.5rem 0;
box-shadow:0 1px 2px rgb(24 33 43/.05),0 8px 24px rgb(24 33 43/.05)}
.card>:last-child{margin-bottom:0}
.text>:first-child{margin-top:0}
.field{display:block;margin:0 0 1.25rem}
.field label{display:block;font-weight:600}
.hint{display:block;color:var(--soft);font-size:.9375rem;font-weight:400}
.field input{display:block;width:100%;margin-top:.35rem;padding:.7rem .85rem;min-height:3rem;font:inherit;
color:inherit;background:var(--paper);border:1px solid var(--edge);border-radius:.5rem}
fieldset{border:0;margin:0;padding:0;min-width:0}
legend{font-weight:600;padding:0;margin-bottom:.5rem}
.box{display:flex;gap:.85rem;align-items:flex-start;padding:1rem;margin:0 0 .75rem;border:1px solid var(--line);
border-radius:.5rem;cursor:pointer}
.box:hover{border-color:var(--edge)}
.box:has(input:checked){border-color:var(--mark);background:var(--wash)}
.box input{width:1.4rem;height:1.4rem;margin:.15rem 0 0;flex:none;accent-color:var(--mark)}
.box b{display:block;font-weight:600;line-height:1.45}
.box small{display:block;margin-top:.35rem;color:var(--soft);font-size:.9375rem;line-height:1.5}
button{display:block;width:100%;margin-top:1.25rem;padding:.85rem 1.5rem;min-height:3.1rem;font:inherit;font-weight:600;
color:#fff;background:var(--mark);border:0;border-radius:.5rem;cursor:pointer}
button:hover{background:var(--deep)}
:focus-visible{outline:3px solid #f0a500;outline-offset:2px;border-radius:.25rem}
.fault{color:#8f1218;background:#fdeeee;border:1px solid #e7b3b5;border-radius:.5rem;padding:.75rem 1rem;font-weight:600}
[aria-invalid=true]{border:2px solid #b3261e!important}
footer{background:var(--paper);border-top:1px solid var(--line);color:var(--soft);font-size:.9375rem}
footer p{margin:0;padding:1.1rem 0}
.away{position:absolute;left:-100rem}
@media(max-width:26rem){.brand{padding-bottom:0}nav a{padding:.6rem 0 .7rem}}
@media(min-width:40rem){.card{padding:2rem}button{width:auto;min-width:14rem}}
@media print{header nav,button{display:none}.card{box-shadow:none}}`

/** The details from which pages are rendered. */
export interface PageContent {
  readonly business: Business
  readonly pages: TextingPages
  /** A preview is hidden from search engines. */
  readonly isPreview: boolean
  /** When the pages were last saved, UTC milliseconds. */
  readonly savedAt: number
}

const LINKS: Readonly<Record<PageName, string>> = {
  texts: "Texts",
  terms: "Terms",
  privacy: "Privacy",
}

/** The value that a ticked box sends. */
export const TICKED = "yes"

const SERVICE_FREQUENCY = "Message frequency varies"

const offersFrequencyOf = ({ offersPerMonth }: TextingPages): string =>
  `Up to ${offersPerMonth} message${offersPerMonth === 1 ? "" : "s"} a month`

const topicOf = ({ services }: TextingPages): string => services.replace(/[.\s]+$/, "")

const brandOf = ({ business }: PageContent): string => escapeHtml(brandNameOf(business))

/** Renders a complete document. @param at the page, or null for the page after the form */
function renderDocument(
  at: PageName | null,
  title: string,
  body: string,
  content: PageContent,
): string {
  const brand = brandOf(content)
  const robots = content.isPreview ? '<meta name="robots" content="noindex">' : ""
  const banner = content.isPreview
    ? '<aside class="preview" aria-label="Preview">This is a preview. It is not the page that people see, and its form records nothing.</aside>'
    : ""
  const links = PAGE_NAMES.map((name) => {
    const current = name === at ? ' aria-current="page"' : ""
    return `<a href="${name}"${current}>${LINKS[name]}</a>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">${robots}
<title>${escapeHtml(title)} · ${brand}</title><style>${PAGE_STYLE}</style></head>
<body>${banner}<header><div class="row"><p class="brand">${brand}</p>
<nav aria-label="Pages">${links.join("")}</nav></div></header>
<main><h1>${escapeHtml(title)}</h1>
${body}
</main><footer><div class="row"><p>${escapeHtml(content.business.legalName)}</p></div></footer></body></html>
`
}

/** A rejected form: the fault, and the values to show again. */
export interface FormFault {
  readonly message: string
  readonly field: "phone" | "firstName" | "boxes"
  readonly phone: string
  readonly firstName: string
  readonly service: boolean
  readonly offers: boolean
}

/** Renders the opt-in form. @param time signed time of rendering */
export function textsPage(content: PageContent, time: string, fault: FormFault | null): string {
  const { pages } = content
  const brand = brandOf(content)
  const about = escapeHtml(topicOf(pages))
  const body = `<p class="lead">${brand} can text you about ${about}. Leave your number, and tick what you agree to.</p>
<form class="card" method="post" action="texts">
${fault === null ? "" : `<p class="fault" role="alert" id="fault">${escapeHtml(fault.message)}</p>`}
${renderInputs(fault)}
${renderConsentBoxes(content, fault)}
${honeypotHtml('class="away"')}
<input type="hidden" name="${PAGE_TIME_FIELD}" value="${escapeHtml(time)}">
<button type="submit">Agree to texts</button></form>
<p>Questions? ${renderSupportContact(pages, "Write to", "or call")}.</p>`
  return renderDocument("texts", `Texts from ${brandNameOf(content.business)}`, body, content)
}

const faultAttributes = (fault: FormFault | null, field: FormFault["field"]): string =>
  fault?.field === field ? ' aria-invalid="true" aria-describedby="fault"' : ""

function renderInputs(fault: FormFault | null): string {
  const value = (text = "") => (text === "" ? "" : ` value="${escapeHtml(text)}"`)
  return `<div class="field"><label for="phone">Mobile number</label>
<input id="phone" type="tel" name="phone" autocomplete="tel" required maxlength="40"${value(fault?.phone)}${faultAttributes(fault, "phone")}></div>
<div class="field"><label for="firstName">First name <span class="hint">Optional</span></label>
<input id="firstName" type="text" name="firstName" autocomplete="given-name" maxlength="80"${value(fault?.firstName)}${faultAttributes(fault, "firstName")}></div>`
}

/** The consent boxes, each with all texts that carriers require next to it. */
function renderConsentBoxes(content: PageContent, fault: FormFault | null): string {
  const { pages } = content
  const termsOf = (frequency: string) =>
    `${frequency}. Message and data rates may apply. Reply STOP to opt out, HELP for help. ` +
    `Consent is not a condition of purchase. See our <a href="terms">terms</a> and ` +
    `<a href="privacy">privacy policy</a>.`
  const box = (name: "service" | "offers", purpose: string, frequency: string) =>
    `<label class="box"><input type="checkbox" name="${name}" value="${TICKED}"` +
    `${fault?.[name] === true ? " checked" : ""}${faultAttributes(fault, "boxes")}><span>` +
    `<b>I agree to get texts from ${brandOf(content)} ${purpose}.</b> <small>${termsOf(frequency)}</small></span></label>`
  return `<fieldset><legend>What you agree to <span class="hint">Each is up to you</span></legend>
${box("service", `about ${escapeHtml(topicOf(pages))}`, SERVICE_FREQUENCY)}
${pages.offers ? box("offers", "with offers", offersFrequencyOf(pages)) : ""}</fieldset>`
}

function renderSupportContact(
  { supportEmail, supportPhone }: TextingPages,
  write: string,
  call: string,
): string {
  const email = escapeHtml(supportEmail)
  const phone = escapeHtml(supportPhone)
  return (
    `${write} <a href="mailto:${email}">${email}</a> ` +
    `${call} <a class="whole" href="tel:${phone}">${escapeHtml(formatPhoneNumber(supportPhone))}</a>`
  )
}

/** Renders the page after the form. @param from the number that sends the texts; null if there is none yet */
export function thanksPage(content: PageContent, from: string | null): string {
  const to =
    from === null
      ? "the number that our texts come from"
      : `<span class="whole">${escapeHtml(formatPhoneNumber(from))}</span>`
  const recorded = content.isPreview
    ? "This is a preview: nothing was recorded."
    : "Your agreement was recorded. There is nothing else to do."
  const body = `<p class="lead">${recorded}</p>
<div class="card text"><h2>If you change your mind</h2><p>Reply STOP to any of our texts, at any time.</p>
<h2>If you texted STOP before</h2><p>This form does not undo that. To get texts again, text <strong>START</strong> to ${to}.</p></div>`
  return renderDocument(null, "Thank you", body, content)
}

function termsPage(content: PageContent): string {
  const { pages } = content
  const body = `<div class="card text"><h2>The program</h2>
<p>${brandOf(content)} Texts: messages about ${escapeHtml(topicOf(pages))}${pages.offers ? ", and offers" : ""}, to people who agreed to them.</p>
<h2>How often</h2><p>${SERVICE_FREQUENCY}.${pages.offers ? ` Offers: ${offersFrequencyOf(pages).toLowerCase()}.` : ""}</p>
<h2>What it costs</h2><p>Message and data rates may apply, as your carrier charges them. Consent is not a condition of purchase.</p>
<h2>Opting out</h2><p>Reply STOP to any text to opt out. You get one more text that says so, and none after it. Reply START to opt in again.</p>
<h2>Help</h2><p>Reply HELP to any text. ${renderSupportContact(pages, "Or write to", "or call")}.</p>
<h2>Carriers</h2><p>Carriers are not liable for delayed or undelivered messages.</p>
<h2>Privacy</h2><p>See our <a href="privacy">privacy policy</a>.</p></div>`
  return renderDocument("terms", "Terms of our texts", body, content)
}

function privacyPage(content: PageContent): string {
  const { business, pages, savedAt } = content
  const brand = brandOf(content)
  const where = [business.street, business.street2, business.city, business.region]
  const address = [...where, business.postalCode]
    .filter((one) => typeof one === "string")
    .join(", ")
  const day = new Date(savedAt).toISOString().slice(0, 10)
  const savedOn = new Date(savedAt).toLocaleDateString("en-US", {
    dateStyle: "long",
    timeZone: "UTC",
  })
  const body = `<p class="lead">Last updated <time datetime="${day}">${savedOn}</time>.</p>
<div class="card text"><h2>What we store</h2><p>${brand} stores your mobile number, your first name if you gave it, and when and how you agreed to texts. It is used to send you the texts that you agreed to.</p>
<h2>Who gets it</h2><p>Mobile numbers and text messaging consent are not sold to or shared with third parties or affiliates for marketing. They are given only to the carriers and services that deliver our texts.</p>
<h2>Your choice</h2><p>Reply STOP to any text to opt out, HELP for help. You can ask us to erase your data at any time.</p>
<h2>Contact</h2><p>${escapeHtml(business.legalName)}, ${escapeHtml(address)}. ${renderSupportContact(pages, "Write to", "or call")}.</p></div>`
  return renderDocument("privacy", "Privacy policy of our texts", body, content)
}

/** Renders one of the three pages. @param time signed time of rendering, for the form */
export function renderHostedPage(name: PageName, content: PageContent, time: string): string {
  switch (name) {
    case "texts":
      return textsPage(content, time, null)
    case "terms":
      return termsPage(content)
    case "privacy":
      return privacyPage(content)
  }
}
