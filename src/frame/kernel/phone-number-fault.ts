import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { z } from "zod"

const NOT_A_STRING = 'The phone number must be a JSON string, for example "+14155550123".'
const LOCAL_FORMAT = "This number is in local format. Use E.164, for example +14155550123."
const LOCAL_IN_QUERY =
  "This number is in local format. Use E.164, for example +14155550123. In a query, send + as %2B."
const SHORT =
  "This is a short or emergency number. Use a full number in E.164, for example +14155550123."
/** The fault of a text that is not a phone number at all. */
export const INVALID_PHONE_NUMBER =
  "This is not a valid phone number. Use E.164, for example +14155550123."

/** Digits with the punctuation that people write between them. */
const PHONE_CHARACTERS = /^\+?[\d\s().-]+$/
/** Emergency numbers and short codes, also behind a country code. */
const MAX_SHORT_DIGITS = 6

/** A phone number as a JSON string; its format is not checked. */
export const phoneStringSchema = z.string({
  error: (issue) => (issue.input === undefined ? "Is required." : NOT_A_STRING),
})

/** Explains, in a complete sentence, why a text is not a full phone number; null if it is one. */
export function phoneNumberFault(text: string, source: "body" | "query" = "body"): string | null {
  const trimmed = text.trim()
  if (!PHONE_CHARACTERS.test(trimmed)) return INVALID_PHONE_NUMBER
  const digits = trimmed.replaceAll(/\D/g, "").length
  if (digits > 0 && digits <= MAX_SHORT_DIGITS) return SHORT
  if (digits > 0 && !trimmed.startsWith("+")) {
    // An unencoded + in a query arrives as a space.
    return source === "query" ? LOCAL_IN_QUERY : LOCAL_FORMAT
  }
  const isPossible = parsePhoneNumberFromString(trimmed, { extract: false })?.isPossible() === true
  return isPossible ? null : INVALID_PHONE_NUMBER
}
