/** What of a form is kept, and within which bounds; and the same as it is shown. */
import { createHash } from "node:crypto"
import { HONEYPOT, PAGE_TIME } from "../frame/routes/declare/form-sender.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { isBlank } from "../frame/kernel/schema.ts"

/** The names that every lead has a place for; all others are fields of the form's own. */
export const KNOWN = [
  ...(["firstName", "lastName", "email", "phone"] as const),
  ...(["company", "message", "pageUrl"] as const),
]

/** One of these names. */
export type Known = (typeof KNOWN)[number]

/** The text that stood beside the consents; only its hash is kept. */
const CONSENT_TEXT = "consentText"
/** Names that say something of the form and nothing of the person. Where it leads is the form's own. */
const NOT_KEPT = new Set([
  HONEYPOT,
  PAGE_TIME,
  "_next",
  "smsConsent",
  "emailConsent",
  "consentText",
])
const YES = new Set(["true", "on", "1", "yes"])
const UTM = "utm_"
const MOST_FIELDS = 50
const MOST_NAME = 100
const MOST_VALUE = 2_000
const MOST_MESSAGE = 5_000
const MOST_BYTES = 16_000

/** What is kept of a form: names and values in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[]

/** A lead as it is taken in. */
export interface Content {
  /** JSON text of `Pairs`. */
  readonly text: string
  readonly smsConsent: boolean
  readonly emailConsent: boolean
  readonly consentTextHash: string | null
}

/**
 * What is kept of the values of a form: texts without what no text can hold (NUL, half characters become
 * U+FFFD) and without white space around them. A refusal (413, 400) names no value, and only known names.
 */
export function contentOf(
  values: ReadonlyMap<string, string>,
): Content | { readonly refusal: Refusal } {
  const kept = new Map<string, string>()
  for (const [name, value] of values) {
    const [cleanName, cleanValue] = [clean(name), clean(value)]
    const isEmpty = isBlank(cleanName) || isBlank(cleanValue)
    if (!isEmpty && !NOT_KEPT.has(cleanName) && !kept.has(cleanName))
      kept.set(cleanName, cleanValue)
  }
  const pairs = [...kept]
  const consentText = clean(values.get(CONSENT_TEXT) ?? "")
  const tooLarge = faultOf(pairs) ?? lengthFault([CONSENT_TEXT, consentText])
  if (tooLarge !== null) return { refusal: refusal("too_large", tooLarge) }
  if (!kept.has("email") && !kept.has("phone")) {
    const why = "Give an email or a phone number, so that somebody can answer."
    const fields = { email: why, phone: why }
    return { refusal: refusal("validation", why, { fields }) }
  }
  const email = kept.get("email")
  if (email !== undefined && !EMAIL.test(email)) {
    const why = "Give an email address such as ada@example.com."
    return { refusal: refusal("validation", why, { fields: { email: why } }) }
  }
  const isYes = (name: string) => YES.has(values.get(name)?.trim().toLowerCase() ?? "")
  return {
    text: JSON.stringify(pairs),
    smsConsent: isYes("smsConsent"),
    emailConsent: isYes("emailConsent"),
    consentTextHash:
      consentText === "" ? null : createHash("sha256").update(consentText).digest("hex"),
  }
}

/** An address with a dot in its domain. People have letters of all scripts in it, so no narrower form is asked for. */
const EMAIL = /^[^\s@"<>]{1,64}@[^\s@"<>.]+(?:\.[^\s@"<>.]+)+$/u

function clean(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd").trim()
}

/** What of it is too much; null where it is within all bounds. */
function faultOf(pairs: Pairs): string | null {
  const own = pairs.filter(([name]) => !isKnown(name))
  if (own.length > MOST_FIELDS) return `More than ${MOST_FIELDS} fields are filled in.`
  if (own.some(([name]) => [...name].length > MOST_NAME)) {
    return `The name of a field is longer than ${MOST_NAME} characters.`
  }
  const long = pairs.map(lengthFault).find((fault) => fault !== null)
  if (long !== undefined) return long
  const bytes = pairs.reduce((sum, texts) => sum + Buffer.byteLength(texts.join("")), 0)
  return bytes > MOST_BYTES ? `All that is filled in is longer than ${MOST_BYTES} bytes.` : null
}

function lengthFault([name, value]: Pairs[number]): string | null {
  const most = name === "message" || name === CONSENT_TEXT ? MOST_MESSAGE : MOST_VALUE
  if ([...value].length <= most) return null
  // The name of a form's own field is somebody's words.
  return `${isKnown(name) || name === CONSENT_TEXT ? name : "A field"} is longer than ${most} characters.`
}

const isKnown = (name: string): name is Known => KNOWN.some((known) => known === name)

/** A lead's texts as they are shown; names that nobody expects are names like others. */
export interface Shown {
  readonly known: Readonly<Record<Known, string | null>>
  readonly utm: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** The texts of a lead. @param content JSON text of `Pairs`; null where the lead was erased */
export function shownContent(content: string | null): Shown {
  const pairs = content === null ? [] : (JSON.parse(content) as Pairs)
  const values = new Map(pairs)
  const known = Object.fromEntries(KNOWN.map((name) => [name, values.get(name) ?? null]))
  const own = pairs.filter(([name]) => !isKnown(name))
  const isUtm = ([name]: Pairs[number]) => name.startsWith(UTM) && name !== UTM
  // Made from entries, `__proto__` is a name of its own.
  return {
    known: known as Shown["known"],
    utm: Object.fromEntries(
      own.filter(isUtm).map(([name, text]) => [name.slice(UTM.length), text]),
    ),
    fields: Object.fromEntries(own.filter((pair) => !isUtm(pair))),
  }
}
