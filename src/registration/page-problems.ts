import type { PageName } from "./texting-pages.ts"
import type { PageProblem } from "./page-problem-messages.ts"
import type { PageElement, ParsedPage } from "./parsed-page.ts"
import { normalizedText, parsePage } from "./parsed-page.ts"
import { findSharingStatements } from "./sharing-statements.ts"

const RATES =
  /\b(?:messages?|messaging|msgs?|texts?) ?(?:and|&|\+|\/) ?data (?:rates|charges|fees) (?:may|might|could) (?:apply|be charged)/i
const FREQUENCY =
  /\b(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten) (?:[\w-]{1,20} ){0,2}(?:messages?|texts?|msgs?) ?(?:[\w-]{1,20} ){0,2}(?:per|a|an|each|every|\/) ?(?:day|week|month|year|order|purchase|request)|\b(?:messages?|msgs?|texts?|texting|messaging) (?:frequency|may vary|vary|varies)\b|\bfrequency (?:of (?:texts|messages)|may vary|varies)\b/i
/** The keyword in capitals, with a verb such as "reply" before it. */
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
const CONSENT_WORDS =
  /\b(?:agree|consent|opt(?:ing)?[ -]in|authori[sz]e|subscribe|sign me up|yes)\b/i
const ABOUT_TEXTS =
  /\b(?:texts?|texting|sms|mms|messages?|messaging|phone|mobile|calls?|deals?|offers?|promotions?|marketing|updates|alerts)\b/i
/** Statements that consent is not, or is, a condition of purchase. */
const NO_CONDITION =
  /(?:\b(?:not|never)|n't) (?:[\w-]+ ){0,6}(?:pre)?(?:conditions?|requirements?|required|necessary|needed|need|have|prerequisite) (?:[\w-]+ ){0,6}(?:purchas|buy|order|sale|goods|service)/i
const CONDITION =
  /\b(?:is|are) (?:also |always )?(?:a |the )?(?:(?:pre)?condition|requirement|required) (?:of|for|to) (?:[\w-]+ ){0,4}(?:purchas|buy|order|sale)/i
/** Names of hidden fields that would consent without the visitor. */
const CONSENT_FIELD_NAME = /consent|agree|opt[-_ ]?in|subscribe/i
const TEXTS = /\b(?:texts?|texting|sms|mms|messages?|messaging)\b/i
/** Recognizes a link by its text or its address. */
const LINK_PATTERNS = { terms: /terms|conditions|\btos\b/i, privacy: /privacy/i } as const

/**
 * Finds the problems of a page, in linear time except for the parser: run it in a thread for untrusted pages.
 */
export function findPageProblems(
  page: PageName,
  html: string,
  brand: string,
): readonly PageProblem[] {
  const parsed = parsePage(html)
  const { text, elements } = parsed
  const asksPassword = elements.some(
    (element) => !element.isHidden && typeOf(element) === "password",
  )
  const general: (PageProblem | null)[] = [
    asksPassword ? "login_needed" : null,
    containsName(text, brand) ? null : "wrong_brand",
    PLACEHOLDER.test(text) ? "placeholder_text" : null,
    STOP.test(text) ? null : "no_stop",
    HELP.test(text) ? null : "no_help",
  ]
  return [...general, ...PROBLEMS_OF[page](parsed)].filter((element) => element !== null)
}

const PROBLEMS_OF: Readonly<
  Record<PageName, (parsed: ParsedPage) => readonly (PageProblem | null)[]>
> = {
  texts: problemsOfTexts,
  terms: (parsed) => [...problemsOfCosts(parsed), ...problemsOfContact(parsed)],
  privacy: (parsed) => {
    const { hasSharingDenial, hasSharingAdmission } = findSharingStatements(parsed.text)
    return [
      hasSharingDenial ? null : "no_sharing_sentence",
      hasSharingAdmission ? "says_it_shares" : null,
      ...problemsOfContact(parsed),
    ]
  },
}

/** Whether a text contains a name as complete words. */
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
  return [FREQUENCY.test(text) ? null : "no_frequency", RATES.test(text) ? null : "no_rates"]
}

function problemsOfContact({ text, elements }: ParsedPage): readonly (PageProblem | null)[] {
  const links = elements.flatMap((element) =>
    element.isHidden ? [] : (element.attribute("href") ?? []),
  )
  const ways = links.filter((href) => /^(?:mailto|tel):/i.test(href))
  return [[text, ...ways].some((element) => CONTACT.test(element)) ? null : "no_contact"]
}

function problemsOfTexts(parsed: ParsedPage): readonly (PageProblem | null)[] {
  const { elements } = parsed
  const boxes = boxesIn(elements)
  const consentBoxes = boxes.filter(({ label }) => CONSENT_WORDS.test(label) && TEXTS.test(label))
  // A box about something else is ignored; a box without a label may be the consent box.
  const candidates =
    consentBoxes.length === 0
      ? boxes
      : [...consentBoxes, ...boxes.filter((element) => element.label === "")]
  const hasAttribute = (boxList: readonly ConsentBox[], name: string, aria: string) =>
    boxList.some(
      ({ box }) =>
        box.attribute(name) !== undefined || box.attribute(aria)?.trim().toLowerCase() === "true",
    )
  const ticked = [...candidates, ...boxes.filter(({ label }) => ABOUT_TEXTS.test(label))]
  const asksConsent =
    consentBoxes.length > 0 && !elements.some(isHiddenConsent) && isConsentOptional(parsed.text)
  return [
    asksConsent ? null : "no_consent_text",
    hasAttribute(ticked, "checked", "aria-checked") ? "box_ticked" : null,
    hasAttribute(candidates, "required", "aria-required") ? "box_required" : null,
    ...problemsOfCosts(parsed),
    hasLink(elements, LINK_PATTERNS.terms) ? null : "no_terms_link",
    hasLink(elements, LINK_PATTERNS.privacy) ? null : "no_privacy_link",
  ]
}

const isConsentOptional = (text: string) => NO_CONDITION.test(text) && !CONDITION.test(text)

const isHiddenConsent = (element: PageElement) =>
  typeOf(element) === "hidden" &&
  CONSENT_FIELD_NAME.test(element.attribute("name") ?? "") &&
  /^(?:yes|true|1|on)$/i.test(element.attribute("value")?.trim() ?? "")

function hasLink(elements: readonly PageElement[], leads: RegExp): boolean {
  return elements.some((element) => {
    const href = element.attribute("href")?.trim() ?? ""
    const isLink =
      element.tag === "a" && !element.isHidden && !/^(?:$|#|javascript:|mailto:|tel:)/i.test(href)
    return isLink && (leads.test(href) || leads.test(element.text()))
  })
}

interface ConsentBox {
  readonly box: PageElement
  /** The text that people read next to the box. */
  readonly label: string
}

const MAX_LABEL_DEPTH = 20
/** Elements that contain more than a box and its label. */
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

function boxesIn(elements: readonly PageElement[]): readonly ConsentBox[] {
  const byId = new Map<string, PageElement>()
  const byBox = new Map<string, PageElement[]>()
  for (const element of elements) {
    const id = element.attribute("id")
    if (id !== undefined && !byId.has(id)) byId.set(id, element)
    const named = element.tag === "label" ? element.attribute("for") : undefined
    if (named !== undefined) byBox.set(named, [...(byBox.get(named) ?? []).slice(0, 4), element])
  }
  const isBox = (element: PageElement) =>
    typeOf(element) === "checkbox" || /^(?:checkbox|switch)$/i.test(element.attribute("role") ?? "")
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
      const label = labels.map((element) => element.text()).join(" ")
      return { box, label: label.trim() === "" ? adjacentText(box) : label }
    })
}

/** The text of a box without a label: its own, or that of its parent. */
function adjacentText(box: PageElement): string {
  const ownText = box.text()
  const { parent } = box
  if (ownText !== "" || parent === null || CONTAINER_TAGS.has(parent.tag)) return ownText
  return parent.text()
}

function labelAbove(box: PageElement): readonly PageElement[] {
  let element = box.parent
  for (let depth = 0; element !== null && depth < MAX_LABEL_DEPTH; depth += 1) {
    if (element.tag === "label") return [element]
    element = element.parent
  }
  return []
}
