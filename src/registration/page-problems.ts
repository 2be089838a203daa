/** What a reviewer of the carriers would refuse of the three pages, read as they are served. */
import type { PageName } from "./texting-pages.ts"
import type { PageProblem } from "./page-problem-messages.ts"
import type { PageElement, ParsedPage } from "./parsed-page.ts"
import { normalizedText, parsePage } from "./parsed-page.ts"
import { findSharingStatements } from "./sharing-statements.ts"

const RATES =
  /\b(?:messages?|messaging|msgs?|texts?) ?(?:and|&|\+|\/) ?data (?:rates|charges|fees) (?:may|might|could) (?:apply|be charged)/i
const OFTEN =
  /\b(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten) (?:[\w-]{1,20} ){0,2}(?:messages?|texts?|msgs?) ?(?:[\w-]{1,20} ){0,2}(?:per|a|an|each|every|\/) ?(?:day|week|month|year|order|purchase|request)|\b(?:messages?|msgs?|texts?|texting|messaging) (?:frequency|may vary|vary|varies)\b|\bfrequency (?:of (?:texts|messages)|may vary|varies)\b/i
/** In capitals, and as something to send; what it does may stand before or behind it. */
const instructionToSend = (word: string) =>
  new RegExp(
    `\\b(?:[Rr]ep(?:ly|lying)|REPLY|[Tt]ext(?:ing)?|TEXT|[Ss]end(?:ing)?|[Rr]espond|[Tt]ype)\\b[^.]{0,80}\\b${word}\\b`,
  )
const STOP = instructionToSend("STOP")
const HELP = instructionToSend("HELP")
const PLACEHOLDER =
  /lorem ipsum|\[(?:your|company|insert|brand)\b[^\]]{0,100}\]|\{\{[^}]{0,100}\}\}|<(?:your|company|insert)\b[^>]{0,100}>|\bTODO\b|your company name/i
const CONTACT =
  /[\w.+-]{1,64}@[\w-]{1,63}\.\w|(?<!\d)(?:\+?1[ .-]?)?\(?\d{3}\)?[ .-]{0,2}\d{3}[ .-]?\d{4}(?!\d)/
/** That somebody says yes to something, and that this is texts. */
const CONSENT_WORDS =
  /\b(?:agree|consent|opt(?:ing)?[ -]in|authori[sz]e|subscribe|sign me up|yes)\b/i
const ABOUT_TEXTS =
  /\b(?:texts?|texting|sms|mms|messages?|messaging|phone|mobile|calls?|deals?|offers?|promotions?|marketing|updates|alerts)\b/i
/** That nobody has to agree who buys something, and that somebody has to. */
const NO_CONDITION =
  /(?:\b(?:not|never)|n't) (?:[\w-]+ ){0,6}(?:pre)?(?:conditions?|requirements?|required|necessary|needed|need|have|prerequisite) (?:[\w-]+ ){0,6}(?:purchas|buy|order|sale|goods|service)/i
const CONDITION =
  /\b(?:is|are) (?:also |always )?(?:a |the )?(?:(?:pre)?condition|requirement|required) (?:of|for|to) (?:[\w-]+ ){0,4}(?:purchas|buy|order|sale)/i
/** What says yes in a form without anybody having said it. */
const CONSENT_FIELD_NAME = /consent|agree|opt[-_ ]?in|subscribe/i
const TEXTS = /\b(?:texts?|texting|sms|mms|messages?|messaging)\b/i
/** Where a link leads to by its words or its address. */
const LINK_PATTERNS = { terms: /terms|conditions|\btos\b/i, privacy: /privacy/i } as const

/**
 * What is wrong with a page. What people do not see is not read: neither a comment, nor what is hidden, nor the
 * words that stand in for a picture. It takes time in proportion to the page, but for what a parser of HTML
 * takes: a stranger's page is read in a thread of its own.
 */
export function findPageProblems(
  page: PageName,
  html: string,
  brand: string,
): readonly PageProblem[] {
  const seen = parsePage(html)
  const { text, elements } = seen
  const asksPassword = elements.some((one) => !one.isHidden && typeOf(one) === "password")
  const general: (PageProblem | null)[] = [
    asksPassword ? "login_needed" : null,
    containsName(text, brand) ? null : "wrong_brand",
    PLACEHOLDER.test(text) ? "placeholder_text" : null,
    STOP.test(text) ? null : "no_stop",
    HELP.test(text) ? null : "no_help",
  ]
  return [...general, ...PROBLEMS_OF[page](seen)].filter((one) => one !== null)
}

const PROBLEMS_OF: Readonly<
  Record<PageName, (seen: ParsedPage) => readonly (PageProblem | null)[]>
> = {
  texts: problemsOfTexts,
  terms: (seen) => [...problemsOfCosts(seen), ...problemsOfContact(seen)],
  privacy: (seen) => {
    const { hasSharingDenial, hasSharingAdmission } = findSharingStatements(seen.text)
    return [
      hasSharingDenial ? null : "no_sharing_sentence",
      hasSharingAdmission ? "says_it_shares" : null,
      ...problemsOfContact(seen),
    ]
  },
}

/** Whether a text has a name, and not as a part of a longer word. */
function containsName(text: string, brand: string): boolean {
  const all = text.toLowerCase()
  const name = normalizedText(brand).trim().toLowerCase()
  const isInWord = (at: number) => /^[\p{L}\p{N}]$/u.test(all.charAt(at))
  for (let at = all.indexOf(name); at >= 0; at = all.indexOf(name, at + 1)) {
    if (!isInWord(at - 1) && !isInWord(at + name.length)) return true
  }
  return false
}

const typeOf = (element: PageElement) =>
  element.tag === "input" ? element.attribute("type")?.toLowerCase() : undefined

function problemsOfCosts({ text }: ParsedPage): readonly (PageProblem | null)[] {
  return [OFTEN.test(text) ? null : "no_frequency", RATES.test(text) ? null : "no_rates"]
}

function problemsOfContact({ text, elements }: ParsedPage): readonly (PageProblem | null)[] {
  const links = elements.flatMap((one) => (one.isHidden ? [] : (one.attribute("href") ?? [])))
  const ways = links.filter((href) => /^(?:mailto|tel):/i.test(href))
  return [[text, ...ways].some((one) => CONTACT.test(one)) ? null : "no_contact"]
}

function problemsOfTexts(seen: ParsedPage): readonly (PageProblem | null)[] {
  const { elements } = seen
  const boxes = boxesIn(elements)
  const agreed = boxes.filter(({ label }) => CONSENT_WORDS.test(label) && TEXTS.test(label))
  // Another box, of terms perhaps, may be as it is; one that says nothing may be the one.
  const meant =
    agreed.length === 0 ? boxes : [...agreed, ...boxes.filter((one) => one.label === "")]
  const is = (those: readonly ConsentBox[], name: string, aria: string) =>
    those.some(
      ({ box }) =>
        box.attribute(name) !== undefined || box.attribute(aria)?.trim().toLowerCase() === "true",
    )
  const ticked = [...meant, ...boxes.filter(({ label }) => ABOUT_TEXTS.test(label))]
  const asks = agreed.length > 0 && !elements.some(isHiddenConsent) && isConsentOptional(seen.text)
  return [
    asks ? null : "no_consent_text",
    is(ticked, "checked", "aria-checked") ? "box_ticked" : null,
    is(meant, "required", "aria-required") ? "box_required" : null,
    ...problemsOfCosts(seen),
    hasLink(elements, LINK_PATTERNS.terms) ? null : "no_terms_link",
    hasLink(elements, LINK_PATTERNS.privacy) ? null : "no_privacy_link",
  ]
}

const isConsentOptional = (text: string) => NO_CONDITION.test(text) && !CONDITION.test(text)

/** Whether it agrees for whoever sends the form. */
const isHiddenConsent = (one: PageElement) =>
  typeOf(one) === "hidden" &&
  CONSENT_FIELD_NAME.test(one.attribute("name") ?? "") &&
  /^(?:yes|true|1|on)$/i.test(one.attribute("value")?.trim() ?? "")

function hasLink(elements: readonly PageElement[], leads: RegExp): boolean {
  return elements.some((one) => {
    const href = one.attribute("href")?.trim() ?? ""
    const isLink =
      one.tag === "a" && !one.isHidden && !/^(?:$|#|javascript:|mailto:|tel:)/i.test(href)
    return isLink && (leads.test(href) || leads.test(one.text()))
  })
}

interface ConsentBox {
  readonly box: PageElement
  /** What people read at it. */
  readonly label: string
}

/** A label is at most so far away from its box. */
const MOST_LABEL_DEPTH = 20
/** What holds more than a box and its words. */
const CONTAINER_TAGS = new Set([
  "form",
  "body",
  "html",
  "main",
  "section",
  "article",
  "fieldset",
  "table",
])
const MAX_BOXES = 200

/** The boxes that can be ticked, each with its own words. */
function boxesIn(elements: readonly PageElement[]): readonly ConsentBox[] {
  const byId = new Map<string, PageElement>()
  const byBox = new Map<string, PageElement[]>()
  for (const one of elements) {
    const id = one.attribute("id")
    if (id !== undefined && !byId.has(id)) byId.set(id, one)
    const named = one.tag === "label" ? one.attribute("for") : undefined
    if (named !== undefined) byBox.set(named, [...(byBox.get(named) ?? []).slice(0, 4), one])
  }
  const isBox = (one: PageElement) =>
    typeOf(one) === "checkbox" || /^(?:checkbox|switch)$/i.test(one.attribute("role") ?? "")
  return elements
    .filter(isBox)
    .slice(0, MAX_BOXES)
    .map((box) => {
      const ids = (box.attribute("aria-labelledby") ?? "").split(/\s+/, 10)
      const labels = [
        ...(byBox.get(box.attribute("id") ?? "") ?? []),
        ...ids.flatMap((id) => byId.get(id) ?? []),
        ...labelAbove(box),
      ]
      const label = labels.map((one) => one.text()).join(" ")
      return { box, label: label.trim() === "" ? adjacentText(box) : label }
    })
}

/** Where a box has no label: what stands in it, or with it in what holds it. */
function adjacentText(box: PageElement): string {
  const own = box.text()
  const { parent } = box
  if (own !== "" || parent === null || CONTAINER_TAGS.has(parent.tag)) return own
  return parent.text()
}

function labelAbove(box: PageElement): readonly PageElement[] {
  let one = box.parent
  for (let up = 0; one !== null && up < MOST_LABEL_DEPTH; up += 1) {
    if (one.tag === "label") return [one]
    one = one.parent
  }
  return []
}
