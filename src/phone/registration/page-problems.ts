/** What a reviewer of the carriers would refuse of the three pages, read as they are served. */
import type { DefaultTreeAdapterMap } from "parse5"
import { parse } from "parse5"
import type { PageName } from "./pages.ts"

type Node = DefaultTreeAdapterMap["node"]
type Element = DefaultTreeAdapterMap["element"]

/** What can be wrong with a page. */
export const PAGE_PROBLEMS = {
  unreachable: "The page cannot be read.",
  not_https: "The page is not served by https.",
  login_needed: "The page asks for a sign-in.",
  wrong_brand: "The page does not name the brand as it is registered.",
  no_consent_text: "No box says that people agree to texts.",
  box_ticked: "The box is ticked before anybody agreed.",
  box_required: "The box must be ticked to send the form; it has to be optional.",
  no_frequency: "It does not say how often people are texted.",
  no_rates: 'It does not say "Message and data rates may apply".',
  no_stop: "It does not say that STOP opts out.",
  no_help: "It does not say that HELP helps.",
  no_terms_link: "It has no link to the terms.",
  no_privacy_link: "It has no link to the privacy policy.",
  no_sharing_sentence:
    "It does not say that mobile numbers and consent are not sold or shared for marketing.",
  says_it_shares: "It says that numbers are shared or sold.",
  no_contact: "It says no way to reach the company.",
  placeholder_text: "It has text that stands in for something else.",
  too_large: "The page has more than a megabyte.",
  too_slow: "The page took too long.",
  blocked_address: "The page is at an address that is not public.",
} as const

/** What is wrong with a page, in a word. */
export type PageProblem = keyof typeof PAGE_PROBLEMS

const isElement = (node: Node): node is Element => "tagName" in node

function* elementsIn(node: Node): Generator<Element> {
  if (isElement(node)) yield node
  if ("childNodes" in node) for (const child of node.childNodes) yield* elementsIn(child)
}

/** What people read: without styles and scripts. */
function textOf(node: Node): string {
  if (isElement(node) && ["style", "script", "noscript", "template"].includes(node.tagName))
    return ""
  if ("value" in node && node.nodeName === "#text") return node.value
  return "childNodes" in node ? node.childNodes.map(textOf).join(" ") : ""
}

const attribute = ({ attrs }: Element, name: string): string | null =>
  attrs.find((one) => one.name === name)?.value ?? null

const RATES = /message (?:and|&) data rates may apply/i
const OFTEN =
  /\b(?:\d+|one|two|three|four|five) (?:messages?|texts?|msgs?)\b|message frequency|varies/i
const STOP = /\bSTOP\b/
const HELP = /\bHELP\b/
const NOT_SHARED =
  /(?:not|never)\s+(?:be\s+)?(?:sold|shared|sell|share)[^.]*(?:third part|affiliate|marketing)|no (?:mobile|text)[^.]*(?:shared|sold)/i
const SHARED =
  /\b(?:we|may|will)\s+(?:may\s+|will\s+|also\s+)?(?:share|sell|rent)\b[^.]*(?:third part|partner|affiliate)/i
const PLACEHOLDER =
  /lorem ipsum|\[(?:your|company|insert)[^\]]*\]|\{\{[^}]*\}\}|\bTODO\b|your company name/i
const CONTACT = /[\w.+-]+@[\w-]+\.[\w.]+|\+?1?[ (.-]*\d{3}[ ).-]*\d{3}[ .-]*\d{4}/

/** What is wrong with a page. */
export function problemsIn(page: PageName, html: string, brand: string): readonly PageProblem[] {
  const root = parse(html)
  const text = textOf(root).replaceAll(/\s+/g, " ")
  const elements = [...elementsIn(root)]
  const general: (PageProblem | null)[] = [
    elements.some((one) => attribute(one, "type") === "password") ? "login_needed" : null,
    text.toLowerCase().includes(brand.toLowerCase()) ? null : "wrong_brand",
    PLACEHOLDER.test(text) ? "placeholder_text" : null,
    STOP.test(text) ? null : "no_stop",
    HELP.test(text) ? null : "no_help",
  ]
  const own: Readonly<Record<PageName, () => readonly (PageProblem | null)[]>> = {
    texts: () => problemsOfTexts(elements, text),
    terms: () => [
      OFTEN.test(text) ? null : "no_frequency",
      RATES.test(text) ? null : "no_rates",
      CONTACT.test(text) ? null : "no_contact",
    ],
    privacy: () => [
      NOT_SHARED.test(text) ? null : "no_sharing_sentence",
      SHARED.test(text.replace(NOT_SHARED, "")) ? "says_it_shares" : null,
      CONTACT.test(text) ? null : "no_contact",
    ],
  }
  return [...general, ...own[page]()].filter((one) => one !== null)
}

function problemsOfTexts(
  elements: readonly Element[],
  text: string,
): readonly (PageProblem | null)[] {
  const boxes = elements.filter(
    (one) => one.tagName === "input" && attribute(one, "type") === "checkbox",
  )
  const leads = (word: string) =>
    elements
      .filter(({ tagName }) => tagName === "a")
      .some((one) => `${attribute(one, "href") ?? ""} ${textOf(one)}`.toLowerCase().includes(word))
  const agrees = boxes.length > 0 && /\b(?:agree|consent)\b/i.test(text)
  return [
    agrees ? null : "no_consent_text",
    boxes.some((one) => attribute(one, "checked") !== null) ? "box_ticked" : null,
    boxes.some((one) => attribute(one, "required") !== null) ? "box_required" : null,
    OFTEN.test(text) ? null : "no_frequency",
    RATES.test(text) ? null : "no_rates",
    leads("terms") ? null : "no_terms_link",
    leads("privacy") ? null : "no_privacy_link",
  ]
}
