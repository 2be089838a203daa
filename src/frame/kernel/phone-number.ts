/** Phone numbers as people write them. */
import type { PhoneNumber } from "libphonenumber-js/max"
import { isSupportedCountry, parsePhoneNumberFromString } from "libphonenumber-js/max"
import { z } from "zod"

/** Area and exchange codes of +1 numbers never begin with 0 or 1. */
const NORTH_AMERICAN = /^\+1[2-9]\d{2}[2-9]\d{6}$/
/** Kinds of numbers that cost whoever reaches them, or reach nobody in person. */
const COSTLY = ["PREMIUM_RATE", "SHARED_COST", "PERSONAL_NUMBER", "UAN", "PAGER", "VOICEMAIL"]
const NEVER_CALLED: ReadonlySet<string> = new Set(COSTLY)
/** Kinds that no text reaches, as far as the number tells. */
const NEVER_TEXTED: ReadonlySet<string> = new Set([...COSTLY, "FIXED_LINE"])

/** A number of a country. */
export interface NumberOfCountry {
  /** E.164. */
  readonly number: string
  /** Two letters (ISO 3166). */
  readonly country: string
}

/** A number that can be texted if its country is on, as callers write it. */
export const textableNumber = z.string().transform((text, context) => {
  const number = textable(text)
  if (number !== null) return number
  context.addIssue("Must be a full number that can be texted.")
  return z.NEVER
})

/**
 * A full number that can be texted if its country is on; null where it is malformed, of a kind that no
 * text reaches, or of no country: such are satellites, and premium numbers such as +1 976.
 */
function textable(text: string): NumberOfCountry | null {
  return textableOf(parseFull(text))
}

/** The same in E.164 as people type it into a form: without a `+` it is one of the US or Canada. */
export function typedNumber(text: string): string | null {
  if (text.startsWith("+")) return textable(text)?.number ?? null
  const parsed = parsePhoneNumberFromString(text, { defaultCountry: "US", extract: false })
  return textableOf(parsed === undefined ? null : possible(parsed))?.number ?? null
}

/** A full number as people read it, in groups of digits; as it was where it is none. */
export function shownNumber(number: string): string {
  return parseFull(number)?.formatInternational() ?? number
}

function textableOf(parsed: PhoneNumber | null): NumberOfCountry | null {
  if (parsed?.country === undefined || NEVER_TEXTED.has(parsed.getType() ?? "")) return null
  const { number, country } = parsed
  // Of the US and Canada also those that no carrier has assigned: it has the last word on them.
  const isAny = (country === "US" || country === "CA") && NORTH_AMERICAN.test(number)
  return isAny || parsed.isValid() ? { number, country } : null
}

/** A full number that a call can be forwarded to if its country is on; null for any other. */
export function callable(text: string): NumberOfCountry | null {
  const parsed = parseFull(text)
  if (parsed?.country === undefined || !parsed.isValid()) return null
  if (NEVER_CALLED.has(parsed.getType() ?? "")) return null
  return { number: parsed.number, country: parsed.country }
}

/** A full phone number (with `+` and country) in E.164; null where it is none. */
export function fullNumber(text: string): string | null {
  return parseFull(text)?.number ?? null
}

/** Whether two letters are a country's that has phone numbers. */
export function isCountry(code: string): boolean {
  return isSupportedCountry(code)
}

function parseFull(text: string): PhoneNumber | null {
  const trimmed = text.trim()
  if (!trimmed.startsWith("+")) return null
  // Nothing but the number: the parser would otherwise cut one out of any text around it.
  const parsed = parsePhoneNumberFromString(trimmed, { extract: false })
  return parsed === undefined ? null : possible(parsed)
}

const possible = (parsed: PhoneNumber): PhoneNumber | null =>
  !parsed.isPossible() || parsed.ext !== undefined ? null : parsed
