/** What a reviewer of the carriers would refuse of the three pages, read as they are served. */
import type { PageName } from "./pages.ts"
import type { PageProblem } from "./problem-words.ts"
import type { SeenElement, SeenPage } from "./seen-page.ts"
import { plainText, seenPage } from "./seen-page.ts"
import { sharingIn } from "./sharing.ts"

const RATES =
  /\b(?:messages?|messaging|msgs?|texts?) ?(?:and|&|\+|\/) ?data (?:rates|charges|fees) (?:may|might|could) (?:apply|be charged)/i
const OFTEN =
  /\b(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten) (?:[\w-]{1,20} ){0,2}(?:messages?|texts?|msgs?) ?(?:[\w-]{1,20} ){0,2}(?:per|a|an|each|every|\/) ?(?:day|week|month|year|order|purchase|request)|\b(?:messages?|msgs?|texts?|texting|messaging) (?:frequency|may vary|vary|varies)\b|\bfrequency (?:of (?:texts|messages)|may vary|varies)\b/i
/** In capitals, and as something to send; what it does may stand before or behind it. */
const sent = (word: string) =>
  new RegExp(
    `\\b(?:[Rr]ep(?:ly|lying)|REPLY|[Tt]ext(?:ing)?|TEXT|[Ss]end(?:ing)?|[Rr]espond|[Tt]ype)\\b[^.]{0,80}\\b${word}\\b`,
  )
const STOP = sent("STOP")
const HELP = sent("HELP")
const PLACEHOLDER =
  /lorem ipsum|\[(?:your|company|insert|brand)\b[^\]]{0,100}\]|\{\{[^}]{0,100}\}\}|<(?:your|company|insert)\b[^>]{0,100}>|\bTODO\b|your company name/i
const CONTACT =
  /[\w.+-]{1,64}@[\w-]{1,63}\.\w|(?<!\d)(?:\+?1[ .-]?)?\(?\d{3}\)?[ .-]{0,2}\d{3}[ .-]?\d{4}(?!\d)/
/** That somebody says yes to something, and that this is texts. */
const AGREES = /\b(?:agree|consent|opt(?:ing)?[ -]in|authori[sz]e|subscribe|sign me up|yes)\b/i
const ABOUT_TEXTS =
  /\b(?:texts?|texting|sms|mms|messages?|messaging|phone|mobile|calls?|deals?|offers?|promotions?|marketing|updates|alerts)\b/i
/** That nobody has to agree who buys something, and that somebody has to. */
const NO_CONDITION =
  /(?:\b(?:not|never)|n't) (?:[\w-]+ ){0,6}(?:pre)?(?:conditions?|requirements?|required|necessary|needed|need|have|prerequisite) (?:[\w-]+ ){0,6}(?:purchas|buy|order|sale|goods|service)/i
const CONDITION =
  /\b(?:is|are) (?:also |always )?(?:a |the )?(?:(?:pre)?condition|requirement|required) (?:of|for|to) (?:[\w-]+ ){0,4}(?:purchas|buy|order|sale)/i
/** What says yes in a form without anybody having said it. */
const SENT_ALONG = /consent|agree|opt[-_ ]?in|subscribe/i
const TEXTS = /\b(?:texts?|texting|sms|mms|messages?|messaging)\b/i
/** Where a link leads to by its words or its address. */
const LEADS = { terms: /terms|conditions|\btos\b/i, privacy: /privacy/i } as const

/**
 * What is wrong with a page. What people do not see is not read: neither a comment, nor what is hidden, nor the
 * words that stand in for a picture. It takes time in proportion to the page, but for what a parser of HTML
 * takes: a stranger's page is read in a thread of its own.
 */
export function problemsIn(page: PageName, html: string, brand: string): readonly PageProblem[] {
  const seen = seenPage(html)
  const { text, elements } = seen
  const asksPassword = elements.some((one) => !one.isHidden && typeOf(one) === "password")
  const general: (PageProblem | null)[] = [
    asksPassword ? "login_needed" : null,
    names(text, brand) ? null : "wrong_brand",
    PLACEHOLDER.test(text) ? "placeholder_text" : null,
    STOP.test(text) ? null : "no_stop",
    HELP.test(text) ? null : "no_help",
  ]
  return [...general, ...PROBLEMS_OF[page](seen)].filter((one) => one !== null)
}

const PROBLEMS_OF: Readonly<Record<PageName, (seen: SeenPage) => readonly (PageProblem | null)[]>> =
  {
    texts: problemsOfTexts,
    terms: (seen) => [...problemsOfCosts(seen), ...problemsOfContact(seen)],
    privacy: (seen) => {
      const { saysItDoesNot, saysItDoes } = sharingIn(seen.text)
      return [
        saysItDoesNot ? null : "no_sharing_sentence",
        saysItDoes ? "says_it_shares" : null,
        ...problemsOfContact(seen),
      ]
    },
  }

/** Whether a text has a name, and not as a part of a longer word. */
function names(text: string, brand: string): boolean {
  const all = text.toLowerCase()
  const name = plainText(brand).trim().toLowerCase()
  const isInWord = (at: number) => /^[\p{L}\p{N}]$/u.test(all.charAt(at))
  for (let at = all.indexOf(name); at >= 0; at = all.indexOf(name, at + 1)) {
    if (!isInWord(at - 1) && !isInWord(at + name.length)) return true
  }
  return false
}

const typeOf = (element: SeenElement) =>
  element.tag === "input" ? element.attribute("type")?.toLowerCase() : undefined

function problemsOfCosts({ text }: SeenPage): readonly (PageProblem | null)[] {
  return [OFTEN.test(text) ? null : "no_frequency", RATES.test(text) ? null : "no_rates"]
}

function problemsOfContact({ text, elements }: SeenPage): readonly (PageProblem | null)[] {
  const links = elements.flatMap((one) => (one.isHidden ? [] : (one.attribute("href") ?? [])))
  const ways = links.filter((href) => /^(?:mailto|tel):/i.test(href))
  return [[text, ...ways].some((one) => CONTACT.test(one)) ? null : "no_contact"]
}

function problemsOfTexts(seen: SeenPage): readonly (PageProblem | null)[] {
  const { elements } = seen
  const boxes = boxesIn(elements)
  const agreed = boxes.filter(({ label }) => AGREES.test(label) && TEXTS.test(label))
  // Another box, of terms perhaps, may be as it is; one that says nothing may be the one.
  const meant =
    agreed.length === 0 ? boxes : [...agreed, ...boxes.filter((one) => one.label === "")]
  const is = (those: readonly Box[], name: string, aria: string) =>
    those.some(
      ({ box }) =>
        box.attribute(name) !== undefined || box.attribute(aria)?.trim().toLowerCase() === "true",
    )
  const ticked = [...meant, ...boxes.filter(({ label }) => ABOUT_TEXTS.test(label))]
  const asks = agreed.length > 0 && !elements.some(isSentAlong) && isFree(seen.text)
  return [
    asks ? null : "no_consent_text",
    is(ticked, "checked", "aria-checked") ? "box_ticked" : null,
    is(meant, "required", "aria-required") ? "box_required" : null,
    ...problemsOfCosts(seen),
    hasLink(elements, LEADS.terms) ? null : "no_terms_link",
    hasLink(elements, LEADS.privacy) ? null : "no_privacy_link",
  ]
}

const isFree = (text: string) => NO_CONDITION.test(text) && !CONDITION.test(text)

/** Whether it agrees for whoever sends the form. */
const isSentAlong = (one: SeenElement) =>
  typeOf(one) === "hidden" &&
  SENT_ALONG.test(one.attribute("name") ?? "") &&
  /^(?:yes|true|1|on)$/i.test(one.attribute("value")?.trim() ?? "")

function hasLink(elements: readonly SeenElement[], leads: RegExp): boolean {
  return elements.some((one) => {
    const href = one.attribute("href")?.trim() ?? ""
    const isLink =
      one.tag === "a" && !one.isHidden && !/^(?:$|#|javascript:|mailto:|tel:)/i.test(href)
    return isLink && (leads.test(href) || leads.test(one.text()))
  })
}

interface Box {
  readonly box: SeenElement
  /** What people read at it. */
  readonly label: string
}

/** A label is at most so far away from its box. */
const MOST_ABOVE = 20
/** What holds more than a box and its words. */
const WHOLE = new Set(["form", "body", "html", "main", "section", "article", "fieldset", "table"])
const MOST_BOXES = 200

/** The boxes that can be ticked, each with its own words. */
function boxesIn(elements: readonly SeenElement[]): readonly Box[] {
  const byId = new Map<string, SeenElement>()
  const byBox = new Map<string, SeenElement[]>()
  for (const one of elements) {
    const id = one.attribute("id")
    if (id !== undefined && !byId.has(id)) byId.set(id, one)
    const named = one.tag === "label" ? one.attribute("for") : undefined
    if (named !== undefined) byBox.set(named, [...(byBox.get(named) ?? []).slice(0, 4), one])
  }
  const isBox = (one: SeenElement) =>
    typeOf(one) === "checkbox" || /^(?:checkbox|switch)$/i.test(one.attribute("role") ?? "")
  return elements
    .filter(isBox)
    .slice(0, MOST_BOXES)
    .map((box) => {
      const ids = (box.attribute("aria-labelledby") ?? "").split(/\s+/, 10)
      const labels = [
        ...(byBox.get(box.attribute("id") ?? "") ?? []),
        ...ids.flatMap((id) => byId.get(id) ?? []),
        ...labelAbove(box),
      ]
      const label = labels.map((one) => one.text()).join(" ")
      return { box, label: label.trim() === "" ? besideText(box) : label }
    })
}

/** Where a box has no label: what stands in it, or with it in what holds it. */
function besideText(box: SeenElement): string {
  const own = box.text()
  const { within } = box
  if (own !== "" || within === null || WHOLE.has(within.tag)) return own
  return within.text()
}

function labelAbove(box: SeenElement): readonly SeenElement[] {
  let one = box.within
  for (let up = 0; one !== null && up < MOST_ABOVE; up += 1) {
    if (one.tag === "label") return [one]
    one = one.within
  }
  return []
}
