/** Phone numbers as callers write them. */
import type { PhoneNumber } from "libphonenumber-js"
import { parsePhoneNumberFromString } from "libphonenumber-js"
import { z } from "zod"

/** Countries that can always be texted. */
const ALWAYS_ON = new Set(["US", "CA"])
/** Area and exchange codes of +1 numbers never begin with 0 or 1. */
const NORTH_AMERICAN = /^\+1[2-9]\d{2}[2-9]\d{6}$/
/** Kinds of numbers that no text reaches, as far as the number tells. */
const NEVER_TEXTED = new Set(["FIXED_LINE", "PREMIUM_RATE", "PAGER", "UAN", "VOICEMAIL"])

/** A number that can be texted, as callers write it; in E.164 once it is parsed. */
export const textableNumber = z.string().transform((text, context) => {
  const number = textable(text)
  if (number !== null) return number
  context.addIssue("Must be a full number that can be texted.")
  return z.NEVER
})

/**
 * A full phone number in E.164 that can be texted; null where it is malformed, a landline, or in a
 * country that is not switched on (decisions.md §9: +1 always).
 */
function textable(text: string): string | null {
  const parsed = parseFull(text)
  if (parsed === null || !NORTH_AMERICAN.test(parsed.number)) return null
  if (NEVER_TEXTED.has(parsed.getType() ?? "")) return null
  // An area code without a country is a new one: no list here may age into a refusal.
  return parsed.country === undefined || ALWAYS_ON.has(parsed.country) ? parsed.number : null
}

/** A full phone number (with `+` and country) in E.164; null where it is none. */
export function fullNumber(text: string): string | null {
  return parseFull(text)?.number ?? null
}

function parseFull(text: string): PhoneNumber | null {
  const trimmed = text.trim()
  if (!trimmed.startsWith("+")) return null
  // Nothing but the number: the parser would otherwise cut one out of any text around it.
  const parsed = parsePhoneNumberFromString(trimmed, { extract: false })
  if (parsed?.isPossible() !== true || parsed.ext !== undefined) return null
  return parsed
}
