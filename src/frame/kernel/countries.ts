/** Countries that have phone numbers. */
import type { CountryCode } from "libphonenumber-js/max"
import { Metadata, getCountries, getCountryCallingCode } from "libphonenumber-js/max"

const NAMES = new Intl.DisplayNames(["en"], { type: "region" })

/** All of them, by their two letters, in the order of their names. */
export const COUNTRIES: readonly CountryCode[] = getCountries().toSorted((a, b) =>
  countryName(a) < countryName(b) ? -1 : 1,
)

/** What a country is called in English. */
export function countryName(country: CountryCode): string {
  return NAMES.of(country) ?? country
}

/** What the numbers of a country begin with: its code, and under +1 its area codes. */
export function prefixesOf(country: CountryCode): string[] {
  const code = getCountryCallingCode(country)
  const metadata = new Metadata()
  metadata.selectNumberingPlan(country)
  const leading = metadata.numberingPlan?.leadingDigits()
  if (code !== "1" || leading === undefined) return [`+${code}`]
  const isOwn = new RegExp(`^(?:${leading})$`)
  const areaCodes = Array.from({ length: 800 }, (_, i) => String(200 + i))
  return areaCodes.filter((area) => isOwn.test(area)).map((area) => `+1${area}`)
}
