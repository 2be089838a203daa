/** Phone numbers as callers write them. */
import { parsePhoneNumberFromString } from "libphonenumber-js"

/** Countries that can always be texted. */
const ALWAYS_ON = new Set(["US", "CA"])

/**
 * A full phone number in E.164 that can be texted; null where it is malformed, impossible, or in a
 * country that is not switched on (decisions.md §9: +1 always).
 */
export function textableNumber(text: string): string | null {
  const number = fullNumber(text)
  if (number === null) return null
  const parsed = parsePhoneNumberFromString(number)
  if (parsed === undefined || parsed.countryCallingCode !== "1") return null
  return parsed.country === undefined || ALWAYS_ON.has(parsed.country) ? number : null
}

/** A full phone number (with `+` and country) in E.164; null where it is none. */
export function fullNumber(text: string): string | null {
  const trimmed = text.trim()
  if (!trimmed.startsWith("+")) return null
  const parsed = parsePhoneNumberFromString(trimmed)
  return parsed?.isPossible() === true ? parsed.number : null
}
