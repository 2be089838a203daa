/** Pieces that the schemas of requests and answers share. */
import { z } from "zod"
import { ROLES } from "../../../domain/access/permissions.ts"
import type { Parser } from "../../../domain/kernel/ids.ts"
import { parseSealedText } from "../../../domain/kernel/ids.ts"
import type { PhoneNumber, CountryCode } from "libphonenumber-js/max"
import {
  isSupportedCountry,
  parsePhoneNumberFromString,
  Metadata,
  getCountries,
  getCountryCallingCode,
} from "libphonenumber-js/max"

/** Text that was sealed. */
export const sealedTextSchema = idSchema(parseSealedText)

/** Text of at most `most` characters (code points) that can be stored: no lone surrogate, no NUL. */
export function boundedText(most: number, base = z.string()) {
  return base
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine((value) => !value.includes("\0"), "Must not contain the character U+0000.")
    .refine((value) => [...value].length <= most, `Must be at most ${most} characters.`)
    .meta({ maxLength: most })
}

/** White space, control characters, and whatever shows nothing: zero-width ones, marks of direction, fillers. */
const SHOWS_NOTHING = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Whether a text shows nothing. */
export function isBlank(text: string): boolean {
  return text.replaceAll(SHOWS_NOTHING, "") === ""
}

/** The same as `shortText`, with something to see in it. */
export function nonBlankText(most: number) {
  return boundedText(most).refine((text) => !isBlank(text), "Must not be empty.")
}

/**
 * `shortText` of several lines that end in a line feed alone. Line endings are unified before the text is
 * measured, stored or signed: SMTP clients rewrite them, and a rewritten body breaks its DKIM signature.
 */
export const multilineText = (most: number) =>
  boundedText(
    most,
    z.string().overwrite((value) => value.replaceAll(/\r\n?/g, "\n")),
  )

/** Integer micro-dollars as answers give them. */
export const microsSchema = z.int().meta({ id: "Micros", description: "Millionths of a US dollar" })

/** Dollars as answers give them. */
export const dollarsSchema = z
  .number()
  .meta({ id: "Dollars", description: "US dollars, exact to the millionth" })

/** An instant as answers give it: ISO 8601 in UTC. */
export const isoTimeSchema = z.iso
  .datetime()
  .meta({ id: "Instant", description: "ISO 8601 in UTC" })

/** The id of something, as answers give it. */
export const describedId = (what: string) => z.string().describe(`Id of ${what}`)

/** The same where there may be none: the words stand beside the null as well. */
export const describedIdOrNull = (what: string) => z.string().nullable().describe(`Id of ${what}`)

/** What a person is in the company. */
export const roleSchema = z.enum(ROLES).meta({
  id: "Role",
  description: "What a person is in the company: owner and admin may do everything",
})

/** A time as callers write it: ISO 8601 with an offset, its letters in either case (RFC 3339 §5.6). */
export const offsetTimeSchema = (error: string) =>
  z
    .string(error)
    .toUpperCase()
    .check(z.iso.datetime({ offset: true, error }))

/** A time in a query. */
export const queryTimeSchema = offsetTimeSchema(
  "Must be an ISO 8601 time such as 2026-11-01T00:00:00.000Z; in a query + is sent as %2B.",
).transform((value) => new Date(value))

/** The query parameter `since`: only rows created after this instant. */
export const sinceTimeSchema = queryTimeSchema.describe("Only what was made after this instant")

/** What a parser reads: the ids of one kind. */
export function idSchema<T extends string>(parse: Parser<T>): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== null)
}

/** Area and exchange codes of +1 numbers never begin with 0 or 1. */
const NORTH_AMERICAN = /^\+1[2-9]\d{2}[2-9]\d{6}$/
/** Kinds of numbers that cost whoever reaches them, or reach nobody in person. */
const COSTLY = ["PREMIUM_RATE", "SHARED_COST", "PERSONAL_NUMBER", "UAN", "PAGER", "VOICEMAIL"]
const NEVER_CALLED: ReadonlySet<string> = new Set(COSTLY)
/** Kinds that no text reaches, as far as the number tells. */
const NEVER_TEXTED: ReadonlySet<string> = new Set([...COSTLY, "FIXED_LINE"])

/** A number of a country. */
interface NumberOfCountry {
  /** E.164. */
  readonly number: string
  /** Two letters (ISO 3166). */
  readonly country: string
}

/** A number that can be texted if its country is on, as callers write it. */
export const textableNumberSchema = z.string().transform((text, context) => {
  const number = parseTextableNumber(text)
  if (number !== null) return number
  context.addIssue("Must be a full number that can be texted.")
  return z.NEVER
})

/**
 * A full number that can be texted if its country is on; null where it is malformed, of a kind that no
 * text reaches, or of no country: such are satellites, and premium numbers such as +1 976.
 */
function parseTextableNumber(text: string): NumberOfCountry | null {
  return ifTextable(parseFull(text))
}

/** The same in E.164 as people type it into a form: without a `+` it is one of the US or Canada. */
export function parseTypedNumber(text: string): string | null {
  if (text.startsWith("+")) return parseTextableNumber(text)?.number ?? null
  const parsed = parsePhoneNumberFromString(text, { defaultCountry: "US", extract: false })
  return ifTextable(parsed === undefined ? null : ifPossible(parsed))?.number ?? null
}

/** A full number as people read it, in groups of digits; as it was where it is none. */
export function formatPhoneNumber(number: string): string {
  return parseFull(number)?.formatInternational() ?? number
}

function ifTextable(parsed: PhoneNumber | null): NumberOfCountry | null {
  if (parsed?.country === undefined || NEVER_TEXTED.has(parsed.getType() ?? "")) return null
  const { number, country } = parsed
  // Of the US and Canada also those that no carrier has assigned: it has the last word on them.
  const isAny = (country === "US" || country === "CA") && NORTH_AMERICAN.test(number)
  return isAny || parsed.isValid() ? { number, country } : null
}

/** A full number that a call can be forwarded to if its country is on; null for any other. */
export function parseForwardingNumber(text: string): NumberOfCountry | null {
  const parsed = parseFull(text)
  if (parsed?.country === undefined || !parsed.isValid()) return null
  if (NEVER_CALLED.has(parsed.getType() ?? "")) return null
  return { number: parsed.number, country: parsed.country }
}

/** A full phone number (with `+` and country) in E.164; null where it is none. */
export function parseFullNumber(text: string): string | null {
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
  return parsed === undefined ? null : ifPossible(parsed)
}

const ifPossible = (parsed: PhoneNumber): PhoneNumber | null =>
  !parsed.isPossible() || parsed.ext !== undefined ? null : parsed

const countryNameCache: { names?: ReadonlyMap<CountryCode, string> } = {}

/** What all of them are called in English, in the order of their names: found once somebody asks. */
function allCountryNames(): ReadonlyMap<CountryCode, string> {
  if (countryNameCache.names === undefined) {
    const names = new Intl.DisplayNames(["en"], { type: "region" })
    const all = getCountries().map((country) => [country, names.of(country) ?? country] as const)
    countryNameCache.names = new Map(all.toSorted(([, a], [, b]) => (a < b ? -1 : 1)))
  }
  return countryNameCache.names
}

/** All of them, by their two letters, in the order of their names. */
export const countries = (): readonly CountryCode[] => [...allCountryNames().keys()]

/** What a country is called in English. */
export const countryName = (country: CountryCode): string =>
  allCountryNames().get(country) ?? country

/** What the numbers of a country begin with: its code, and under +1 its area codes. */
export function dialingPrefixesOf(country: CountryCode): string[] {
  const code = getCountryCallingCode(country)
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const leading = metadata.numberingPlan?.leadingDigits()
  if (code !== "1" || leading === undefined) return [`+${code}`]
  const isOwn = new RegExp(`^(?:${leading})$`)
  const areaCodes = Array.from({ length: 800 }, (_, i) => String(200 + i))
  return areaCodes.filter((area) => isOwn.test(area)).map((area) => `+1${area}`)
}
