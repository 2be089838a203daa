/** Schemas that requests and answers share. */
import { z } from "zod"
import { ROLES } from "../../../domain/access/permissions.ts"
import type { Parser } from "../../../domain/kernel/ids.ts"
import { parseSealedText } from "../../../domain/kernel/ids.ts"
import type { PhoneNumber, CountryCode } from "libphonenumber-js/max"
import { phoneNumberFault, phoneStringSchema } from "./phone-number-fault.ts"
import {
  isSupportedCountry,
  parsePhoneNumberFromString,
  Metadata,
  getCountries,
  getCountryCallingCode,
} from "libphonenumber-js/max"

/** Sealed text. */
export const sealedTextSchema = idSchema(parseSealedText)

/** Text of at most `maxLength` characters (code points) that PostgreSQL can store: no lone surrogate, no NUL. */
export function boundedText(maxLength: number, base = z.string()) {
  return base
    .refine((value) => value.isWellFormed(), "Must be well-formed Unicode.")
    .refine((value) => !value.includes("\0"), "Must not contain the character U+0000.")
    .refine((value) => [...value].length <= maxLength, `Must be at most ${maxLength} characters.`)
    .meta({ maxLength })
}

/** White space, control characters and invisible characters: zero-width ones, direction marks, fillers. */
const SHOWS_NOTHING = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Whether a text has no visible character. */
export function isBlank(text: string): boolean {
  return text.replaceAll(SHOWS_NOTHING, "") === ""
}

/** `boundedText` with at least one visible character. */
export function nonBlankText(maxLength: number) {
  return boundedText(maxLength).refine((text) => !isBlank(text), "Must not be empty.")
}

/**
 * `boundedText` of several lines that end in a line feed alone. Line endings are normalized before the text is
 * measured, stored or signed: SMTP clients rewrite them, which would break a DKIM signature.
 */
export const multilineText = (maxLength: number) =>
  boundedText(
    maxLength,
    z.string().overwrite((value) => value.replaceAll(/\r\n?/g, "\n")),
  )

/** Whole micro-dollars in answers. */
export const microsSchema = z.int().meta({ id: "Micros", description: "Millionths of a US dollar" })

export const dollarsSchema = z
  .number()
  .meta({ id: "Dollars", description: "US dollars, exact to the millionth" })

/** A time in answers: ISO 8601 in UTC. */
export const isoTimeSchema = z.iso
  .datetime()
  .meta({ id: "Instant", description: "ISO 8601 in UTC" })

/** An id in answers. */
export const describedId = (what: string) => z.string().describe(`Id of ${what}`)

/** An id in answers that may be null; the description covers the null as well. */
export const describedIdOrNull = (what: string) => z.string().nullable().describe(`Id of ${what}`)

export const roleSchema = z.enum(ROLES).meta({
  id: "Role",
  description: "A person's role in the company; owners and admins may do everything",
})

/** A time in requests: ISO 8601 with an offset, in upper or lower case (RFC 3339 §5.6). */
export const offsetTimeSchema = (error: string) =>
  z
    .string(error)
    .toUpperCase()
    .check(z.iso.datetime({ offset: true, error }))

/** A time in a query. */
export const queryTimeSchema = offsetTimeSchema(
  "Must be an ISO 8601 time such as 2026-11-01T00:00:00.000Z; in a query + is sent as %2B.",
).transform((value) => new Date(value))

/** The query parameter `since`: only rows created after this time. */
export const sinceTimeSchema = queryTimeSchema.describe("Only what was created after this time")

/** The ids that a parser accepts. */
export function idSchema<T extends string>(parse: Parser<T>): z.ZodType<T, T> {
  return z.custom<T>((value) => typeof value === "string" && parse(value) !== null)
}

/** Area and exchange codes of +1 numbers never begin with 0 or 1. */
const NORTH_AMERICAN = /^\+1[2-9]\d{2}[2-9]\d{6}$/
/** Number types that are expensive to reach, or that reach no person. */
const COSTLY = ["PREMIUM_RATE", "SHARED_COST", "PERSONAL_NUMBER", "UAN", "PAGER", "VOICEMAIL"]
const NEVER_CALLED: ReadonlySet<string> = new Set(COSTLY)
/** Number types that cannot receive texts. */
const NEVER_TEXTED: ReadonlySet<string> = new Set([...COSTLY, "FIXED_LINE"])

const NOT_TEXTABLE =
  "This number cannot receive texts: it is a landline or costs a premium. Use a mobile number."

interface NumberOfCountry {
  /** E.164. */
  readonly number: string
  /** ISO 3166, two letters. */
  readonly country: CountryCode
}

/** A number in a request that can be texted if its country is enabled. */
export const textableNumberSchema = phoneStringSchema.transform((text, context) => {
  const number = parseTextableNumber(text)
  if (number !== null) return number
  context.addIssue(phoneNumberFault(text) ?? NOT_TEXTABLE)
  return z.NEVER
})

/**
 * Parses a full number that can be texted if its country is enabled. Null if it is malformed, cannot receive
 * texts, or has no country, such as satellite numbers and premium numbers like +1 976.
 */
function parseTextableNumber(text: string): NumberOfCountry | null {
  return ifTextable(parseFull(text))
}

/** Parses a number typed into a form to E.164; without `+` it is a US or Canadian one. Null if not textable. */
export function parseTypedNumber(text: string): string | null {
  if (text.startsWith("+")) return parseTextableNumber(text)?.number ?? null
  const parsed = parsePhoneNumberFromString(text, { defaultCountry: "US", extract: false })
  return ifTextable(parsed === undefined ? null : ifPossible(parsed))?.number ?? null
}

/** Formats a full number in groups of digits; returns other text unchanged. */
export function formatPhoneNumber(number: string): string {
  return parseFull(number)?.formatInternational() ?? number
}

function ifTextable(parsed: PhoneNumber | null): NumberOfCountry | null {
  if (parsed?.country === undefined || NEVER_TEXTED.has(parsed.getType() ?? "")) return null
  const { number, country } = parsed
  // US and Canadian numbers need not be assigned: the carrier decides about those.
  const isAny = (country === "US" || country === "CA") && NORTH_AMERICAN.test(number)
  return isAny || parsed.isValid() ? { number, country } : null
}

/** Parses a full number that calls can be forwarded to if its country is enabled; null for any other. */
export function parseForwardingNumber(text: string): NumberOfCountry | null {
  const parsed = parseFull(text)
  if (parsed?.country === undefined || !parsed.isValid()) return null
  if (NEVER_CALLED.has(parsed.getType() ?? "")) return null
  return { number: parsed.number, country: parsed.country }
}

/** Parses a full phone number (with `+` and country code) to E.164; null if it is none. */
export function parseFullNumber(text: string): string | null {
  return parseFull(text)?.number ?? null
}

/** Whether two letters are the code of a country with phone numbers. */
export function isCountry(code: string): boolean {
  return isSupportedCountry(code)
}

function parseFull(text: string): PhoneNumber | null {
  const trimmed = text.trim()
  if (!trimmed.startsWith("+")) return null
  // With `extract` the parser would find a number within other text.
  const parsed = parsePhoneNumberFromString(trimmed, { extract: false })
  return parsed === undefined ? null : ifPossible(parsed)
}

const ifPossible = (parsed: PhoneNumber): PhoneNumber | null =>
  !parsed.isPossible() || parsed.ext !== undefined ? null : parsed

const countryNameCache: { names?: ReadonlyMap<CountryCode, string> } = {}

/** The English names of all countries in alphabetical order, computed on first use. */
function allCountryNames(): ReadonlyMap<CountryCode, string> {
  if (countryNameCache.names === undefined) {
    const names = new Intl.DisplayNames(["en"], { type: "region" })
    const all = getCountries().map((country) => [country, names.of(country) ?? country] as const)
    countryNameCache.names = new Map(all.toSorted(([, a], [, b]) => (a < b ? -1 : 1)))
  }
  return countryNameCache.names
}

/** Returns the codes of all countries, in the order of their names. */
export const countries = (): readonly CountryCode[] => [...allCountryNames().keys()]

/** Returns the English name of a country. */
export const countryName = (country: CountryCode): string =>
  allCountryNames().get(country) ?? country

/** Returns the dialing prefixes of a country: its calling code, or its area codes under +1. */
export function dialingPrefixesOf(country: CountryCode): string[] {
  const code = getCountryCallingCode(country)
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const leading = metadata.numberingPlan?.leadingDigits()
  if (code !== "1" || leading === undefined) return [`+${code}`]
  const countryPattern = new RegExp(`^(?:${leading})$`)
  const areaCodes = Array.from({ length: 800 }, (_, i) => String(200 + i))
  return areaCodes.filter((area) => countryPattern.test(area)).map((area) => `+1${area}`)
}
